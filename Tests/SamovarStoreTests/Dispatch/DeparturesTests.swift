import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Which tasks have left for their workers.
@Suite struct DeparturesTests {
    private static func effect(_ turn: Int) -> OpenEffect {
        OpenEffect(id: EffectID(turn: turn, ordinal: 0), root: turn, payload: [0], now: at(0))
    }

    @Test func `A task has left when its turn is on disk, and what another start handed out has`() {
        var (dispatcher, ledger) = (Dispatcher(StoreSettings(), start: 2), EffectLedger())
        dispatcher.join(WorkerOffer(id: workerID(1), slots: 4, queues: [.default]), route: worker(1), now: at(0))
        dispatcher.heard(workerID(1), credit: 3, now: at(0))
        let foreign = Lease(start: 1, counter: 9)
        let isAdopted = dispatcher.adopt(Self.effect(9), lease: foreign, token: 0, worker: workerID(1), now: at(0))
        #expect(isAdopted && dispatcher.unsent(of: workerID(1)) == [])
        for (turn, floor) in [(3, 7), (4, 7), (5, 9)] {
            ledger.order(Self.effect(turn))
            dispatcher.enqueue(Self.effect(turn), now: at(0))
            let handed = dispatcher.assign(from: ledger, floor: floor, JobProof(home, workshopSecret), now: at(0))
            #expect(handed.count == 1)
        }
        let steps: [(Int, [Int])] = [(6, [3, 4, 5]), (7, [5]), (8, [5]), (9, [])]
        for (durable, unsent) in steps {
            dispatcher.left(through: durable, now: at(0))
            #expect(dispatcher.unsent(of: workerID(1)) == unsent.map { Self.effect($0).id })
        }
    }

    @Test func `Not even a task that waits for the first turn has left before that is on disk`() {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order()
        _ = hall.dispatcher.assign(from: hall.ledger, floor: 1, JobProof(home, workshopSecret), now: hall.now)
        for (durable, unsent) in [(0, [id]), (1, [])] as [(Int, [EffectID])] {
            hall.dispatcher.left(through: durable, now: hall.now)
            #expect(hall.dispatcher.unsent(of: workerID(1)) == unsent)
        }
    }

    @Test(arguments: [true, false])
    func `What is taken back before it has left fences no older attempt`(isGone: Bool) throws {
        var (dispatcher, ledger) = (Dispatcher(StoreSettings(), start: 2), EffectLedger())
        let effect = Self.effect(1)
        let older = Lease(start: 1, counter: 9)
        ledger.order(effect)
        for (durable, isOutdated) in [(6, false), (7, true)] {
            dispatcher.join(WorkerOffer(id: workerID(1), slots: 1, queues: [.default]), route: worker(1), now: at(0))
            dispatcher.heard(workerID(1), credit: 1, now: at(0))
            dispatcher.enqueue(effect, now: at(0))
            let handed = dispatcher.assign(from: ledger, floor: 7, JobProof(home, workshopSecret), now: at(0))
            dispatcher.left(through: durable, now: at(0))
            let taken = isGone ? dispatcher.leave(workerID(1)) : dispatcher.takeBackUnsent(of: workerID(1))
            let isHeld = dispatcher.assignment(of: effect.id) != nil
            #expect(handed.count == 1 && taken.isEmpty == isHeld && isHeld == (isOutdated && !isGone))
            #expect(dispatcher.isOutdated(older, of: effect.id) == (isOutdated && isGone))
        }
    }
}
