import ProcessSupport
import MessagePack
import Testing

@testable import SamovarCommands

@Suite struct ValueChangesTests {
    private func lines(_ before: MessagePackValue, _ after: MessagePackValue) -> [String] {
        ValueChanges(from: before, to: after, at: ValuePath(root: .state)).lines
    }

    @Test func `An insertion at the front of a sequence is one line`() {
        #expect(lines(["l": .array([1, 2, 3])], ["l": .array([9, 1, 2, 3])]) == ["state.l[0]: nothing → 9"])
        #expect(lines(["l": .array([9, 1, 2, 3])], ["l": .array([1, 2, 3])]) == ["state.l[0]: 9 → nothing"])
        #expect(lines(["l": .array([1, 2, 3, 4])], ["l": .array([1, 3, 4])]) == ["state.l[1]: 2 → nothing"])
    }

    @Test func `A changed element is compared with what it was`() {
        #expect(
            lines(.array([["a": 1, "b": 2], 5]), .array([7, ["a": 1, "b": 3], 5]))
                == ["state[0]: {\"a\":1,\"b\":2} → 7", "state[1]: nothing → {\"a\":1,\"b\":3}"])
        #expect(lines(.array([1, ["a": 1, "b": 2]]), .array([1, ["a": 1, "b": 3]])) == ["state[1].b: 2 → 3"])
    }

    @Test func `Keys that come and go, odd ones in quotes`() {
        #expect(
            lines(["a": 1, "odd key": 2], ["b": nil, "odd key": 3])
                == ["state.a: 1 → nothing", "state.b: nothing → null", "state[\"odd key\"]: 2 → 3"])
        #expect(lines(["a": 1], ["a": 1]).isEmpty)
        #expect(lines(["a": .double(.nan)], ["a": .double(.nan)]).isEmpty)
        #expect(lines(["a": .map([])], ["a": ["b": 1]]) == ["state.a: {} → {\"b\":1}"])
    }

    @Test func `Parts and values are bounded, and it is said`() {
        let old = MessagePackValue.map((0..<2_000).map { MessagePackPair(.string("k\($0)"), 0) })
        let new = MessagePackValue.map((0..<2_000).map { MessagePackPair(.string("k\($0)"), 1) })
        let all = lines(old, new)
        #expect(all.count == 1_001 && all.last == "… and more: only the first 1000 parts are shown")
        let long = lines(["a": 1], ["a": .string(String(repeating: "x", count: 100_000))])
        #expect(long.count == 1 && long[0].utf8.count < 66_000 && long[0].hasSuffix("… (cut: it has 100002 bytes)"))
    }

    @Test(arguments: SearchTests.seeds)
    func `An alignment leads from one sequence to the other, with as many equal elements as can be`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let one = few(&random)
            let other = few(&random)
            let pairs = Alignment.pairs(of: one, and: other)
            var (old, new, equal) = ([Int](), [Int](), 0)
            for pair in pairs {
                switch pair {
                case .both(let i, let j):
                    old.append(i)
                    new.append(j)
                    if one[i] == other[j] { equal += 1 }
                case .removed(let i): old.append(i)
                case .inserted(let j): new.append(j)
                }
            }
            #expect(old == Array(one.indices) && new == Array(other.indices), "seed \(seed): \(one) \(other) \(pairs)")
            #expect(equal >= longest(one[...], other[...]), "seed \(seed): \(one) \(other) \(pairs)")
        }
    }

    private func few(_ random: inout SeededRandom) -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<Int.random(in: 0...7, using: &random) { numbers.append(Int.random(in: 0...3, using: &random)) }
        return numbers
    }

    /// The length of a longest common subsequence, by trying all.
    private func longest(_ one: ArraySlice<Int>, _ other: ArraySlice<Int>) -> Int {
        guard let a = one.first, let b = other.first else { return 0 }
        if a == b { return 1 + longest(one.dropFirst(), other.dropFirst()) }
        return max(longest(one.dropFirst(), other), longest(one, other.dropFirst()))
    }

    @Test func `Long sequences without equal ends are compared place by place`() {
        let one = (0..<3_000).map { $0 }
        let other = (0..<3_000).map { $0 + 10_000 }
        #expect(Alignment.pairs(of: one, and: other) == (0..<3_000).map { .both($0, $0) })
    }
}
