import DequeModule
import MessagePack
import SamovarCore

/// What operators ask, over the admin socket. Everything that tells of turns passes the gate, like any other answer.
extension StoreMachine {
    mutating func receivedAtAdmin(_ envelope: Envelope, from route: Route, now: Timestamp) {
        guard case .request(let request) = envelope.frame else {
            return misuse("\(envelope.frame.kind) is not for the admin socket", route)
        }
        if let fullSince = commits.fullSince, request.verb != "drain" {
            return send(.reply(replyOnFullDisk(to: request, since: fullSince, now: now)), to: route, floor: .none)
        }
        send(.reply(reply(to: request, now: now)), to: route, floor: .turn(head))
    }

    /// The gate may stay closed for hours: what is told now tells of nothing but turns on disk.
    private func replyOnFullDisk(to request: AdminRequest, since: Timestamp, now: Timestamp) -> AdminReply {
        if request.verb == "status" { return AdminReply(id: request.id, value: statusOnFullDisk(since: since, now: now)) }
        let seconds = (now - since).components.seconds
        return AdminReply(
            id: request.id,
            refusal: "the disk of the store is full, for \(seconds) s now: only status is answered until there is space")
    }

    /// An asker that heard nothing asks again, under the same number: what was done is not done twice, and is told again.
    private mutating func reply(to request: AdminRequest, now: Timestamp) -> AdminReply {
        if let known = adminReplies.reply(to: request, now: now) { return known }
        let reply: AdminReply
        do throws(AdminRefusal) {
            reply = AdminReply(id: request.id, value: try answer(request, now: now))
        } catch {
            reply = AdminReply(id: request.id, refusal: error.text)
        }
        if ["requeue", "drop"].contains(request.verb) { adminReplies.keep(reply, to: request, now: now) }
        return reply
    }

    private mutating func answer(_ request: AdminRequest, now: Timestamp) throws(AdminRefusal) -> MessagePackValue {
        try request.requireKnownArguments()
        switch request.verb {
        case "status": return status(now: now)
        case "inspect": return try inspect()
        case "effects": return effects()
        case "requeue":
            let ids = try effects(of: request)
            if let id = ids.first(where: { state.ledger.dead[$0] == nil }) {
                throw AdminRefusal(text: "effect \(id) is not dead")
            }
            for id in ids { requeue(id, now: now) }
            return done(ids, "requeued", request)
        case "drop":
            let ids = try effects(of: request)
            if let id = ids.first(where: { state.ledger.dead[$0] == nil && state.ledger.open[$0] == nil }) {
                throw AdminRefusal(text: "effect \(id) is neither open nor dead")
            }
            for id in ids { drop(id, now: now) }
            return done(ids, "dropped", request)
        case "export": return try backUp(request)
        case "drain":
            beginDrain(within: settings.drain, now: now)
            return ["draining": true]
        default:
            throw AdminRefusal(
                text: "unknown request \(request.verb); there are status, inspect, effects, requeue, drop, export, drain")
        }
    }

    private mutating func inspect() throws(AdminRefusal) -> MessagePackValue {
        if let why = quarantine.verdict(on: .state) { throw AdminRefusal(text: "the state cannot be encoded: \(why)") }
        begin(.state)
        defer { end(.state) }
        do {
            var reader = MessagePackReader(try state.engine.state(), limits: MessagePackLimits(maximumBytes: .max))
            return ["turn": .int(Int64(head)), "instance": .string(instance.key), "state": try reader.readValue()]
        } catch {
            throw AdminRefusal(text: "the state cannot be encoded: \(error)")
        }
    }

    private mutating func requeue(_ id: EffectID, now: Timestamp) {
        write(.requeued(id), origin: .operator, now: now)
        followLedger(now: now)
    }

    private mutating func drop(_ id: EffectID, now: Timestamp) {
        if let holder = scheduler.dispatcher.forget(id), let holding = scheduler.dispatcher.workers[holder.worker]?.route {
            cancellations.append(holder.lease, for: holding)
        }
        write(.dropped(id), origin: .operator, now: now)
    }

    /// As it was asked: one by its name, or a list, which also says how many dead ones are left.
    private func done(_ ids: [EffectID], _ what: String, _ request: AdminRequest) -> MessagePackValue {
        if case .string? = request.arguments["effect"], let id = ids.first { return [.string(what): .string("\(id)")] }
        return [
            .string(what): .array(ids.map { .string("\($0)") }), "dead": .int(Int64(state.ledger.dead.count)),
        ]
    }

    /// The effects that a request names: `effect`, one; `effects`, a list; or `all` that are dead, so many that they fit a batch.
    private func effects(of request: AdminRequest) throws(AdminRefusal) -> [EffectID] {
        if request.arguments["all"] == .bool(true) {
            return Array(state.ledger.dead.keys.sorted().prefix(settings.adminEffects))
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
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let turn = Int(parts[0]), let ordinal = Int(parts[1]) else {
            throw AdminRefusal(text: "“\(text)” is not an effect; name it as turn/ordinal, as `effects` lists them")
        }
        return EffectID(turn: turn, ordinal: ordinal)
    }
}

/// The newest replies to requests that changed something, for askers that ask again.
struct AdminReplies {
    private struct Entry {
        let request: AdminRequest
        let reply: AdminReply
        let time: Timestamp
    }

    private var entries: Deque<Entry> = []
    /// Beyond this time it is another request that happens to look alike.
    private static let memory = Duration.seconds(60)
    private static let limit = 256

    mutating func reply(to request: AdminRequest, now: Timestamp) -> AdminReply? {
        while let first = entries.first, now - first.time > Self.memory { entries.removeFirst() }
        return entries.first { $0.request == request }?.reply
    }

    mutating func keep(_ reply: AdminReply, to request: AdminRequest, now: Timestamp) {
        entries.append(Entry(request: request, reply: reply, time: now))
        if entries.count > Self.limit { entries.removeFirst() }
    }
}

extension AdminRequest {
    private static let effectArguments = ["all", "effect", "effects"]
    /// What each verb takes, by name.
    private static let knownArguments = [
        "status": [], "inspect": [], "effects": [], "drain": [], "export": ["folder", "id"], "requeue": effectArguments,
        "drop": effectArguments,
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
        // All that are dead, or one, or several.
        if pairs.count > 1, known == Self.effectArguments {
            throw AdminRefusal(text: "\(verb) takes one argument of \(known.joined(separator: ", "))")
        }
    }
}

struct AdminRefusal: Error {
    let text: String
}
