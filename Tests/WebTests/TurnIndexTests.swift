import MessagePack
import ProcessSupport
import SamovarCommands
import SamovarCore
import SamovarStore
import SamovarWire
import Testing

@testable import SamovarWeb

/// What the explorer answers of journals made at random, from an index that has come to any point, against a walk over all records.
@Suite struct TurnIndexTests {
    private static let seeds: [UInt64] = [1, 2, 3, UInt64.random(in: .min ... .max)]

    private func explorer() -> Explorer { Explorer(checkpoints: KeptCheckpoints()) }

    private func rows(_ answer: MessagePackValue) -> [Int] {
        guard case .array(let rows)? = answer["rows"] else { return [] }
        return rows.compactMap { $0.number("turn") }
    }

    private func filter(_ random: inout SeededRandom, of past: RandomPast) -> TurnFilter {
        var filter = TurnFilter()
        if Bool.random(using: &random) { filter.kind = TurnMark.Kind.allCases.randomElement(using: &random) }
        if Bool.random(using: &random) { filter.source = TurnMark.Source.allCases.randomElement(using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 { filter.root = past.all.randomElement(using: &random)?.root }
        if Int.random(in: 0..<4, using: &random) == 0 { filter.text = "M\(Int.random(in: 0..<9, using: &random))" }
        return filter
    }

    @Test(arguments: seeds)
    func `Pages of any filter, in either direction, are all turns that match, once`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededRandom(seed: seed)
        let past = RandomPast(count: 12_000, &random)
        var explorer = explorer()
        for _ in 0..<25 {
            // Some of the index is there, or all, or nothing.
            for _ in 0..<Int.random(in: 0...1, using: &random) { try explorer.work(in: past) { Int.random(in: 0..<3_000) == 0 } }
            let filter = filter(&random, of: past)
            let expected = past.all.filter(filter.matches).map(\.turn)
            let isUp = Bool.random(using: &random)
            let edge = Int.random(in: 1...past.all.count, using: &random)
            var found: [Int] = []
            var place = isUp ? ExplorerRequest.Place.after(edge) : .before(edge)
            while true {
                let answer = try explorer.answer(to: .turns(place, count: 37, filter), in: past) { Int.random(in: 0..<50) == 0 }
                let page = rows(answer)
                #expect(page == page.sorted(by: >) && page.count <= 37)
                found = isUp ? page + found : found + page
                let looked = try #require(answer.number("looked"))
                if isUp ? looked >= past.all.count : looked <= 1 { break }
                #expect(place != (isUp ? .after(looked) : .before(looked)), "it comes on")
                place = isUp ? .after(looked) : .before(looked)
            }
            #expect(found == expected.filter { isUp ? $0 > edge : $0 < edge }.reversed(), "\(filter)")
        }
    }

    @Test func `A search ends with the turn at which it has taken too long, and the next one goes on from there`() throws {
        var random = SeededRandom(seed: 8)
        let past = RandomPast(count: 3_000, &random)
        var explorer = explorer()
        var filter = TurnFilter()
        filter.text = "nothing has this"
        for isUp in [false, true] {
            var looked = isUp ? 0 : past.all.count + 1
            // However little time there is, it comes on.
            for turns in [0] + Array(repeating: 100, count: 100) where looked != (isUp ? past.all.count : 1) {
                let (begin, before) = (looked, past.read)
                let place = isUp ? ExplorerRequest.Place.after(looked) : .before(looked)
                let answer = try explorer.answer(to: .turns(place, count: 50, filter), in: past) { past.read > before + turns }
                // The last one is read, and not looked at any more.
                #expect(past.read - before <= turns + 1)
                looked = try #require(answer.number("looked"))
                #expect(isUp ? looked > begin : looked < begin)
            }
            #expect(looked == (isUp ? past.all.count : 1))
        }
        let before = past.read
        let answer = try explorer.answer(to: .causes(of: 1), in: past) { past.read > before + 100 }
        #expect(past.read - before == 101 && answer["isWhole"] == false)
    }

    @Test(arguments: seeds)
    func `What follows from a turn is found, with and without an index`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let past = RandomPast(count: 12_000, &random)
        var explorer = explorer()
        for isIndexed in [false, true] {
            while isIndexed, explorer.index.missing(of: past.span.known) != nil { try explorer.work(in: past) { false } }
            for _ in 0..<40 {
                let turn = Int.random(in: 1...past.all.count, using: &random)
                let answer = try explorer.answer(to: .causes(of: turn), in: past)
                guard case .array(let down)? = answer["down"] else { return #expect(Bool(false)) }
                #expect(down.compactMap { $0.number("turn") } == past.all.filter { $0.causeTurn == turn }.map(\.turn))
                #expect(answer["isWhole"] == true)
            }
        }
    }

    @Test(arguments: seeds)
    func `Each bucket counts what its turns are`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let past = RandomPast(count: Int.random(in: 1...12_000, using: &random), &random)
        var explorer = explorer()
        while explorer.hasWork(in: past) { try explorer.work(in: past) { Int.random(in: 0..<3_000) == 0 } }
        let density = explorer.index.density(of: past.span.known)
        #expect(density.refused.count <= TurnIndex.buckets && density.times.count == density.refused.count + 1)
        for bucket in density.refused.indices {
            let first = 1 + bucket * density.each
            let turns = past.all[(first - 1)..<min(first - 1 + density.each, past.all.count)]
            #expect(density.refused[bucket] == turns.filter { $0.kind == "refused" }.count)
            #expect(density.failed[bucket] == turns.filter { ["attemptFailed", "dead", "quarantined"].contains($0.kind) }.count)
            let time = try #require(density.times[bucket])
            let around = max(0, first - 1 - TurnIndex.timeStride)..<min(first + TurnIndex.timeStride, past.all.count)
            let near = past.all[around].map(\.time.microseconds)
            #expect(try #require(near.min()) <= time && time <= (try #require(near.max())))
        }
    }

    @Test func `Of turns that come evenly each bucket takes equally long, however few they are`() {
        var index = TurnIndex()
        for turn in 1...100 {
            let time = Timestamp(microseconds: Int64(turn) * 1_000_000)
            index.note(Record(turn: turn, time: time, origin: .store, root: turn, event: .drained))
        }
        let times = index.density(of: 1...100).times.compactMap { $0 }
        // The last bucket begins and ends with the newest turn.
        #expect(zip(times, times.dropFirst()).map { $1 - $0 } == Array(repeating: 1_000_000, count: 99) + [0])
    }

    @Test func `The index goes on where the journal has grown, and reads no turn twice`() throws {
        var random = SeededRandom(seed: 7)
        let past = RandomPast(count: 20_000, &random)
        var explorer = explorer()
        past.shown = 5_000
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(past.read == 5_000)
        past.shown = 20_000
        #expect(explorer.hasWork(in: past))
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(past.read == 20_000)
        // The newest block was known first.
        #expect(explorer.index.block(of: 20_000)?.last == 20_000)
    }

    @Test func `Blocks that are not known are read together, up to one that is`() throws {
        var random = SeededRandom(seed: 7)
        let past = RandomPast(count: 120_000, &random)
        var explorer = explorer()
        #expect(explorer.index.missing(of: 1...120_000) == 14 * 4_096 + 1...120_000)
        #expect(explorer.index.missing(of: 60_000...120_000) == 60_000...120_000)
        past.shown = 90_000
        try explorer.work(in: past) { false }
        // Of a block that is known in part, the rest; beyond it, what follows.
        #expect(explorer.index.missing(of: 1...120_000) == 22 * 4_096 + 1...120_000)
        past.shown = 120_000
        try explorer.work(in: past) { false }
        #expect(explorer.index.missing(of: 1...120_000) == 90_001...22 * 4_096)
    }

    @Test func `A set of turns forgets none and is seldom wrong`() {
        var set = TurnSet()
        #expect(!set.mayHold(1))
        for turn in 1...4_096 { set.insert(turn * 7) }
        #expect((1...4_096).allSatisfy { set.mayHold($0 * 7) })
        #expect((1...10_000).filter { set.mayHold($0 * 7 + 1) }.count < 1_500)
    }
}
