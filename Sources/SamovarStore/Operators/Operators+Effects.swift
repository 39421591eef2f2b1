import HeapModule
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
        case .int(let age)? where age >= 0: self.age = .milliseconds(age)
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
        let (open, openCount) = oldest(ledger.open.values, filter, now: now)
        let (dead, deadCount) = oldest(ledger.dead.values.lazy.map(\.effect), filter, now: now)
        return [
            "openCount": .number(openCount), "deadCount": .number(deadCount),
            "open": .array(
                shown(open.compactMap { ledger.open[$0] }, \.size).map { describe(open: $0, ledger, dispatcher, now: now) }),
            "dead": .array(shown(dead.compactMap { ledger.dead[$0] }, \.effect.size).map(describe(dead:))),
        ]
    }

    /// Of those that the filter takes, the oldest in their order, and how many there are. To sort them all would hold the store up where a
    /// million are open.
    private func oldest(
        _ effects: some Sequence<OpenEffect>, _ filter: EffectFilter, now: Timestamp
    ) -> (oldest: [EffectID], count: Int) {
        var oldest = Heap<EffectID>()
        var count = 0
        for effect in effects where filter.takes(effect, now: now) {
            count += 1
            if oldest.count < filter.limit {
                oldest.insert(effect.id)
            } else if let newest = oldest.max, effect.id < newest {
                oldest.replaceMax(with: effect.id)
            }
        }
        return (oldest.unordered.sorted(), count)
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

    private func shown<Entry>(_ entries: [Entry], _ size: (Entry) -> Int) -> ArraySlice<Entry> {
        var room = settings.adminReplyBytes
        return entries.prefix {
            room -= size($0)
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
