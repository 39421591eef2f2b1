import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The table of effects does what a dictionary does.
@Suite struct EffectMapTests {
    private func id(_ turn: Int, _ ordinal: Int = 0) -> EffectID { EffectID(turn: turn, ordinal: ordinal) }

    @Test func `It holds what a dictionary holds, whatever is entered and taken out`() {
        for seed in UInt64(1)...50 {
            var random = Random(seed: seed)
            // Few effects come and go often, many make the table grow.
            let variety = 1 << Int.random(in: 1...10, using: &random)
            var table = EffectMap<Int>()
            var model: [EffectID: Int] = [:]
            for step in 0..<3_000 {
                let id = id(Int.random(in: 0..<variety, using: &random), Int.random(in: 0...1, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let isNew = table.insert(step, for: id)
                    #expect(isNew == (model[id] == nil))
                    if isNew { model[id] = step }
                case 1:
                    table[id] = step
                    model[id] = step
                default:
                    let taken = table.removeValue(forKey: id)
                    #expect(taken == model.removeValue(forKey: id))
                }
                #expect(table[id] == model[id])
                #expect(table.count == model.count)
            }
            #expect(table.keys.sorted() == model.keys.sorted())
            #expect(table.values.sorted() == model.values.sorted())
            for (id, value) in model { #expect(table[id] == value) }
        }
    }

    @Test func `An entry is changed in place, and set to nil is taken out`() throws {
        var table = EffectMap<[Int]>()
        #expect(table.isEmpty && table[id(1)] == nil)
        table[id(1)] = [1]
        let place = try #require(table.place(of: id(1)))
        table.change(at: place) { $0.append(2) }
        #expect(table[id(1)] == [1, 2])
        table[id(1)] = nil
        #expect(table.isEmpty && table[id(1)] == nil && table.place(of: id(1)) == nil)
    }

    @Test func `The first effects of eight turns are neighbours, and further effects of one turn are spread`() {
        var turns = EffectMap<Int>()
        for turn in 8..<16 { turns[id(turn)] = turn }
        let neighbours = (8..<16).compactMap { turns.place(of: id($0)) }
        #expect(neighbours.count == 8 && zip(neighbours, neighbours.dropFirst()).allSatisfy { $0 + 1 == $1 })
        var effects = EffectMap<Int>()
        for ordinal in 1...64 { effects[id(1, ordinal)] = ordinal }
        let groups = Set((1...64).compactMap { effects.place(of: id(1, $0)) }.map { $0 / 8 })
        #expect(groups.count > 20)
    }

    @Test func `Tables are equal if they hold the same, in whichever order it came`() {
        var (one, other) = (EffectMap<Int>(), EffectMap<Int>())
        for turn in 0..<100 { one[id(turn)] = turn }
        for turn in (0..<2_000).reversed() { other[id(turn)] = turn }
        #expect(one != other)
        for turn in 100..<2_000 { other[id(turn)] = nil }
        #expect(one == other)
        other[id(7)] = 8
        #expect(one != other)
    }

    @Test(arguments: [0, 1, 40]) func `The number that nobody has is nobody's, also if a peer asks for it`(others: Int) {
        var table = EffectMap<Int>()
        for turn in 0..<others { table[id(turn)] = turn }
        #expect(table[id(.min, .min)] == nil)
        #expect(table.removeValue(forKey: id(.min, .min)) == nil)
        #expect(table.count == others)
    }

    @Test func `An effect that no turn can have ordered is not read from a snapshot`() throws {
        for turn in [0, 7, -1, Int.min] {
            var writer = MessagePackWriter()
            OpenEffect(id: id(turn), root: 0, payload: [1], now: at(0)).write(to: &writer)
            var reader = MessagePackReader(writer.bytes)
            if turn >= 0 {
                #expect(try OpenEffect(from: &reader).id == id(turn))
            } else {
                #expect(throws: WireError.malformed("\(turn)/0 is no effect")) { _ = try OpenEffect(from: &reader) }
            }
        }
    }
}
