import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a fork writes behind the turn at which it parts.
@Suite struct ForkTests {
    /// A store with an open effect, a session and a worker.
    private static func rig() throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        _ = rig.connectWorker(1, slots: 1, credit: 0)
        rig.deliver(inputs([.add(3), .order([job("a")])]), from: client(1))
        rig.round()
        return rig
    }

    private static func replayed(_ rig: Rig, and fork: Fork) throws -> StoreMachine {
        var machine = Rig.machine()
        for batch in rig.committedBatches { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        for batch in fork.batches { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        return machine
    }

    @Test func `Open effects are held, sessions are over, and no worker is waited for; the state stays`() throws {
        let rig = try Self.rig()
        let fork = rig.machine.fork(from: home, holdsEffects: true)
        #expect(fork.effects == 1 && fork.sessions == 1)
        let machine = try Self.replayed(rig, and: fork)
        let state = machine.turns.state
        #expect(machine.head == rig.machine.head + 3)
        #expect(state.ledger.open.isEmpty && state.ledger.dead.values.map(\.failure.reason) == [.diverged])
        #expect(state.sessions.sessions.isEmpty && state.joined.isEmpty)
        #expect(try state.engine.state() == rig.machine.turns.state.engine.state())
    }

    @Test func `What is not held is open`() throws {
        let rig = try Self.rig()
        let fork = rig.machine.fork(from: home, holdsEffects: false)
        let machine = try Self.replayed(rig, and: fork)
        #expect(fork.effects == 1 && machine.turns.state.ledger.open.count == 1)
        #expect(machine.turns.state.ledger.dead.isEmpty)
    }
}
