import MachineSupport
import SamovarCore
import Synchronization
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// One batch fills up while one is committed, and what becomes of items.
@Suite struct TurnsTests {
    @Test func `One batch is with the journal, and one fills up to its limit`() throws {
        var settings = StoreSettings()
        settings.batchTurns = 2
        var bench = try PartBench(settings)
        var canTake = [bench.turns.canTake]
        var batches = [bench.turns.takeBatch(now: at(0)), bench.turns.takeBatch(now: at(0))]
        for _ in 1...2 {
            canTake.append(bench.turns.canTake)
            try bench.order(job("a"))
        }
        canTake.append(bench.turns.canTake)
        batches.append(bench.turns.takeBatch(now: at(0)))
        bench.turns.committed(through: 1, now: at(0))
        canTake.append(bench.turns.canTake)
        batches.append(bench.turns.takeBatch(now: at(0)))
        canTake.append(bench.turns.canTake)
        #expect(canTake == [true, true, true, false, false, true])
        #expect(batches.map { $0?.last } == [1, nil, nil, 3])
        let count = bench.turns.counts.batches
        #expect(count == 2)
    }

    @Test func `Numbers of what is on disk follow the commit and not the batch`() throws {
        var bench = try PartBench()
        bench.commit()
        try bench.order(job("a"))
        var durable = [bench.turns.durableFacts]
        let facts = bench.turns.facts
        let batch = bench.turns.takeBatch(now: at(0))
        durable.append(bench.turns.durableFacts)
        bench.turns.committed(through: batch?.last ?? 0, now: at(0))
        durable.append(bench.turns.durableFacts)
        #expect(facts.openEffects == 1)
        #expect(durable.map(\.openEffects) == [0, 0, 1] && durable[2] == facts)
    }

    @Test func `A full disk is full since it was told first`() throws {
        var outages = Outages()
        let course: [(Outage?, Double, Timestamp?)] = [
            (.diskFull, 3, at(3)), (.diskFull, 5, at(3)), (.databaseAway, 6, at(3)), (nil, 7, nil),
        ]
        for (outage, second, since) in course {
            _ = outages.journal(outage, now: at(second))
            #expect(outages.current?.outage == outage && outages.current?.since == since)
        }
    }

    @Test func `An outage is told when it begins, when it becomes another and when it ends, and not again while it lasts`() {
        var outages = Outages()
        var told: [Note?] = []
        for outage in [.diskFull, .diskFull, .databaseAway, .databaseAway, nil, nil] as [Outage?] {
            told.append(outages.journal(outage, now: at(3)))
        }
        let (full, away) = (Outage.diskFull.note(began: true), Outage.databaseAway.note(began: true))
        #expect(told == [full, nil, away, nil, Outage.databaseAway.note(began: false), nil])
    }

    private final class Notes: Sendable {
        let turns = Mutex<[Int]>([])
    }

    @Test func `Observers are told of a turn when the journal holds it, and once`() throws {
        let notes = Notes()
        let observer = TurnObserver<Shop> { _, _, turn in
            turn.number
        } deliver: { turn in
            notes.turns.withLock { $0.append(turn) }
        }
        var bench = try PartBench(observers: [observer])
        bench.commit()
        try bench.order(job("a"))
        #expect(notes.turns.withLock(\.self) == [])
        for _ in 1...2 {
            bench.commit()
            #expect(notes.turns.withLock(\.self) == [bench.turns.head])
        }
    }

    @Test func `What cannot be read gives no turn, and a broken limit ends the store`() throws {
        var bench = try PartBench()
        let (head, id, garbage) = (bench.turns.head, EffectID(turn: 1, ordinal: 0), [0xc1 as UInt8][...])
        let answer = Origin.effect(id, lease: Lease(start: 1, counter: 1), index: 0)
        let taken = try bench.turns.take(
            .answer(id), .message(EngineMessage(bytes: garbage, origin: answer, role: .closes, checkpoint: nil, root: 1)), answer,
            root: 1, now: at(9), &bench.out)
        guard case .unreadable = taken else { return #expect(Bool(false), "\(taken)") }
        let (after, time) = (bench.turns.head, bench.turns.state.time)
        #expect(after == head && time == at(0))
        // Its own message is what a program can always read.
        let firing = Origin.subscription(id, nominal: at(9))
        do throws(StopReason) {
            _ = try bench.turns.take(
                .firing(id), .message(EngineMessage(bytes: garbage, origin: firing, role: .open, checkpoint: nil, root: 0)), firing,
                root: nil, now: at(9), &bench.out)
            #expect(Bool(false), "the store goes on")
        } catch {
            guard case .groupLimit(.unencodable(let why, root: head + 1)) = error else { return #expect(Bool(false), "\(error)") }
            #expect(why.hasPrefix("the message of a subscription cannot be read again: "))
        }
    }

    @Test func `Whoever was missing when the store drained is not awaited at its next start`() throws {
        var bench = try PartBench()
        bench.turns.write(.workerJoined(workerID(1)), now: at(1))
        bench.turns.write(.started(number: 2, build: "test", schema: shop, seed: []), now: at(2))
        let (joined, missing) = (bench.turns.state.joined, bench.turns.state.missing)
        #expect(joined == [workerID(1)] && missing == [workerID(1): at(2)])
        bench.turns.write(.drained, now: at(3))
        let left = (bench.turns.state.joined, bench.turns.state.missing)
        #expect(left == ([], [:]))
    }

    @Test func `A worker that has left is not missing any more, and the others are`() throws {
        var bench = try PartBench()
        for number in [1, 2] as [UInt8] { bench.turns.write(.workerJoined(workerID(number)), now: at(1)) }
        bench.turns.write(.started(number: 2, build: "test", schema: shop, seed: []), now: at(2))
        bench.turns.write(.workerLeft(workerID(1)), now: at(3))
        let (joined, missing) = (bench.turns.state.joined, bench.turns.state.missing)
        #expect(joined == [workerID(2)] && missing == [workerID(2): at(2)])
    }
}
