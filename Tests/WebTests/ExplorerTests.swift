import MessagePack
import ProcessSupport
import SamovarCommands
import SamovarCore
import SamovarText
import Testing

@testable import SamovarWeb

/// Which states the explorer computes, and from where.
@Suite struct ExplorerTests {
    private static let count = 350_000

    private func past(snapshots: [Int] = []) -> RandomPast {
        var random = SeededRandom(seed: 5)
        return RandomPast(count: Self.count, snapshots: snapshots, &random)
    }

    private func value(of turn: Int, _ explorer: inout Explorer, _ past: RandomPast) throws -> String? {
        let level = try explorer.answer(to: .state(turn, ValuePath(root: .state), from: 0), in: past)
        guard case .array(let children)? = level["children"] else { return nil }
        return children.first { $0.text("name") == "turn" }?.text("value")
    }

    @Test func `The record of the first turn that is known may be gone, and the index is whole without it`() throws {
        for last in [4_096, 5_000] {
            var random = SeededRandom(seed: 6)
            let past = RandomPast(count: last, snapshots: [4_096], &random)
            past.firstRecord = 4_097
            var explorer = Explorer(checkpoints: KeptCheckpoints())
            for _ in 0..<10 where explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
            #expect(!explorer.hasWork(in: past), "\(last)")
            #expect(try explorer.answer(to: .density, in: past)["isWhole"] == true, "\(last)")
        }
    }

    @Test func `A block of the index whose next turns were trimmed begins anew with what is kept`() throws {
        var random = SeededRandom(seed: 6)
        let past = RandomPast(count: 8_000, snapshots: [7_000], &random)
        past.shown = 5_000
        var explorer = Explorer(checkpoints: KeptCheckpoints())
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        (past.shown, past.firstRecord) = (8_000, 7_001)
        for _ in 0..<10 where explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(!explorer.hasWork(in: past))
        #expect(explorer.index.block(of: 8_000)?.turns == 7_001..<8_001)
        #expect(explorer.index.block(of: 5_000) == nil)
        // Each turn was read once.
        #expect(past.read == 6_000)
    }

    @Test func `What stood in the way is tried again when something else is asked`() throws {
        let past = past()
        past.failure = RandomPast.WrongTurn()
        var explorer = Explorer(checkpoints: KeptCheckpoints())
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(explorer.obstacle != nil)
        #expect(try explorer.answer(to: .density, in: past)["obstacle"] != .nil)
        past.failure = nil
        _ = try explorer.answer(to: .turn(1), in: past)
        #expect(explorer.hasWork(in: past))
    }

    @Test func `A folder that a store may want is indexed, and no state of it worked on`() throws {
        let past = past()
        var explorer = Explorer(checkpoints: KeptCheckpoints())
        while explorer.hasWork(in: past, keepingStates: false) { try explorer.work(in: past, keepingStates: false) { false } }
        #expect(past.applied.isEmpty && explorer.hasWork(in: past))
    }

    @Test func `Once it has worked, no state is further away than the distance of its checkpoints`() throws {
        let past = past()
        let checkpoints = KeptCheckpoints()
        var explorer = Explorer(checkpoints: checkpoints)
        while explorer.hasWork(in: past) { try explorer.work(in: past) { Int.random(in: 0..<50_000) == 0 } }
        #expect(checkpoints.turns.count == 3)
        for turn in [1, 99_999, 250_001, 120_000, Self.count] {
            past.forget()
            #expect(try value(of: turn, &explorer, past) == "\(turn)")
            #expect(past.applied.count <= CheckpointPlan.turns)
            #expect(past.applied.last ?? turn == turn)
        }
        // What another process has kept is gone on from.
        var next = Explorer(checkpoints: checkpoints)
        past.forget()
        #expect(try value(of: 310_000, &next, past) == "310000")
        #expect(past.applied.count <= CheckpointPlan.turns)
    }

    @Test func `What is trimmed while states are worked through is passed over`() throws {
        var random = SeededRandom(seed: 7)
        let past = RandomPast(count: Self.count, snapshots: [200_000], &random)
        let checkpoints = KeptCheckpoints()
        var explorer = Explorer(checkpoints: checkpoints)
        while past.applied.isEmpty { try explorer.work(in: past) { !past.applied.isEmpty } }
        past.firstRecord = 200_001
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(explorer.obstacle == nil)
        #expect(checkpoints.turns.contains { $0 > 200_000 }, "\(checkpoints.turns)")
    }

    @Test func `No state is computed through a turn that ended an explorer, and those beyond a snapshot behind it are`() throws {
        let past = past(snapshots: [150_000])
        var explorer = Explorer(checkpoints: KeptCheckpoints(), blocked: [120_000: "its replay did not end"])
        while explorer.hasWork(in: past) { try explorer.work(in: past) { false } }
        #expect(!past.applied.contains(120_000) && past.applied.contains(119_999))
        #expect(try value(of: 119_999, &explorer, past) == "119999")
        #expect(try value(of: 260_000, &explorer, past) == "260000")
        for turn in [120_000, 149_999] {
            let error = #expect(throws: ExplorerError.self) { _ = try value(of: turn, &explorer, past) }
            #expect(error?.description == "turn 120000: its replay did not end")
        }
        #expect(!past.applied.contains(120_000))
        // Its record is there for all that.
        #expect(try explorer.answer(to: .turn(120_000), in: past).number("turn") == 120_000)
    }

    @Test func `What is no request of a page is refused in words`() {
        for (path, query, words) in [
            ("turns/x", [:], "`turn` is the number"), ("turns/0", [:], "from 1"), ("turns/x/causes", [:], "`turn` is the number"),
            ("state", [:], "`turn` is the number"), ("state", ["turn": "1", "path": "state["], "column"),
            ("turns", ["kind": "odd"], "no such kind"), ("turns", ["origin": "odd"], "no such origin"),
            ("turns", ["text": .string(String(repeating: "a", count: 1_001))], "too long"),
            ("turns", ["root": "1.5"], "`root` is a whole number"), ("turns", ["root": "1e3"], "`root` is a whole number"),
            ("turns", ["before": "x"], "`before` is a whole number"), ("turns", ["after": "1.0"], "`after` is a whole number"),
            ("turns", ["count": ""], "`count` is a whole number"),
            ("state", ["turn": "1", "from": "x"], "`from` is a whole number"),
            ("turns/7/diff", ["from": "x"], "`before` is the number"), ("turns/1/diff", [:], "`before` is the number"),
        ] as [(String, MessagePackValue, String)] {
            let error = #expect(throws: ExplorerError.self) { _ = try request(path, query) }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        }
    }

    private func request(_ path: String, _ query: MessagePackValue = [:]) throws -> ExplorerRequest? {
        try ExplorerRequest(["path": .string("/api/v1/\(path)"), "query": query])
    }

    @Test func `A path is a question, or there is nothing at it`() throws {
        for path in ["weather", "turns/1/2", "turns/x/diff", "turns/0/diff", "state/1", "density/1", ""] {
            #expect(try request(path) == nil, "\(path)")
        }
        #expect(try ExplorerRequest(.nil) == nil)
        #expect(try request("turns/7") == .turn(7))
        #expect(try request("turns/7/causes") == .causes(of: 7))
        #expect(try request("turns/7/diff") == .diff(6, 7))
        #expect(try request("turns/7/diff", ["from": "2"]) == .diff(2, 7))
        #expect(try request("density") == .density)
        #expect(try request("turns", ["before": "9", "count": "1000"]) == .turns(.before(9), count: 200, TurnFilter()))
        // What is empty is not asked for.
        #expect(try request("turns", ["kind": "", "origin": "", "text": ""]) == .turns(.newest, count: 100, TurnFilter()))
        let path = ValuePath(root: .state)
        #expect(try request("state", ["turn": "3", "path": "", "from": "-1"]) == .state(3, path, from: 0))
    }

    @Test func `A level of a state has so many children and no more, and goes on from any`() throws {
        let list = MessagePackValue.array((0..<1_203).map { .int($0) })
        let state = (["list": list, "odd key": ["x": .string(String(repeating: "ä", count: 70_000))]] as MessagePackValue).encoded
        func level(_ path: String, _ from: Int = 0) throws -> MessagePackValue {
            try StateTree.level(of: try ValuePath(parsing: path), in: state, from: from)
        }
        for (from, count) in [(0, 500), (500, 500), (1_000, 203), (1_203, 0), (9_999, 0)] {
            let level = try level("state.list", from)
            guard case .array(let children)? = level["children"] else { return #expect(Bool(false)) }
            #expect(children.count == count && level.number("count") == 1_203)
            #expect(children.first?.text("path") == (count > 0 ? "state.list[\(from)]" : nil))
        }
        let odd = try level(#"state["odd key"]"#)
        guard case .array(let children)? = odd["children"] else { return #expect(Bool(false)) }
        #expect(children.first?.text("value")?.hasSuffix("…") == true)
        #expect(try level(#"state["odd key"].x"#).text("value")?.hasSuffix("… (140000 bytes)") == true)
        #expect(try level("state.lost").text("problem")?.contains("there is no state.lost") == true)
    }

    @Test func `A state that is a whole number keeps all its digits`() throws {
        let path = ValuePath(root: .state)
        let numbers: [(MessagePackValue, shown: MessagePackValue)] = [
            (.int(9_007_199_254_740_993), "9007199254740993"), (.uint(.max), "18446744073709551615"), (.int(7), .int(7)),
        ]
        for (number, shown) in numbers {
            #expect(try StateTree.level(of: path, in: number.encoded, from: 0)["value"] == shown)
        }
    }

    @Test func `Of too many checkpoints the one goes whose neighbours are nearest to each other`() {
        #expect(CheckpointPlan.dropped(of: [100, 200, 250, 400]) == 200)
        #expect(CheckpointPlan.dropped(of: []) == nil)
        #expect(CheckpointPlan(kept: [100_000]).isDue(199_999, bytes: 0) == false)
        #expect(CheckpointPlan(kept: [100_000]).isDue(200_000, bytes: 0))
        #expect(CheckpointPlan(kept: [100_000]).isDue(100_001, bytes: CheckpointPlan.messageBytes))
    }

    @Test func `Lines come whole, however they were cut`() throws {
        var lines = AnswerLines()
        let text = Array("{\"a\":1}\n{}\n".utf8)
        var taken: [String] = []
        for byte in text { taken += try [byte].withUnsafeBytes { try lines.take($0) } }
        #expect(taken == ["{\"a\":1}", "{}"])
        let noise = [UInt8](repeating: 65, count: ExplorerAnswers.maximumBytes + 1)
        #expect(throws: CommandFailure.self) { _ = try noise.withUnsafeBytes { try lines.take($0) } }
    }
}
