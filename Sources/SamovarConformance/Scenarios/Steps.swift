import MessagePack

/// What many scenarios have in common.
extension Step {
    // MARK: Greeting

    /// HELLO on another connection.
    static func another(_ what: String = "HELLO on another connection", after: Duration = .zero, within: Duration = .zero) -> Step {
        expect(what, after: after, within: within) { stage, event in
            guard case .frame(let frame, let route) = event, frame.is(.hello) else { return .other }
            defer { stage.former = route }
            return route == stage.former ? .broken(what) : .met
        }
    }

    /// HELLO, as this says.
    static func hello(
        _ what: String, within: Duration = .zero, _ isRight: @escaping @Sendable (Stage, RawFrame, Route) -> Bool
    ) -> Step {
        expect(what, within: within) { stage, event in
            guard case .frame(let frame, let route) = event, frame.is(.hello) else { return .other }
            return isRight(stage, frame, route) ? .met : .broken(what)
        }
    }

    /// The peer is welcomed; a worker has given credit.
    static func greeted(_ role: Subject) -> [Step] {
        [another("HELLO at the \(role == .worker ? "work" : "front") listener")]
            + (role == .worker ? [until("CREDIT, at once") { $0.worker.credit > 0 }] : [])
    }

    /// The connection is the same, and the peer listens: it answers PING.
    static func alive(_ after: String = "") -> [Step] {
        [
            act { $0.ping() },
            expect("PONG for PING\(after), on the same connection") { stage, event in
                if event.isFrame(.hello) { return .broken("PONG for PING\(after), and no new HELLO") }
                return event.isFrame(.pong) ? .met : .other
            },
        ]
    }

    /// What the peer says again when it has lost its connection: it is welcomed on another one.
    static let lost = [
        act { $0.goodbye() }, another("HELLO on another connection after GOODBYE", within: .milliseconds(20)),
    ]

    /// The peer has given up: neither HELLO nor an input comes any more, and what had no outcome gets none.
    static func final(_ why: String) -> [Step] {
        let what = "neither HELLO nor SEND after \(why)"
        return [
            act { $0.mayExit = true },
            Step(
                what: what,
                action: .quiet(.milliseconds(2_500)) { _, event in
                    // What was read too late to be sent may be told as rejected.
                    if case .printed(let line) = event, line["status"] == "applied" || line["status"] == "refused" {
                        return .broken("{\"status\": \"unknown\"} for what has no outcome, after \(why)")
                    }
                    return event.isFrame(.hello) || event.isFrame(.send) ? .broken(what) : .other
                }),
        ]
    }

    // MARK: Jobs

    /// The result of the newest task, whose answer is as this says.
    static func result(
        _ what: String, after: Duration = .zero, within: Duration = .zero, _ isRight: @escaping @Sendable (Value) -> Bool
    ) -> Step {
        expect(what, after: after, within: within) { stage, event in
            guard let frame = event.frame, frame.is(.result) else { return .other }
            for result in frame.body[0].elements where result[2] == stage.leases.last && result[4] != 3 {
                return isRight(.array(Array(result.elements.suffix(2)))) ? .met : .broken(what)
            }
            return .other
        }
    }

    /// A task of this effect.
    static func task(_ effects: Value..., timeout: Int64? = nil, resume: Value = .nil) -> Step {
        act { $0.leases = $0.task(effects, timeout: timeout, resume: resume) }
    }

    /// A handler that was told to stop keeps its slot until it has ended, and an answer that comes before has no credit for another task.
    static let hasRoom = until("credit for another task") { $0.worker.credit > $0.worker.sent }

    /// However its jobs have ended, a worker that holds none has room for as many as ever.
    static let hasAllRoom = until("the whole credit again") { $0.worker.credit == $0.worker.most }

    /// A job is done as usual.
    static func works() -> [Step] {
        [
            hasRoom, task(Stage.Effect.echo("still")),
            result("the answer of a job that comes next") { $0.messages == [Stage.echoed("still")] },
        ]
    }

    /// The frames of results that a step looks at.
    static func noResult(_ what: String, for time: Duration) -> Step {
        quiet(what, for: time) { stage, event in
            guard let frame = event.frame, frame.is(.result) else { return false }
            return frame.body[0].elements.contains { stage.leases.contains($0[2] ?? .nil) }
        }
    }
}

extension Value {
    /// The messages of an answer, nil if it is none of kind 0.
    var messages: [Value?]? { self[0] == 0 ? self[1]?.elements.map(\.unpacked) : nil }
    /// The reason and whether it is for good, of an answer of kind 1.
    var failure: (reason: String, isPermanent: Bool)? {
        guard self[0] == 1, let reason = self[1]?[0]?.string, case .bool(let isPermanent)? = self[1]?[2] else { return nil }
        return (reason, isPermanent)
    }
}
