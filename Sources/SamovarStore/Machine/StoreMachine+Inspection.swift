package import SamovarCore
public import SamovarWire

/// What the store holds, for its host, for tests of programs, and for those who check that a replay gives what was there before.
extension StoreMachine {
    /// A snapshot of the newest turn: everything that the journal determines, in an encoding in which equal contents have equal bytes.
    public func snapshot() throws -> [UInt8] { try turns.state.snapshot() }

    /// The state after the newest turn, in MessagePack.
    public func stateBytes() throws -> [UInt8] { try turns.state.engine.state() }

    /// The view of the newest turn, in MessagePack.
    public func viewBytes() throws -> [UInt8] { try turns.state.engine.view() }

    /// The books after the newest turn, on disk or not.
    public var books: Books { Books(turns.state) }

    /// A hash of `snapshot`, with a fixed key: equal in every process for equal contents.
    public func digest() throws -> UInt64 { KeyedHash.of(try snapshot()) }

    /// In which parts a machine that was restored from a snapshot differs from this one, which replayed to the same turn.
    ///
    /// - Parameter subscriptions: whether they and the effects of sources are compared, too.
    public func differences(from snapshot: borrowing StoreMachine, subscriptions: Bool = true) throws -> [String] {
        try turns.state.differences(from: snapshot.turns.state, subscriptions: subscriptions)
    }

    /// Whether this build wrote all that was replayed. What another one wanted to hear of is in no record: the replay asked this one.
    public var isOfOneBuild: Bool { turns.state.builds == [out.identity.build + Record.Event.mark] }

    /// Effects of this turn that are open or dead.
    public func effects(orderedBy turn: Int) -> [OpenEffect] {
        (openEffects + deadEffects.map(\.effect)).filter { $0.id.turn == turn }.sorted { $0.id < $1.id }
    }

    /// Effects that are open, those of sources included, in the order in which they were ordered.
    package var openEffects: [OpenEffect] { turns.state.ledger.open.values.sorted { $0.id < $1.id } }

    /// Effects that failed for good and of which the program made no message, oldest first.
    package var deadEffects: [(effect: OpenEffect, failure: Failure)] {
        turns.state.ledger.dead.values.sorted { $0.effect.id < $1.effect.id }.map { ($0.effect, $0.failure) }
    }

    /// The outputs that are kept, oldest first.
    package var keptOutputs: [EmittedOutput] { Array(turns.state.outputs.outputs) }

    /// The outputs after `id`, oldest first; nil if some of them are not kept any more.
    package func outputs(after id: EffectID) -> [EmittedOutput]? { turns.state.outputs.outputs(after: id, bytes: .max) }

    /// Outputs that are kept, at most.
    package static var outputLimit: Int { OutputLog.limit }
    /// Bytes of them, at most.
    package static var outputByteLimit: Int { OutputLog.byteLimit }

    /// What is paused, and the rules of queues.
    package var controls: QueueControls { turns.state.ledger.controls }

    /// Whether an effect has to wait until another with its label is closed.
    package func isBehindAnother(_ effect: OpenEffect) -> Bool { turns.state.ledger.isBehindAnother(effect) }
}
