public import SamovarCore

/// An engine whose turns are compiled together with the program.
///
/// The compiler makes machine code of a generic type for one program only where it sees both, and it does not see the program from
/// here: an engine behind `any ProgramEngine` asks the runtime for the program's types in each turn, which takes several times as long
/// as the turn. So `TypedEngine.bound`, which the user's own module inlines, makes closures of what a turn needs, and those are
/// compiled there. What is not part of a turn goes the other way.
final class BoundEngine: ProgramEngine {
    /// What is called for each turn.
    struct Turns {
        let head: () -> Int
        let input: (_ input: [UInt8], Timestamp, Origin, TurnLog) throws(GroupLimit) -> Outcome.Verdict
        let answer: (_ message: ArraySlice<UInt8>, EffectID, Lease, _ root: Int, Timestamp, TurnLog) throws -> Void
        let answers: (_ messages: MessageList, EffectID, Lease, _ root: Int, Timestamp, TurnLog) throws -> Void
        let streamed: (_ message: [UInt8], _ checkpoint: [UInt8]?, Origin, _ root: Int, Timestamp, TurnLog) throws -> Void
        let firing: (_ message: [UInt8], Origin, Timestamp, TurnLog) throws -> Void
        let replay: (Record, TurnLog) throws(ReplayError) -> Void
        let committed: (_ turn: Int) -> Void
        let view: () throws -> [UInt8]
    }

    private let base: any ProgramEngine
    private let turns: Turns

    init(_ base: any ProgramEngine, _ turns: Turns) {
        self.base = base
        self.turns = turns
    }

    // MARK: Compiled with the program

    var head: Int { turns.head() }

    func take(_ input: [UInt8], now: Timestamp, origin: Origin, log: TurnLog) throws(GroupLimit) -> Outcome.Verdict {
        try turns.input(input, now, origin, log)
    }

    func take(answer messages: MessageList, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog) throws {
        try turns.answers(messages, effect, lease, root, now, log)
    }

    func take(
        only message: ArraySlice<UInt8>, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        try turns.answer(message, effect, lease, root, now, log)
    }

    func take(
        streamed message: [UInt8], checkpoint: [UInt8]?, origin: Origin, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        try turns.streamed(message, checkpoint, origin, root, now, log)
    }

    func take(firing message: [UInt8], origin: Origin, now: Timestamp, log: TurnLog) throws {
        try turns.firing(message, origin, now, log)
    }

    func replay(_ record: Record, log: TurnLog) throws(ReplayError) { try turns.replay(record, log) }
    func committed(through turn: Int) { turns.committed(turn) }
    func view() throws -> [UInt8] { try turns.view() }

    // MARK: As it is

    var schema: Schema { base.schema }
    var oldestReadableVersion: Int { base.oldestReadableVersion }
    var terms: ReplayTerms {
        get { base.terms }
        set { base.terms = newValue }
    }

    func skip() -> Int { base.skip() }
    func start(seed: [UInt8], now: Timestamp, log: TurnLog) throws { try base.start(seed: seed, now: now, log: log) }
    func resubscribe(now: Timestamp, log: TurnLog) { base.resubscribe(now: now, log: log) }

    func take(
        failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: TurnLog
    ) throws(GroupLimit) -> Bool {
        try base.take(failure: failure, of: effect, payload: payload, root: root, now: now, log: log)
    }

    func requireEndOfGroup() throws(ReplayError) { try base.requireEndOfGroup() }
    func state() throws -> [UInt8] { try base.state() }

    func restore(state: [UInt8], head: Int, writtenBy version: Int) throws {
        try base.restore(state: state, head: head, writtenBy: version)
    }

    func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] {
        try base.migrated(effect: effect, from: version)
    }
}

extension TypedEngine {
    /// This engine, with its turns compiled where this is called.
    @inlinable
    public func bound() -> any ProgramEngine {
        Self.bound(
            self, head: { self.head },
            input: { (input, now, origin, log) throws(GroupLimit) in try self.take(input, now: now, origin: origin, log: log) },
            answer: { message, effect, lease, root, now, log in
                try self.take(only: message, effect: effect, lease: lease, root: root, now: now, log: log)
            },
            answers: { messages, effect, lease, root, now, log in
                try self.take(answer: messages, effect: effect, lease: lease, root: root, now: now, log: log)
            },
            streamed: { message, checkpoint, origin, root, now, log in
                try self.take(streamed: message, checkpoint: checkpoint, origin: origin, root: root, now: now, log: log)
            },
            firing: { message, origin, now, log in try self.take(firing: message, origin: origin, now: now, log: log) },
            replay: { (record, log) throws(ReplayError) in try self.replay(record, log: log) },
            committed: { self.committed(through: $0) }, view: { try self.view() })
    }

    @usableFromInline
    static func bound(
        _ base: any ProgramEngine, head: @escaping () -> Int,
        input: @escaping ([UInt8], Timestamp, Origin, TurnLog) throws(GroupLimit) -> Outcome.Verdict,
        answer: @escaping (ArraySlice<UInt8>, EffectID, Lease, Int, Timestamp, TurnLog) throws -> Void,
        answers: @escaping (MessageList, EffectID, Lease, Int, Timestamp, TurnLog) throws -> Void,
        streamed: @escaping ([UInt8], [UInt8]?, Origin, Int, Timestamp, TurnLog) throws -> Void,
        firing: @escaping ([UInt8], Origin, Timestamp, TurnLog) throws -> Void,
        replay: @escaping (Record, TurnLog) throws(ReplayError) -> Void, committed: @escaping (Int) -> Void,
        view: @escaping () throws -> [UInt8]
    ) -> any ProgramEngine {
        BoundEngine(
            base,
            BoundEngine.Turns(
                head: head, input: input, answer: answer, answers: answers, streamed: streamed, firing: firing, replay: replay,
                committed: committed, view: view))
    }
}
