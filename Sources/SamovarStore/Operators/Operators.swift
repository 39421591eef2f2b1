import DequeModule
import MessagePack
import SamovarCore
import SamovarWire

/// What operators ask, over the admin socket, but for `status` and `drain`, which are about the store as a whole.
///
/// An asker that heard nothing asks again, under the same number: what was done is not done twice, and is told again.
struct Operators {
    let settings: StoreSettings
    /// Those that changed something.
    var replies = AdminReplies()
    var backup = Backup()

    init(_ settings: StoreSettings) {
        self.settings = settings
    }

    /// Tells of nothing but turns on disk.
    static func reply(
        to request: AdminRequest, in outage: Outage, status: @autoclosure () -> MessagePackValue, since: Timestamp, now: Timestamp
    ) -> AdminReply {
        if request.verb == "status" { return AdminReply(id: request.id, value: status()) }
        let seconds = (now - since).components.seconds
        return AdminReply(
            id: request.id,
            refusal: """
                \(outage.words.text), for \(seconds) s now: only status, metrics, history, reloadKeys and drain are taken \
                \(outage.words.end), then ask again
                """)
    }

    /// - Parameters:
    ///   - isServing: the store is not about to stop.
    ///   - started: when this process began to serve.
    mutating func answer(
        _ request: AdminRequest, by sender: Sender?, isServing: Bool, started: Timestamp, now: Timestamp,
        _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) -> Result<MessagePackValue, AdminRefusal> {
        if request.isChange { return try change(request, by: sender, now: now, &scheduler, &turns, &out) }
        do throws(AdminRefusal) {
            return .success(try tell(request, isServing: isServing, started: started, now: now, scheduler, &turns, &out))
        } catch {
            return .failure(error)
        }
    }

    /// What changes nothing but a backup that is under way.
    private mutating func tell(
        _ request: AdminRequest, isServing: Bool, started: Timestamp, now: Timestamp, _ scheduler: EffectScheduler,
        _ turns: inout Turns, _ out: inout Outlet
    ) throws(AdminRefusal) -> MessagePackValue {
        switch request.verb {
        case "inspect": return try inspect(&turns, &out)
        case "effects":
            return describe(try EffectFilter(request.arguments), turns.state.ledger, scheduler.dispatcher, now: now)
        case "attempts" where request.arguments["effect"] == nil:
            return try describeAttempts(request.arguments, scheduler.dispatcher, started: started)
        case "attempts":
            let id = try effect(named: request.arguments["effect"])
            return try describeAttempts(of: id, turns, scheduler.dispatcher, started: started, now: now)
        case "export":
            var folder: String?
            let through = out.durable
            let answer = try backup.answer(request, durable: through, isServing: isServing) { folder = $0 }
            if let folder {
                let mayAsk = turns.quarantine.verdict(on: .maintenance) == nil
                out.emit(.export(through: through, folder: folder, withSnapshot: mayAsk), floor: .none)
            }
            return answer
        default:
            throw AdminRefusal(
                text:
                    "unknown request \(request.verb); there are status, metrics, inspect, effects, attempts, requeue, drop, pause, resume, rule, reloadKeys, export, history, drain"
            )
        }
    }

    private func inspect(_ turns: inout Turns, _ out: inout Outlet) throws(AdminRefusal) -> MessagePackValue {
        if let why = turns.quarantine.verdict(on: .state) { throw AdminRefusal(text: "the state cannot be encoded: \(why)") }
        do {
            let bytes = try turns.ask(.state, &out) { try $0.engine.state() }
            var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
            let state = try reader.readValue()
            return ["turn": .number(turns.head), "instance": .string(Instance.main.key), "state": state]
        } catch {
            throw AdminRefusal(text: "the state cannot be encoded: \(error)")
        }
    }

    /// As it was asked: one by its name, or a list, which also says how many dead ones are left.
    func done(_ ids: [EffectID], _ what: String, _ request: AdminRequest, _ ledger: EffectLedger) -> MessagePackValue {
        if case .string? = request.arguments["effect"], let id = ids.first { return [.string(what): .string("\(id)")] }
        return [
            .string(what): .array(ids.map { .string("\($0)") }), "dead": .number(ledger.dead.count),
        ]
    }

    /// The effects that a request names: `effect`, one; `effects`, a list; or `all` that are dead, so many that they fit a batch, and of sources
    /// only those that may be requeued.
    func effects(of request: AdminRequest, _ state: StoreState) throws(AdminRefusal) -> [EffectID] {
        if request.arguments["all"] == .bool(true) {
            var dead = state.ledger.dead
            if request.verb == "requeue" { dead = dead.filter { !state.isAbandoned($0.value.effect) } }
            return Array(dead.keys.sorted().prefix(settings.adminEffects))
        }
        if case .array(let names)? = request.arguments["effects"] {
            guard names.count <= settings.adminEffects else {
                throw AdminRefusal(text: "\(names.count) effects at once; \(settings.adminEffects) at most")
            }
            var ids: [EffectID] = []
            for name in names {
                let id = try effect(named: name)
                if !ids.contains(id) { ids.append(id) }
            }
            return ids
        }
        return [try effect(named: request.arguments["effect"])]
    }

    private func effect(named name: MessagePackValue?) throws(AdminRefusal) -> EffectID {
        guard case .string(let text)? = name else {
            throw AdminRefusal(text: "which effect? name it as turn/ordinal")
        }
        guard let effect = EffectID(named: text) else {
            throw AdminRefusal(text: "“\(text)” is not an effect; name it as turn/ordinal, as `effects` lists them")
        }
        return effect
    }
}

/// The newest replies to requests that changed something, for askers that ask again.
struct AdminReplies {
    private struct Entry {
        let request: AdminRequest
        /// Of the asker's key, which may be renewed before it asks again.
        let name: KeyName?
        let reply: AdminReply
        let time: Timestamp
    }

    private var entries: Deque<Entry> = []
    /// Beyond this time it is another request that happens to look alike.
    private static let memory = Duration.seconds(60)
    private static let limit = 256

    mutating func reply(to request: AdminRequest, by sender: Sender?, now: Timestamp) -> AdminReply? {
        while let first = entries.first, now - first.time > Self.memory { entries.removeFirst() }
        return entries.first { $0.request == request && $0.name == sender?.name }?.reply
    }

    mutating func keep(_ reply: AdminReply, to request: AdminRequest, by sender: Sender?, now: Timestamp) {
        guard request.isChange else { return }
        entries.append(Entry(request: request, name: sender?.name, reply: reply, time: now))
        if entries.count > Self.limit { entries.removeFirst() }
    }
}

extension AdminRequest {
    private static let effectArguments = ["all", "effect", "effects"]
    private static let placeArguments = ["queue", "label"]
    /// What each verb takes, by name.
    private static let knownArguments = [
        "status": [], "metrics": [], "inspect": [], "effects": ["queue", "label", "olderThan", "limit"],
        "attempts": ["effect", "before"], "drain": [], "reloadKeys": [],
        "export": ["folder", "id"], HistoryRequest.verb: HistoryRequest.arguments,
        "requeue": effectArguments,
        "drop": effectArguments, "pause": placeArguments, "resume": placeArguments,
        "rule": ["queue", "rate", "milliseconds", "burst", "shares", "others"],
    ]

    /// A misspelt argument must not be passed over: the request would do something else than was asked.
    func requireKnownArguments() throws(AdminRefusal) {
        guard let known = Self.knownArguments[verb] else { return }
        let pairs: [MessagePackPair]
        switch arguments {
        case .nil: pairs = []
        case .map(let given): pairs = given
        default: throw AdminRefusal(text: "the arguments of \(verb) are a map, by their names, or nil")
        }
        for pair in pairs {
            guard case .string(let name) = pair.key else {
                throw AdminRefusal(text: "the name of an argument of \(verb) is no text")
            }
            guard known.contains(name) else {
                let help = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
                throw AdminRefusal(text: "\(verb) has no argument “\(name.prefix(80))”; \(help)")
            }
            if name == "all", pair.value != .bool(true), pair.value != .bool(false) {
                throw AdminRefusal(text: "the argument all of \(verb) is neither true nor false")
            }
        }
        // All that are dead, or one, or several; a queue or a label.
        if pairs.count > 1, known == Self.effectArguments || known == Self.placeArguments {
            throw AdminRefusal(text: "\(verb) takes one argument of \(known.joined(separator: ", "))")
        }
    }
}

struct AdminRefusal: Error {
    let text: String
}
