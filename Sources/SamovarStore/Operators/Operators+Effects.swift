import MessagePack
import SamovarCore
import SamovarWire

/// Which effects a request is about.
struct EffectFilter {
    /// A list tells of so many at most, of either kind.
    static let maximum = 1_000

    private let queue: Queue?
    private let label: Label?
    /// Only those that were ordered so long ago.
    private let age: Duration?
    let limit: Int

    /// - Parameter arguments: `queue` and `label`, texts, `olderThan`, milliseconds, and `limit`, a number; each may be left out.
    init(_ arguments: MessagePackValue) throws(AdminRefusal) {
        queue = try Self.text("queue", arguments).map { Queue($0) }
        label = try Self.text("label", arguments).map { Label($0) }
        switch arguments["olderThan"] {
        case nil: age = nil
        case .int(let age)? where age >= 0: self.age = .milliseconds(min(age, 1 << 50))
        default: throw AdminRefusal(text: "olderThan is a number of milliseconds")
        }
        switch arguments["limit"] {
        case nil: limit = Self.maximum
        case .int(let limit)? where (1...Int64(Self.maximum)).contains(limit): self.limit = Int(limit)
        default: throw AdminRefusal(text: "the limit is a number from 1 to \(Self.maximum)")
        }
    }

    static func text(_ name: String, _ arguments: MessagePackValue) throws(AdminRefusal) -> String? {
        switch arguments[name] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw AdminRefusal(text: "the \(name) is a text")
        }
    }

    func takes(_ effect: OpenEffect, now: Timestamp) -> Bool {
        (queue == nil || queue == effect.queue) && (label == nil || label == effect.label)
            && age.map { now - effect.ordered >= $0 } ?? true
    }
}

extension Operators {
    /// The effects that are open or dead, for `effects`: the oldest first, and no more payload than fits a reply. Counted are all.
    func describe(
        _ filter: EffectFilter, _ ledger: EffectLedger, _ dispatcher: Dispatcher, now: Timestamp
    ) -> MessagePackValue {
        let open = oldest(ledger.open.values.lazy.filter { filter.takes($0, now: now) }, filter.limit, \.id)
        let dead = oldest(ledger.dead.values.lazy.filter { filter.takes($0.effect, now: now) }, filter.limit, \.effect.id)
        return [
            "openCount": .number(open.count), "deadCount": .number(dead.count),
            "open": .array(shown(open.entries, \.payload).map { describe(open: $0, ledger, dispatcher, now: now) }),
            "dead": .array(shown(dead.entries, \.effect.payload).map(describe(dead:))),
        ]
    }

    /// So many with the smallest identities, in their order, and how many there are. To sort them all would hold the store up where a
    /// million are open.
    private func oldest<Entry>(
        _ entries: some Sequence<Entry>, _ limit: Int, _ id: (Entry) -> EffectID
    ) -> (entries: [Entry], count: Int) {
        var kept: [Entry] = []
        var count = 0
        var newest: EffectID?
        func cut() {
            kept.sort { id($0) < id($1) }
            kept.removeLast(max(0, kept.count - limit))
        }
        for entry in entries {
            count += 1
            if let newest, id(entry) > newest { continue }
            kept.append(entry)
            guard kept.count >= 2 * limit else { continue }
            cut()
            newest = kept.last.map(id)
        }
        cut()
        return (kept, count)
    }

    func describe(open effect: OpenEffect, _ ledger: EffectLedger, _ dispatcher: Dispatcher, now: Timestamp) -> MessagePackValue {
        let holder = dispatcher.assignment(of: effect.id)
        let isLater = effect.notBefore > now
        return describe(
            effect, attempts: effect.failures + effect.deaths + (holder == nil ? 0 : 1), failures: effect.failures,
            deaths: effect.deaths,
            [
                MessagePackPair("status", holder == nil ? "waiting" : "running"),
                MessagePackPair("waitsFor", holder == nil ? waits(effect, ledger, isLater: isLater) : .nil),
                MessagePackPair("nextAttempt", isLater ? .instant(effect.notBefore) : .nil),
                MessagePackPair("worker", holder.map { .string("\($0.worker)") } ?? .nil),
                MessagePackPair("progress", dispatcher.progress(of: effect.id)?.shown ?? .nil),
                MessagePackPair("streamed", .number(effect.place?.index ?? 0)),
            ])
    }

    func describe(dead: EffectLedger.Dead) -> MessagePackValue {
        var (failures, deaths) = (dead.effect.failures, dead.effect.deaths)
        // What ended it is counted in the failure alone: one attempt, or all those whose workers fell silent.
        let last = max(0, dead.failure.attempts - failures - deaths)
        if dead.failure.reason == .workerDied, !dead.effect.isSource { deaths += last } else { failures += last }
        return describe(
            dead.effect, attempts: dead.failure.attempts, failures: failures, deaths: deaths,
            [MessagePackPair("status", "dead"), MessagePackPair("failure", .string("\(dead.failure)"))])
    }

    private func waits(_ effect: OpenEffect, _ ledger: EffectLedger, isLater: Bool) -> MessagePackValue {
        if ledger.controls.isPaused(effect.queue) || effect.label.map(ledger.controls.isPaused) == true { return "pause" }
        if ledger.isBehindAnother(effect) { return "label" }
        return isLater ? "time" : "worker"
    }

    private func shown<Entry>(_ entries: [Entry], _ payload: (Entry) -> [UInt8]) -> ArraySlice<Entry> {
        var room = settings.adminReplyBytes
        return entries.prefix {
            room -= payload($0).count
            return room >= 0
        }
    }

    private func describe(
        _ effect: OpenEffect, attempts: Int, failures: Int, deaths: Int, _ more: [MessagePackPair]
    ) -> MessagePackValue {
        let common: [MessagePackPair] = [
            MessagePackPair("effect", .string("\(effect.id)")),
            MessagePackPair("queue", .string(effect.queue.name.bounded())),
            MessagePackPair("label", effect.label.map { .string($0.text.bounded()) } ?? .nil),
            MessagePackPair("root", .number(effect.root)),
            MessagePackPair("ordered", .instant(effect.ordered)),
            MessagePackPair("attempts", .number(attempts)),
            MessagePackPair("failures", .number(failures)),
            MessagePackPair("deaths", .number(deaths)),
            MessagePackPair("payload", MessagePackValue(shown: effect.payload)),
        ]
        return .map(common + more)
    }
}

extension JobProgress {
    var shown: MessagePackValue {
        ["fraction": fraction.map { .double($0) } ?? .nil, "text": text.map { .string($0) } ?? .nil]
    }
}
