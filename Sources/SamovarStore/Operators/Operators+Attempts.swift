import MessagePack
import SamovarCore
import SamovarWire

extension Operators {
    /// A reply about one effect has so many attempts at most, the newest.
    static let attempts = 1_000
    /// And one about all, which are asked for page by page.
    static let attemptsOfPage = 250

    /// The attempts of all effects that the store remembers, the newest first: a page of them, and where it goes on.
    func describeAttempts(
        _ arguments: MessagePackValue, _ dispatcher: Dispatcher, started: Timestamp
    ) throws(AdminRefusal) -> MessagePackValue {
        let end = arguments.natural("before")
        guard end != nil || arguments["before"] == nil else {
            throw AdminRefusal(text: "before is what another answer has as next")
        }
        let page = dispatcher.recorder.attempts(before: end, count: Self.attemptsOfPage, dispatcher.knownWorkers)
        let attempts = page.attempts.map { effect, attempt in
            var row = describe(attempt)
            row["effect"] = .string("\(effect)")
            return row
        }
        return [
            "remembersSince": .moment(dispatcher.recorder.since ?? started), "attempts": .array(attempts),
            "next": page.next.map { .number($0) } ?? .nil,
        ]
    }

    /// What is known of one effect, for `attempts`: the attempts that the store remembers, the oldest first, and what `effects` tells while it
    /// is open or dead.
    ///
    /// - Parameter started: when this process began to serve, and so to remember.
    func describeAttempts(
        of id: EffectID, _ turns: borrowing Turns, _ dispatcher: Dispatcher, started: Timestamp, now: Timestamp
    ) throws(AdminRefusal) -> MessagePackValue {
        guard id.turn <= turns.head else { throw AdminRefusal(text: "there is no turn \(id.turn) yet") }
        let attempts = dispatcher.recorder.attempts(of: id, dispatcher.knownWorkers)
        let ledger = turns.state.ledger
        // The books keep nothing of those that are closed.
        var value: MessagePackValue = ["effect": .string("\(id)"), "state": attempts.isEmpty ? "unknown" : "closed"]
        if let effect = ledger.open[id] {
            value["state"] = "open"
            value["open"] = fitting(describe(open: effect, ledger, dispatcher, now: now), effect)
        } else if let dead = ledger.dead[id] {
            value["state"] = "dead"
            value["dead"] = fitting(describe(dead: dead), dead.effect)
        }
        value["remembersSince"] = .moment(dispatcher.recorder.since ?? started)
        value["attemptCount"] = .number(attempts.count)
        value["attempts"] = .array(attempts.prefix(Self.attempts).reversed().map(describe))
        return value
    }

    /// Without the payload, if that does not fit a reply.
    private func fitting(_ description: MessagePackValue, _ effect: OpenEffect) -> MessagePackValue {
        guard effect.size > settings.adminReplyBytes else { return description }
        var description = description
        description["payload"] = nil
        return description
    }

    private func describe(_ attempt: FlightRecorder.Attempt) -> MessagePackValue {
        [
            "attempt": .number(attempt.number),
            "worker": attempt.worker.map { .string("\($0)") } ?? .nil,
            "handedOut": .moment(attempt.handedOut),
            "claimed": .bool(attempt.isClaimed),
            "startedBy": attempt.heard.map { .moment(attempt.handedOut + $0) } ?? .nil,
            "ended": attempt.duration.map { .moment(attempt.handedOut + $0) } ?? .nil,
            "seconds": attempt.duration.map { .double(Double($0.microseconds) / 1_000_000) } ?? .nil,
            "how": .string(attempt.outcome?.name ?? "running"),
        ]
    }
}

extension MessagePackValue {
    /// A timestamp of MessagePack to the microsecond. It has 34 bits of seconds, which end in the year 2514.
    static func moment(_ time: Timestamp) -> MessagePackValue {
        let latest = Int64(1) << 34 * 1_000_000 - 1
        let (seconds, rest) = min(max(0, time.microseconds), latest).quotientAndRemainder(dividingBy: 1_000_000)
        let word = UInt64(rest * 1_000) << 34 | UInt64(seconds)
        return .extension(type: -1, bytes: (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) })
    }
}
