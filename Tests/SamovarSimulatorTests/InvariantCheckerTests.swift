import SamovarCore
import SamovarWire
import Testing

@testable import SamovarSimulator

/// What the checker lets pass, and what it does not.
@Suite struct InvariantCheckerTests {
    @Test func `Tasks that waited for the disk when their worker said HELLO again count against its credit of before`() {
        var credit = CreditTold()
        credit.greeted()
        credit.welcomed()
        credit.raise(to: 12)
        #expect(credit.limit == 12)
        // The store took the worker for dead, and asks for another HELLO on the same socket.
        credit.greeted()
        #expect(credit.limit == 12, "the tasks leave before the WELCOME, and are dropped")
        credit.welcomed()
        #expect(credit.limit == 0, "whatever comes after it is counted anew")
        credit.raise(to: 2)
        credit.raise(to: 1)
        #expect(credit.limit == 2)
    }

    @Test func `A worker that leaves at an orderly stop runs nothing that is open`() throws {
        #expect(try violation(byLeaveAt: 2, isRunning: true)?.invariant == .i6)
        #expect(try violation(byLeaveAt: 2, isRunning: false)?.invariant == nil)
        #expect(try violation(byLeaveAt: 1, isRunning: true)?.invariant == nil, "before the stop its job is taken back")
    }

    /// What is broken when a worker with an open effect leaves at this turn, and the store has stopped in order behind turn 1.
    private func violation(byLeaveAt turn: Int, isRunning: Bool) throws -> Violation? {
        let swarm = try #require(Swarm.small.first).swarm
        let world = World(seed: 1, swarm: swarm, duration: seconds, trace: .none)
        // Nobody else holds it.
        defer { withExtendedLifetime(world) {} }
        let (worker, effect, now) = (WorkerID(high: 0, low: 1), EffectID(turn: 1, ordinal: 0), Timestamp(microseconds: 0))
        let assignment = Assignment(effect: effect, worker: worker)
        assignment.isRunning = isRunning
        let lease = Lease(start: 1, counter: 1)
        let reference = world.checker.reference
        reference.workers = [worker]
        reference.open[effect] = ReferenceModel.Order(
            root: 1, effect: ModelProgram.Effect(inputID: 1, work: .quick, part: 0), payload: [], begins: now, notBefore: now,
            opened: 1, inLine: 1)
        reference.assignments[lease] = assignment
        reference.assignmentsOf[effect] = [lease]
        world.store.headAtStop = 1
        do throws(Violation) {
            try world.checker.take(Record(turn: turn, time: now, event: .workerLeft(worker)))
        } catch {
            return error
        }
        return nil
    }
}
