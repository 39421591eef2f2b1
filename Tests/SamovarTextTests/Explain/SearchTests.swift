import MessagePack
import ProcessSupport
import SamovarCore
import SamovarStore
import SamovarWire
import Testing

@testable import SamovarText

/// `why` and `bisect` against those who look at every state, on pasts made at random.
@Suite struct SearchTests {
    /// Fixed ones, and one that nobody has seen.
    static let seeds: [UInt64] = [1, 2, 3, .random(in: 0...UInt64.max)]
    private static let paths = ["state", "state.n", "state.list[1]", "state.map.x", "state.list", "view.n"]

    @Test(arguments: seeds)
    func `The last change is the one that a look at every state finds`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<100 {
            let past = try ListedPast(&random)
            let known = past.span.known
            for text in Self.paths {
                let path = try ValuePath(parsing: text)
                let end = Int.random(in: known, using: &random)
                // By turn; before the first there is nothing.
                let parts = try past.states.map { try path.find(in: $0.encoded) }
                let values: [MessagePackValue?] = try [nil] + parts.map { try $0.map { try EncodedPart(bytes: $0).decoded() } }
                let expected = Self.changes(of: values, after: known.lowerBound, through: end).last
                let place: Comment = "seed \(seed), round \(round), \(text) as of \(end) in \(past.span)"
                let search = ChangeSearch(path: path, turn: end, firstPart: .random(in: 1...4, using: &random))
                switch try search.last(in: past) {
                case .since(let change):
                    #expect(change.record.turn == expected ?? 1, place)
                    #expect(try change.after?.decoded() == values[end], place)
                    #expect(try change.before?.decoded() == values[change.record.turn - 1], place)
                case .unchanged(let since, let part):
                    #expect(expected == nil && since == known.lowerBound && since > 1, place)
                    #expect(try part.decoded() == values[end], place)
                case .never(let words):
                    #expect(expected == nil && values[end] == nil, place)
                    #expect(words.hasPrefix("there is no \(path.root)"), place)
                }
            }
        }
    }

    @Test(arguments: seeds)
    func `All changes are those between states that differ`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<50 {
            let past = try ListedPast(&random)
            let known = past.span.known
            let path = try ValuePath(parsing: "state.n")
            let values: [MessagePackValue?] = [nil] + past.states.map { $0["n"] }
            let before = known.lowerBound == 1 ? 0 : known.lowerBound
            let expected = Self.changes(of: values, after: before, through: known.upperBound)
            var found: [Int] = []
            _ = try ChangeSearch(path: path).all(in: past) { found.append($0.record.turn) }
            #expect(found == expected, "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: seeds)
    func `What is asked as of a turn that is not known is refused before any change is told`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let past = try ListedPast(&random)
        for turn in [past.span.known.lowerBound - 1, past.span.known.upperBound + 1, .max] {
            let search = ChangeSearch(path: try ValuePath(parsing: "state"), turn: turn)
            #expect(throws: ListedPast.WrongTurn.self) { try search.last(in: past) }
            #expect(throws: ListedPast.WrongTurn.self) {
                try search.all(in: past) { Issue.record("turn \($0.record.turn) is told") }
            }
        }
    }

    @Test(arguments: seeds)
    func `A bisection finds the first turn of all after which it is true`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<100 {
            let past = try ListedPast(&random)
            let known = past.span.known
            let from = Int.random(in: known, using: &random)
            let to = Int.random(in: from...known.upperBound, using: &random)
            let goals: [(Bisection.Goal, (MessagePackValue) -> Bool)] = [
                (.expression(try Predicate(parsing: "state.n == 3")), { $0["n"] == .int(3) }),
                (
                    .expression(try Predicate(parsing: "state.list == null && view.n > 0")),
                    { Self.isPositive($0["n"]) && $0["list"] == nil }
                ),
                (.broken(invariant: 0), { $0["n"] == .int(3) }),
            ]
            for (goal, isTrue) in goals {
                let expected = (from...to).first { isTrue(past.states[$0 - 1]) }
                let place: Comment = "seed \(seed), round \(round), \(from) to \(to) in \(past.span)"
                // The record of the first turn that is known is not always kept.
                if let expected, try past.record(of: expected) == nil {
                    #expect(throws: CommandFailure.self, place) { try Bisection(goal: goal, from: from, to: to).run(on: past) }
                    continue
                }
                switch try Bisection(goal: goal, from: from, to: to).run(on: past) {
                case .found(let finding):
                    #expect(finding.record.turn == expected, place)
                    #expect(finding.isFirst == (expected == from), place)
                case .never(let turns, _):
                    #expect(expected == nil && turns == from...to, place)
                }
            }
        }
    }

    @Test(arguments: seeds)
    func `The first turn that breaks an invariant is found, if its record is kept`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<100 {
            let past = try ListedPast(&random)
            let broken = past.span.known.first { past.states[$0 - 1]["n"] == .int(3) }
            let breaches = try Breach.first(of: ["not three"], in: past)
            let place: Comment = "seed \(seed), round \(round)"
            // That of a snapshot has none: then it is the next turn that may have changed something.
            if let broken, try past.record(of: broken) != nil {
                #expect(breaches.map { $0.record.turn } == [broken], place)
                #expect(breaches.first?.text.hasSuffix("breaks the invariant “not three”") == true, place)
            } else if broken == nil {
                #expect(breaches.isEmpty, place)
            }
        }
    }

    private static func changes(of values: [MessagePackValue?], after first: Int, through last: Int) -> [Int] {
        var turns: [Int] = []
        var turn = first + 1
        while turn <= last {
            if values[turn] != values[turn - 1] { turns.append(turn) }
            turn += 1
        }
        return turns
    }

    private static func isPositive(_ value: MessagePackValue?) -> Bool {
        if case .int(let number) = value { number > 0 } else { false }
    }

    @Test func `Causes go up to what came from outside, and always to earlier turns`() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<100 {
            let past = try ListedPast(&random)
            for record in past.records {
                let causes = CauseChain(of: record) { past.records[$0 - 1] }.causes
                #expect(causes.last?.turn == nil)
                let turns = [record.turn] + causes.compactMap { $0.turn }
                #expect(zip(turns, turns.dropFirst()).allSatisfy(>))
            }
        }
    }

    @Test func `Of many changes each has its twenty nearest causes, and says where it stopped`() throws {
        let past = try ListedPast(chainOf: 30)
        let search = ChangeSearch(path: try ValuePath(parsing: "state.n"))
        var found: [ChangeSearch.Change] = []
        #expect(try search.all(in: past) { found.append($0) } == nil)
        #expect(found.map(\.record.turn) == Array(1...30))
        #expect(found[20].causes.causes.compactMap(\.turn) == Array((1...20).reversed()))
        #expect(found[20].causes.causes.last?.text == "start of the timeline", "all that there are")
        #expect(found[29].causes.causes.compactMap(\.turn) == Array((10...29).reversed()))
        #expect(found[29].causes.causes.last?.text == "… and more causes before turn 10, up to turn 1")
        guard case .since(let change) = try search.last(in: past) else {
            Issue.record("there is a change")
            return
        }
        #expect(change.causes.causes.count == 30 && change.causes.causes.last?.text == "start of the timeline")
    }

    @Test func `A span names the turns that are known and the pieces between snapshots`() throws {
        let whole = try #require(PastSpan(first: 1, last: 9, snapshots: [7, 4]))
        #expect(whole.known == 1...9)
        #expect(whole.pieces(through: 9).map { [$0.from, $0.through] } == [[7, 9], [4, 7], [1, 4]])
        #expect(whole.pieces(through: 4).map { [$0.from, $0.through] } == [[1, 4]])
        #expect(whole.goesOn(from: 5, to: 6) && !whole.goesOn(from: 5, to: 8) && !whole.goesOn(from: 5, to: 4))
        let trimmed = try #require(PastSpan(first: 5, last: 9, snapshots: [7, 4, 2]))
        #expect(trimmed.known == 4...9 && trimmed.snapshots == [4, 7])
        #expect(PastSpan(first: 1, last: 0, snapshots: []) == nil)
        #expect(PastSpan(first: 5, last: 9, snapshots: [3]) == nil)
    }
}
