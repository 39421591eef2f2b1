import ProcessSupport
import MessagePack
import Testing

@testable import SamovarText

@Suite struct ValueChangesTests {
    private func lines(_ before: MessagePackValue, _ after: MessagePackValue) throws -> [String] {
        try ValueChanges(from: before.encoded, to: after.encoded, at: ValuePath(root: .state)).lines
    }

    @Test func `An insertion at the front of a sequence is one line`() throws {
        #expect(try lines(["l": .array([1, 2, 3])], ["l": .array([9, 1, 2, 3])]) == ["state.l[0]: nothing → 9"])
        #expect(try lines(["l": .array([9, 1, 2, 3])], ["l": .array([1, 2, 3])]) == ["state.l[0]: 9 → nothing"])
        #expect(try lines(["l": .array([1, 2, 3, 4])], ["l": .array([1, 3, 4])]) == ["state.l[1]: 2 → nothing"])
    }

    @Test func `A changed element is compared with what it was`() throws {
        #expect(
            try lines(.array([["a": 1, "b": 2], 5]), .array([7, ["a": 1, "b": 3], 5]))
                == ["state[0]: {\"a\":1,\"b\":2} → 7", "state[1]: nothing → {\"a\":1,\"b\":3}"])
        #expect(try lines(.array([1, ["a": 1, "b": 2]]), .array([1, ["a": 1, "b": 3]])) == ["state[1].b: 2 → 3"])
    }

    @Test func `Keys that come and go, odd ones in quotes`() throws {
        #expect(
            try lines(["a": 1, "odd key": 2], ["b": nil, "odd key": 3])
                == ["state.a: 1 → nothing", "state.b: nothing → null", "state[\"odd key\"]: 2 → 3"])
        #expect(try lines(["a": 1], ["a": 1]).isEmpty)
        #expect(try lines(["a": .double(.nan)], ["a": .double(.nan)]).isEmpty)
        #expect(try lines(["a": .map([])], ["a": ["b": 1]]) == ["state.a: {} → {\"b\":1}"])
    }

    @Test func `Parts and values are bounded, and it is said`() throws {
        let old = MessagePackValue.map((0..<2_000).map { MessagePackPair(.string("k\($0)"), 0) })
        let new = MessagePackValue.map((0..<2_000).map { MessagePackPair(.string("k\($0)"), 1) })
        let all = try lines(old, new)
        #expect(all.count == 1_001 && all.last == "… and more: only the first 1000 parts are shown")
        let long = try lines(["a": 1], ["a": .string(String(repeating: "x", count: 100_000))])
        #expect(long.count == 1 && long[0].utf8.count < 66_000 && long[0].hasSuffix("… (cut: it has 100005 bytes)"))
    }

    @Test(arguments: SearchTests.seeds)
    func `The changes made to the former value give the later one, and none can be told of a smaller part`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<1_000 {
            let isSorted = Bool.random(using: &random)
            let old = RandomValue.any(3, isSorted, &random)
            let new = Bool.random(using: &random) ? RandomValue.any(3, isSorted, &random) : RandomValue.another(old, &random)
            let changes = try ValueChanges(from: old.encoded, to: new.encoded, at: ValuePath(root: .state)).changes
            let place: Comment = "seed \(seed), round \(round): \(old) \(new)"
            let parts = try changes.map {
                RandomValue.Part(steps: $0.path.steps[...], before: try $0.before?.decoded(), after: try $0.after?.decoded())
            }
            #expect(RandomValue.sorted(RandomValue.making(parts, of: old)) == RandomValue.sorted(new), place)
            #expect(parts.allSatisfy { !RandomValue.haveParts($0.before, $0.after) && $0.before != $0.after }, place)
        }
    }

    @Test func `What is between the equal ends of long sequences is compared place by place, and parts are counted all the same`()
        throws
    {
        let old = (0..<3_000).map { MessagePackValue.int($0) }
        let new = [-1] + (0..<3_000).map { MessagePackValue.int($0 % 2_999 == 0 ? $0 : $0 + 10_000) }
        let changes = try ValueChanges(
            from: MessagePackValue.array(old).encoded, to: MessagePackValue.array(new).encoded, at: ValuePath(root: .state))
        #expect(changes.isCut && changes.changes.count == 1_000)
        #expect(changes.lines.first == "state[0]: 0 → -1" && changes.lines[1] == "state[1]: 1 → 0")
    }

    @Test func `Of a part that is large only the beginning is read`() throws {
        let long = MessagePackValue.array((0..<100_000).map { .int($0) })
        let line = try lines(["a": .array([])], ["a": long])[0]
        #expect(line.hasPrefix("state.a: [] → [0,1,2") && line.contains("… (cut: it has \(long.encoded.count) bytes)"))
        let one: MessagePackValue = 1
        let changes = try ValueChanges(from: one.encoded, to: long.encoded, at: ValuePath(root: .view)).changes
        let change = try #require(changes.first)
        #expect(change.value["isCut"] == true && change.value["before"] == 1)
        #expect(change.value["after"] == .string(ValueChanges.text(of: change.after)))
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

    @Test func `Long sequences without equal ends are compared place by place`() throws {
        let changed = try lines(.array((0..<3_000).map { .int($0) }), .array((0..<3_000).map { .int($0 + 10_000) }))
        #expect(Array(changed.prefix(1_000)) == (0..<1_000).map { "state[\($0)]: \($0) → \($0 + 10_000)" })
    }
}
