import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
@Suite struct DeparturesTests {
    @Test func `A task has left when its turn is on disk, and what another start handed out has`() {
        func lease(_ counter: Int, start: Int = 2) -> Lease { Lease(start: start, counter: counter) }
        var departures = Departures()
        #expect(departures.hasLeft(lease(1)))
        departures.hold(lease(3), untilDurable: 7)
        departures.hold(lease(4), untilDurable: 7)
        departures.hold(lease(5), untilDurable: 9)
        departures.left(through: 6)
        #expect((1...5).map { departures.hasLeft(lease($0)) } == [true, true, false, false, false])
        #expect(departures.hasLeft(lease(9, start: 1)))
        departures.left(through: 8)
        #expect((3...5).map { departures.hasLeft(lease($0)) } == [true, true, false])
        departures.left(through: 9)
        #expect(departures.hasLeft(lease(5)))
    }

    @Test(arguments: [true, false])
    func `What is taken back before it has left fences no older attempt`(isGone: Bool) throws {
        var (dispatcher, ledger) = (Dispatcher(StoreSettings(), start: 2), EffectLedger())
        let effect = OpenEffect(id: EffectID(turn: 1, ordinal: 0), root: 1, payload: [0], now: at(0))
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
