import MessagePack
import SamovarCore
import Testing

@testable import SamovarTerminal

@Suite struct FieldTemplateTests {
    private func template(_ node: PanelNode<Order>) throws -> FieldTemplate? {
        guard case .field(let field)? = try read(Panel("", [node])).nodes.first else { return nil }
        return FieldTemplate(field)
    }

    @Test func `What is typed takes the place at which the two inputs differ`() throws {
        #expect(try template(.field("f") { .rename(to: $0) })?.filled(with: "ada") == value(.rename(to: "ada")))
        #expect(try template(.integerField("f") { .add(count: $0) })?.filled(with: " -12 ") == value(.add(count: -12)))
        #expect(try template(.numberField("f") { .scale(by: $0) })?.filled(with: "1e3") == value(.scale(by: 1_000)))
    }

    @Test func `A text is handed on as it is, also one like the examples`() throws {
        let template = try #require(try template(.field("f") { .rename(to: $0) }))
        for text in ["", " a ", "b", "{\"x\":1}"] { #expect(try template.filled(with: text) == value(.rename(to: text))) }
    }

    @Test func `What is no number is refused`() throws {
        let integer = try #require(try template(.integerField("f") { .add(count: $0) }))
        for text in ["", "x", "1.5", "9223372036854775808"] {
            #expect(integer.filled(with: text) == nil)
        }
        let number = try #require(try template(.numberField("f") { .scale(by: $0) }))
        for text in ["", "nan", "inf", "1,5"] {
            #expect(number.filled(with: text) == nil)
        }
    }

    @Test func `A closure that changes its value is found out`() throws {
        #expect(try template(.field("f") { .rename(to: $0 + "!") }) == nil)
        #expect(try template(.integerField("f") { .add(count: $0 * 2) }) == nil)
        #expect(try template(.field("f") { _ in .increment }) == nil)
        #expect(try template(.integerField("f") { $0 == 1 ? .increment : .add(count: 2) }) == nil)
    }

    @Test func `The value may stand in several places, and what is equal in both inputs stays`() {
        let field = PanelField<MessagePackValue>(
            label: "f", kind: .text, holds: "", first: ["to": "a", "also": ["a", "a"], "fix": "a"],
            second: ["to": "b", "also": ["b", "b"], "fix": "a"])
        #expect(FieldTemplate(field)?.filled(with: "x") == ["to": "x", "also": ["x", "x"], "fix": "a"])
    }

    @Test func `A key is no place for a value`() {
        #expect(FieldTemplate(PanelField(label: "f", kind: .text, holds: "", first: ["a": nil], second: ["b": nil])) == nil)
    }
}
