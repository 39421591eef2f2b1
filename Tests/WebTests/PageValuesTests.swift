import MessagePack
import ProcessSupport
import SamovarCore
import SamovarTerminal
import Testing

@testable import SamovarWeb

/// What browsers get of views.
@Suite struct PageValuesTests {
    private func node(_ random: inout SeededRandom, _ depth: Int) -> AnyPanelNode {
        let inner = (0..<(depth > 3 ? 0 : Int.random(in: 0...3, using: &random))).map { _ in node(&random, depth + 1) }
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return .button("b", send: .int(.random(in: 0...9, using: &random)))
        case 1: return .field(PanelField(label: "f", kind: .text, holds: "", first: "a", second: "b"))
        case 2: return .rows(inner)
        case 3: return .columns(inner)
        case 4: return .section("s", inner)
        case 5: return .table(inner.map { _ in PanelColumn("c") }, rows: [inner, inner])
        default: return .text("t")
        }
    }

    private func controls(_ value: MessagePackValue) -> [Int] {
        switch value {
        case .array(let elements): elements.flatMap(controls)
        case .map(let pairs):
            (value["control"].flatMap { if case .int(let n) = $0 { [Int(n)] } else { nil } } ?? [])
                + pairs.flatMap { controls($0.value) }
        default: []
        }
    }

    private func keys(_ value: MessagePackValue) -> [String] {
        switch value {
        case .array(let elements): elements.flatMap(keys)
        case .map(let pairs):
            pairs.flatMap { pair in
                if pair.key == "key", case .string(let key) = pair.value { [key] } else { keys(pair.value) }
            }
        default: []
        }
    }

    @Test func `A control keeps its key wherever it stands`() {
        let one = PageValues.value(of: AnyPanel("", [.button("a", send: "x"), .button("b", send: "x")]))
        let other = PageValues.value(of: AnyPanel("", [.text("new"), .rows([.button("b", send: "x")])]))
        #expect(keys(other) == [keys(one)[1]])
    }

    private func holdsInput(_ value: MessagePackValue) -> Bool {
        switch value {
        case .array(let elements): elements.contains(where: holdsInput)
        case .map(let pairs): value["send"] != nil || pairs.contains { holdsInput($0.value) }
        default: false
        }
    }

    @Test(arguments: [1, 2, UInt64.random(in: .min ... .max)])
    func `Each control of a panel has its place among all of them, and no input leaves`(seed: UInt64) {
        print("seed \(seed)")
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            let panel = AnyPanel("p", (0..<4).map { _ in node(&random, 0) })
            let value = PageValues.value(of: panel)
            #expect(controls(value) == Array(PanelControl.all(of: panel).indices))
            #expect(!holdsInput(value))
            #expect(Set(keys(value)).count == controls(value).count, "no two have the same key")
        }
    }

    @Test func `What is too long, too many or too deep is cut, and says so`() {
        let text = String(repeating: "ä", count: 40_000)
        #expect(PageValues.bounded(.string(text)) == .string(String(repeating: "ä", count: 32_768) + "… (80000 bytes)"))
        let many = MessagePackValue.array((0..<502).map { .int($0) })
        guard case .array(let shown) = PageValues.bounded(many) else { return #expect(Bool(false)) }
        #expect(shown.count == 501 && shown.last == "… 2 more")
        var deep: MessagePackValue = "core"
        for _ in 0..<40 { deep = .array([deep]) }
        var seen = PageValues.bounded(deep)
        var depth = 0
        while case .array(let elements) = seen, let first = elements.first { (seen, depth) = (first, depth + 1) }
        #expect(depth == PageValues.depth && seen == "… nested too deep")
        #expect(PageValues.bounded(["a": [1, "b", .nil]]) == ["a": [1, "b", .nil]])
    }

    @Test func `A whole number that a script would take for another one is a text with all its digits`() {
        let numbers: MessagePackValue = [
            .int(9_007_199_254_740_991), .int(9_007_199_254_740_993), .int(-9_007_199_254_740_991), .int(.min), .uint(.max),
        ]
        let shown: MessagePackValue = [
            .int(9_007_199_254_740_991), "9007199254740993", .int(-9_007_199_254_740_991), "-9223372036854775808",
            "18446744073709551615",
        ]
        #expect(PageValues.bounded(["id": numbers]) == ["id": shown])
    }

    @Test func `The numbers of a progress keep all their digits, too`() {
        func shown(_ progress: PanelProgress) -> [MessagePackValue] {
            guard case .array(let nodes)? = PageValues.value(of: AnyPanel("", [.progress(progress)]))["of"], let node = nodes.first
            else { return [] }
            return [node["done"], node["total"]].compactMap { $0 }
        }
        let large = PanelProgress(label: "p", done: 9_007_199_254_740_993, total: .max)
        #expect(shown(large) == ["9007199254740993", "9223372036854775807"])
        #expect(shown(PanelProgress(label: "p", done: 3, total: 9_007_199_254_740_991)) == [.int(3), .int(9_007_199_254_740_991)])
        #expect(shown(PanelProgress(label: "p", done: 3)) == [.int(3), .nil])
    }
}
