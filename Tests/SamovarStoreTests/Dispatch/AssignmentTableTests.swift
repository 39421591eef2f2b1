import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Who has what, and in which order it was given.
@Suite struct AssignmentTableTests {
    let now = Timestamp(microseconds: 0)

    private func workerState(_ number: UInt64) -> Dispatcher.WorkerState {
        Dispatcher.WorkerState(
            WorkerID(high: 0, low: number), route: Route(listener: .work, id: [UInt8(number)]), heard: now)
    }

    private func give(_ turn: Int, to workerState: Dispatcher.WorkerState, _ places: inout AssignmentTable) throws {
        let effect = OpenEffect(id: EffectID(turn: turn, ordinal: 0), root: turn, payload: [], now: now)
        let inserted = places.insert(effect.id, since: now)
        let number = try #require(inserted)
        let lease = Lease(start: 1, counter: turn)
        places.give(effect, at: number, to: workerState, lease: lease, token: 0, meter: 0, attempt: 0, since: at(0))
    }

    private func turns(of workerState: Dispatcher.WorkerState, _ places: AssignmentTable) -> [Int] {
        places.effects(of: workerState).map(\.turn)
    }

    @Test func `A worker's effects are in the order in which it was given them, whichever end first`() throws {
        var places = AssignmentTable()
        let (one, other) = (workerState(1), workerState(2))
        for turn in [5, 3, 9, 1, 7] { try give(turn, to: turn == 9 ? other : one, &places) }
        #expect(turns(of: one, places) == [5, 3, 1, 7])
        #expect(turns(of: other, places) == [9])

        for (ended, left) in [(3, [5, 1, 7]), (7, [5, 1]), (5, [1]), (1, [])] {
            let row = places.remove(EffectID(turn: ended, ordinal: 0))
            #expect(row?.workerState === one)
            #expect(turns(of: one, places) == left)
        }
        #expect(turns(of: other, places) == [9])
    }

    @Test func `A row that is free is used again, and belongs to its new effect alone`() throws {
        var places = AssignmentTable()
        let (one, other) = (workerState(1), workerState(2))
        for turn in 1...3 { try give(turn, to: one, &places) }
        _ = places.remove(EffectID(turn: 2, ordinal: 0))
        try give(4, to: other, &places)
        try give(5, to: one, &places)
        #expect(turns(of: one, places) == [1, 3, 5])
        #expect(turns(of: other, places) == [4])
        #expect(places.count == 4)
    }

    @Test func `An effect has one row, however often it comes to wait`() throws {
        var places = AssignmentTable()
        try give(1, to: workerState(1), &places)
        let again = places.insert(EffectID(turn: 1, ordinal: 0), since: now)
        #expect(again == nil)
        #expect(places.count == 1)
        let number = try #require(places.number(of: EffectID(turn: 1, ordinal: 0)))
        #expect(places[number].lease == Lease(start: 1, counter: 1))
    }

    @Test(arguments: [1, 2, UInt64.random(in: .min ... .max)])
    func `Whatever waits, is given and ends, each row is that of one effect, and each worker has its own in order`(
        seed: UInt64
    ) throws {
        print("seed \(seed)")
        var random = Random(seed: seed)
        var places = AssignmentTable()
        let workers = (1...3).map { workerState($0) }
        var given: [[Int]] = [[], [], []]
        var waiting: [(turn: Int, number: Int)] = []
        var most = 0
        for turn in 1...3_000 {
            let inserted = places.insert(EffectID(turn: turn, ordinal: 0), since: at(Double(turn)))
            waiting.append((turn, try #require(inserted)))
            most = max(most, places.count)
            #expect(waiting[waiting.count - 1].number < most, "no more rows than there were effects at once")
            // Now and then most of them end, and many rows are free.
            for _ in 0..<Int.random(in: 0...(turn.isMultiple(of: 100) ? 500 : 2), using: &random) {
                let one = Int.random(in: 0..<3, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0..<3 where !waiting.isEmpty:
                    let (turn, number) = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
                    let effect = OpenEffect(id: EffectID(turn: turn, ordinal: 0), root: turn, payload: [], now: now)
                    #expect(places.isWaiting(effect.id, at: number) && places[number].since == at(Double(turn)))
                    places.give(
                        effect, at: number, to: workers[one], lease: Lease(start: 1, counter: turn), token: 0, meter: 0,
                        attempt: 0, since: at(0))
                    given[one].append(turn)
                case 3 where !given[one].isEmpty:
                    let turn = given[one].remove(at: Int.random(in: 0..<given[one].count, using: &random))
                    let former = places.remove(EffectID(turn: turn, ordinal: 0))
                    #expect(former?.workerState === workers[one] && former?.lease.counter == turn)
                case 4 where !waiting.isEmpty:
                    let (turn, number) = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
                    let former = places.remove(EffectID(turn: turn, ordinal: 0))
                    #expect(former != nil && former?.workerState == nil)
                    #expect(!places.isWaiting(EffectID(turn: turn, ordinal: 0), at: number))
                default: break
                }
            }
            guard turn.isMultiple(of: 50) else { continue }
            for (worker, turns) in zip(workers, given) { #expect(self.turns(of: worker, places) == turns) }
            let known = Set(given.joined()).union(waiting.map(\.turn))
            #expect(Set(places.taken.compactMap { $0.effect?.turn }) == known && places.count == known.count)
        }
    }
}
