import MessagePack
import SamovarCore
import SamovarTerminal
import Testing

@testable import SamovarWeb

/// What a press of a browser sends.
@Suite struct ShownPanelsTests {
    private static let later = Timestamp(microseconds: 10_000_000)

    private func button(_ label: String, _ input: MessagePackValue? = nil) -> AnyPanelNode {
        .button(label, send: input ?? .string(label))
    }

    private func shown(_ panels: AnyPanelNode...) -> ShownPanels {
        var shown = ShownPanels()
        for (index, node) in panels.enumerated() {
            shown.show(AnyPanel("", [node]), turn: index + 1, now: Timestamp(microseconds: 1_000_000))
        }
        return shown
    }

    private func refusal(_ answer: ShownPanels.Answer) -> String? {
        if case .refuse(let text) = answer { text } else { nil }
    }

    @Test func `A button sends the very value that the program wrote`() {
        let exact: MessagePackValue = ["of": .uint(.max), "and": .double(1)]
        let shown = shown(.columns([button("a"), .section("b", [button("c", exact)])]))
        #expect(shown.answer(to: .init(turn: 1, control: 0), now: Self.later) == .send("a"))
        #expect(shown.answer(to: .init(turn: 1, control: 1), now: Self.later) == .send(exact))
    }

    @Test func `A field sends what was typed, in its place`() {
        let field = PanelField<MessagePackValue>(
            label: "Goal", kind: .integer, holds: "10", first: ["setGoal": ["to": 1]], second: ["setGoal": ["to": 2]])
        let shown = shown(.field(field))
        #expect(shown.answer(to: .init(turn: 1, control: 0, text: " 12 "), now: Self.later) == .send(["setGoal": ["to": 12]]))
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0, text: "many"), now: Self.later)) == "that is no number")
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0), now: Self.later)) == "a field needs a text")
        let long = String(repeating: "1", count: 1_001)
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0, text: long), now: Self.later)) == "more than 1000 characters")
    }

    @Test func `A press names a view that is known and a control that it has`() {
        let shown = shown(button("a"))
        #expect(refusal(shown.answer(to: .init(turn: 7, control: 0), now: Self.later))?.contains("older view") == true)
        for control in [-1, 1, .max] {
            #expect(refusal(shown.answer(to: .init(turn: 1, control: control), now: Self.later)) == "there is no such control")
        }
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0, text: "x"), now: Self.later)) == "a button takes no text")
    }

    @Test func `Of an older view, a control is pressed wherever it stands now, and one that is gone is not`() {
        let shown = shown(.rows([button("a"), button("b")]), .rows([button("b")]))
        #expect(shown.answer(to: .init(turn: 1, control: 1), now: Self.later) == .send("b"))
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0), now: Self.later)) == "“a” is not there any more")
    }

    @Test func `What has just come to a place is not pressed by who meant what stood there`() {
        let shown = shown(.rows([button("a"), button("b")]), .rows([button("b")]))
        let soon = Timestamp(microseconds: 1_399_999)
        #expect(refusal(shown.answer(to: .init(turn: 2, control: 0), now: soon))?.contains("has just come") == true)
        #expect(shown.answer(to: .init(turn: 2, control: 0), now: soon + .microseconds(1)) == .send("b"))
    }

    @Test func `A control that stays where it is may be pressed while others change`() {
        let shown = shown(.rows([button("a"), button("b")]), .rows([button("a"), button("c")]))
        #expect(shown.answer(to: .init(turn: 2, control: 0), now: Timestamp(microseconds: 1_000_000)) == .send("a"))
    }

    @Test func `So many views are kept and no more, and none of another timeline`() {
        var shown = ShownPanels()
        for turn in 1...ShownPanels.limit + 1 { shown.show(AnyPanel("", [button("a")]), turn: turn, now: Self.later) }
        #expect(refusal(shown.answer(to: .init(turn: 1, control: 0), now: Self.later + .seconds(1)))?.contains("older") == true)
        #expect(shown.answer(to: .init(turn: 2, control: 0), now: Self.later + .seconds(1)) == .send("a"))
        shown.forget()
        #expect(refusal(shown.answer(to: .init(turn: 2, control: 0), now: Self.later + .seconds(1)))?.contains("older") == true)
        shown.show(AnyPanel("", [button("b")]), turn: 2, now: Self.later)
        #expect(
            refusal(shown.answer(to: .init(turn: 2, control: 0), now: Self.later))?.contains("just come") == true, "a was there")
    }
}
