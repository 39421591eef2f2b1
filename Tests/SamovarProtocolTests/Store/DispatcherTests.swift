import SamovarCore
import Testing

@testable import SamovarProtocol

/// The order in which what waits is handed out.
@Suite struct DispatcherTests {
    @Test func `An effect without options has the priority 0`() throws {
        var ledger = EffectLedger()
        let usual = OpenEffect(id: EffectID(turn: 1, ordinal: 0), root: 1, payload: [0], now: at(0))
        let greater = OpenEffect(
            id: EffectID(turn: 2, ordinal: 0), root: 2, options: RunOptions(priority: 1), payload: [0], now: at(0))
        let equal = OpenEffect(
            id: EffectID(turn: 3, ordinal: 0), root: 3, options: RunOptions(retry: .times(9)), payload: [0], now: at(0))
        for effect in [usual, greater, equal] { ledger.order(effect) }
        var dispatcher = Dispatcher(start: 1, suspectDeaths: 2)
        dispatcher.enqueue(usual: usual.id, now: at(0))
        for effect in [greater, equal] { dispatcher.enqueue(effect, now: at(0)) }
        dispatcher.join(WorkerOffer(id: workerID(1), slots: 9, queues: [.default]), route: worker(1), now: at(0))
        dispatcher.heard(workerID(1), credit: 9, now: at(0))
        let handout = AssignmentContext(floor: 0, grace: .zero, frameBytes: 1_000, proof: JobProof(home, workshopSecret))
        _ = dispatcher.assign(from: ledger, handout)
        let order = [greater, usual, equal].map { dispatcher.assignment(of: $0.id)?.lease.counter }
        #expect(order == [1, 2, 3])
    }
}
