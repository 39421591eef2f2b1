import MessagePack
import ProcessSupport
import SamovarCore
import Testing

@testable import SamovarTerminal

/// A person at a terminal, as transcripts.
private struct Person {
    var machine: PanelMachine
    var terminal: TerminalDouble
    var now = Timestamp(microseconds: 0)
    var sent: [MessagePackValue] = []
    var numbers: [Int] = []
    var hasLeft = false
    var turn = 0

    init(columns: Int = 60, rows: Int = 8, _ limits: PanelLimits = PanelLimits()) {
        let size = GridSize(columns: columns, rows: rows)
        machine = PanelMachine(size: size, theme: Theme(hasColours: true), limits: limits)
        terminal = TerminalDouble(columns: size.columns, rows: size.rows) {
            Glyph.glyphs(of: String($0), PanelLimits()).reduce(0) { $0 + $1.width }
        }
        perform(machine.redraw())
    }

    mutating func perform(_ actions: [PanelMachine.Action]) {
        for action in actions {
            switch action {
            case .write(let bytes): terminal.take(String(decoding: bytes, as: UTF8.self))
            case .send(let number, let input):
                numbers.append(number)
                sent.append(input)
            case .lookUp: break
            case .leave: hasLeft = true
            }
        }
        #expect(terminal.unknown.isEmpty)
        #expect(terminal.modes.keys.allSatisfy { $0 == 25 })
        #expect(terminal.cells.map { $0.joined().trimmedEnd } == machine.lines)
    }

    mutating func see(_ nodes: [PanelNode<Order>]) throws {
        turn += 1
        perform(machine.shown(try read(Panel("", nodes)), turn: turn, now: now))
    }

    mutating func type(_ text: String) { perform(machine.typed(Array(text.utf8), now: now)) }
    mutating func wait(_ duration: Duration) { now = now + duration }
    mutating func answer(_ answer: PanelMachine.Answer) { perform(machine.answered(numbers.last ?? 0, answer)) }

    var lines: [String] { machine.lines }
    var status: String { machine.lines.last ?? "" }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

@Suite struct PanelMachineTests {
    @Test func `A person sees the panel, presses a button, and sees the receipt`() throws {
        var person = Person()
        #expect(person.lines.first == "waiting for the first view …")
        try person.see([.text("count 0"), .button("+1", send: .increment)])
        #expect(person.lines.prefix(2) == ["count 0", "1 [+1]"])
        #expect(person.status.hasSuffix("tab next · enter press · q leave"))
        person.type("\t\r")
        #expect(person.sent == [try value(.increment)])
        #expect(person.status.hasPrefix("+1: sent …"))
        person.answer(.applied(turn: 2))
        #expect(person.status.hasPrefix("+1: applied in turn 2"))
        try person.see([.text("count 1"), .button("+1", send: .increment)])
        #expect(person.lines.first == "count 1")
        person.type(" ")
        #expect(person.sent.count == 2)
        person.answer(.refused(#"{"busy":{}}"#, turn: 7))
        #expect(person.status.hasPrefix(#"+1: refused: {"busy":{}}"#))
        person.type("q")
        #expect(person.hasLeft)
    }

    @Test func `Digits press the first nine buttons`() throws {
        var person = Person(rows: 15)
        try person.see((1...11).map { .button("b\($0)", send: .remove(id: $0)) })
        #expect(person.lines[8] == "9 [b9]")
        #expect(person.lines[9] == "[b10]")
        person.type("9")
        person.type("0")
        #expect(person.sent == [try value(.remove(id: 9))])
    }

    @Test func `What is typed into a field is sent, and stays until it is applied`() throws {
        var person = Person()
        try person.see([.field("Name", holds: "ada") { .rename(to: $0) }, .button("x", send: .increment)])
        #expect(person.lines[0] == "Name  ada")
        person.type("\t")
        #expect(person.terminal.isCursorShown)
        #expect((person.terminal.row, person.terminal.column) == (0, 6))
        person.type("gracq\u{7f}\u{1b}[D\u{1b}[D\u{1b}[DX1\u{1b}[H\u{1b}[3~G")
        #expect(person.lines[0] == "Name  GX1rac")
        person.type("\u{1b}[Fe\r")
        #expect(person.sent == [try value(.rename(to: "GX1race"))])
        person.answer(.refused("no", turn: 7))
        #expect(person.lines[0] == "Name  GX1race")
        person.type("\r")
        person.answer(.applied(turn: 3))
        #expect(person.lines[0] == "Name  ada")
    }

    @Test func `What a field holds is replaced by an empty text only if somebody has emptied it`() throws {
        var person = Person()
        try person.see([.field("Name", holds: "ada") { .rename(to: $0) }])
        person.type("\t\r")
        #expect(person.sent.isEmpty && person.lines.contains { $0.contains("Name: nothing was typed") })
        person.type("x\u{7f}")
        #expect(!person.lines[0].contains("ada"))
        person.type("\r")
        #expect(person.sent == [try value(.rename(to: ""))])
        person.answer(.applied(turn: 3))
        #expect(person.lines[0] == "Name  ada")
    }

    @Test func `What was typed after sending is kept`() throws {
        var person = Person()
        try person.see([.field("Name") { .rename(to: $0) }])
        person.type("\tab\rc")
        person.answer(.applied(turn: 2))
        #expect(person.lines[0] == "Name  abc")
    }

    @Test func `A number field says what is no number, and sends nothing`() throws {
        var person = Person()
        try person.see([.integerField("Goal") { .add(count: $0) }])
        person.type("\t1x\r")
        #expect(person.sent.isEmpty)
        #expect(person.status.hasPrefix("Goal: “1x” is no whole number"))
        person.type("\u{7f}2\r")
        #expect(person.sent == [try value(.add(count: 12))])
    }

    @Test func `A paste is typing in a field and nothing anywhere else`() throws {
        var person = Person()
        try person.see([.field("Name") { .rename(to: $0) }, .button("x", send: .increment)])
        person.type("\u{1b}[200~q1\r\u{1b}[201~")
        #expect(person.sent.isEmpty)
        #expect(!person.hasLeft)
        person.type("\t\u{1b}[200~q1\r\u{1b}[31m\u{1b}[201~")
        #expect(person.lines[0] == "Name  q1[31m")
        #expect(person.sent.isEmpty)
    }

    @Test func `The focus stays with a button that moves`() throws {
        var person = Person()
        try person.see([.button("one", send: .remove(id: 1)), .button("two", send: .remove(id: 2))])
        person.type("\t\t")
        try person.see([.text("new"), .button("zero", send: .remove(id: 0)), .button("two", send: .remove(id: 2))])
        person.type("\r")
        #expect(person.sent == [try value(.remove(id: 2))])
    }

    @Test func `A button that has just taken the place of another cannot be pressed for a moment`() throws {
        var person = Person()
        let rows = { (ids: [Int]) in ids.map { PanelNode<Order>.button("remove", send: .remove(id: $0)) } }
        try person.see(rows([1, 2, 3]))
        person.type("\t")
        person.wait(.seconds(1))
        try person.see(rows([2, 3]))
        person.type("\r")
        #expect(person.sent.isEmpty)
        #expect(person.status.hasPrefix("the panel has just changed here: press again"))
        person.wait(.milliseconds(400))
        person.type("\r")
        #expect(person.sent == [try value(.remove(id: 2))])
    }

    @Test func `The digit of a button that has just moved presses nothing for a moment`() throws {
        var person = Person()
        let rows = { (ids: [Int]) in ids.map { PanelNode<Order>.button("remove", send: .remove(id: $0)) } }
        try person.see(rows([1, 2, 3]))
        person.wait(.seconds(1))
        try person.see(rows([2, 3]))
        person.type("1")
        #expect(person.sent.isEmpty)
        #expect(person.status.hasPrefix("the panel has just changed here: press again"))
        person.wait(.milliseconds(400))
        person.type("1")
        #expect(person.sent == [try value(.remove(id: 2))])
    }

    @Test func `Equal buttons are told apart by their order`() throws {
        var person = Person()
        try person.see([.button("a", send: .increment), .button("a", send: .increment)])
        person.type("\t\t")
        try person.see([.text("x"), .button("a", send: .increment), .button("a", send: .increment)])
        #expect(person.machine.focus?.index == 1)
    }

    @Test func `Tab and arrows go round, up and down go by what is seen`() throws {
        var person = Person()
        try person.see([
            .columns([.button("a", send: .remove(id: 1)), .button("b", send: .remove(id: 2))]),
            .columns([.button("c", send: .remove(id: 3)), .button("d", send: .remove(id: 4))]),
        ])
        let focus = { (keys: String) in
            person.type(keys)
            return person.machine.focus?.index
        }
        #expect(focus("\t") == 0)
        #expect(focus("\u{1b}[B") == 2)
        #expect(focus("\u{1b}[C") == 3)
        #expect(focus("\u{1b}[A") == 1)
        #expect(focus("\u{1b}[Z") == 0)
        #expect(focus("\u{1b}[Z") == 3)
        #expect(focus("\t") == 0)
    }

    @Test func `A long panel is scrolled by pages, and to the focus`() throws {
        var person = Person(rows: 5)
        try person.see((1...20).map { .text("line \($0)") } + [.button("end", send: .increment)])
        #expect(person.lines.prefix(4) == ["line 1", "line 2", "line 3", "line 4"])
        #expect(person.status.contains("lines 1–4 of 21"))
        person.type("\u{1b}[6~")
        #expect(person.lines.first == "line 5")
        person.type("\u{1b}[5~\u{1b}[5~")
        #expect(person.lines.first == "line 1")
        person.type("\t")
        #expect(person.lines[3] == "1 [end]")
        person.type("\u{1b}[H")
        #expect(person.lines.first == "line 1")
        try person.see([.text("short")])
        #expect(person.lines.first == "short")
    }

    @Test func `Escape clears a field, then leaves it`() throws {
        var person = Person()
        try person.see([.field("Name") { .rename(to: $0) }])
        person.type("\tab\u{1b}")
        #expect(person.machine.awaitsPause)
        person.perform(person.machine.paused(now: person.now))
        #expect(person.lines[0] == "Name")
        #expect(person.machine.focus != nil)
        person.type("\u{1b}")
        person.perform(person.machine.paused(now: person.now))
        #expect(person.machine.focus == nil)
        #expect(!person.terminal.isCursorShown)
    }

    @Test func `Q and digits are text in a field, and control-C leaves everywhere`() throws {
        var person = Person()
        try person.see([.field("Name") { .rename(to: $0) }])
        person.type("\tq1")
        #expect(!person.hasLeft)
        #expect(person.lines[0] == "Name  q1")
        person.type("\u{3}")
        #expect(person.hasLeft)
    }

    @Test func `Nothing more is sent while too much is unanswered`() throws {
        var person = Person()
        try person.see([.button("x", send: .increment)])
        person.type("\t" + String(repeating: "\r", count: 20))
        #expect(person.sent.count == PanelLimits().unanswered)
        #expect(person.status.hasPrefix("x: not sent, for 16 inputs have no receipt yet"))
        person.answer(.applied(turn: 2))
        person.type("\r")
        #expect(person.sent.count == PanelLimits().unanswered + 1)
    }

    @Test func `An answer to nothing changes nothing`() throws {
        var person = Person()
        #expect(person.machine.answered(99, .applied(turn: 1)) == [])
    }

    @Test func `A store that is away is told of, over what was there before`() throws {
        var person = Person()
        try person.see([.text("count 0")])
        person.perform(person.machine.stale())
        #expect(person.status.hasPrefix("no sign of the store; what is shown may be old"))
        person.perform(person.machine.live())
        #expect(!person.status.contains("no sign"))
    }

    @Test func `A view that changes one digit writes a few bytes`() throws {
        var machine = PanelMachine(size: GridSize(columns: 80, rows: 24), theme: Theme(hasColours: true))
        _ = machine.redraw()
        let panel = { (count: Int) in
            try read(Panel("Many", [.text("count \(count)")] + (1...20).map { .gauge("gauge \($0)", 0.5) }))
        }
        _ = machine.shown(try panel(1), turn: 1, now: Timestamp(microseconds: 0))
        guard case .write(let bytes)? = machine.shown(try panel(2), turn: 2, now: Timestamp(microseconds: 0)).first else {
            Issue.record("nothing was written")
            return
        }
        #expect(bytes.count < 20)
        #expect(machine.shown(try panel(2), turn: 3, now: Timestamp(microseconds: 0)) == [])
    }

    @Test func `Hostile texts never leave their place`() throws {
        var person = Person(columns: 40, rows: 6)
        let hostile = "\u{1b}]0;x\u{7}\u{1b}[2J\r\n\u{202e}" + String(repeating: "\u{301}", count: 1_000) + "😀世"
        try person.see([
            .text(hostile), .button(hostile, send: .increment), .field(hostile, holds: hostile) { .rename(to: $0) },
            .table([PanelColumn(hostile)], rows: [[.text(hostile)]]), .gauge(hostile, 1, in: 0...1, unit: hostile),
        ])
        person.type("\t\r")
        person.answer(.refused(hostile, turn: 7))
        person.answer(.failed(hostile))
        // `Person` compares what the terminal shows with the grid after each step, and refuses orders that are not ours.
        #expect(person.sent.count == 1)
    }

    @Test(arguments: [(1, 1), (2, 1), (1, 5), (3, 2), (500, 300), (0, 0), (-5, 9), (100_000, 100_000)])
    func `Any size of screen is drawn on`(columns: Int, rows: Int) throws {
        var machine = PanelMachine(size: GridSize(columns: columns, rows: rows), theme: Theme(hasColours: false))
        _ = machine.redraw()
        let panel = try read(
            Panel("Title", [.section("s", [.field("Name") { .rename(to: $0) }]), .button("世界", send: .increment)]))
        _ = machine.shown(panel, turn: 1, now: Timestamp(microseconds: 0))
        _ = machine.typed(Array("\t世\u{1b}[A\u{1b}[B".utf8), now: Timestamp(microseconds: 0))
        _ = machine.resized(to: GridSize(columns: 20, rows: 5))
        #expect(machine.lines.count == 5)
        #expect(machine.lines.allSatisfy { $0.count <= 20 })
    }

    @Test func `A person who presses anything at any view never meets a trap`() throws {
        var random = SystemRandomNumberGenerator()
        let keys = [
            "\t", "\r", " ", "\u{1b}[A", "\u{1b}[B", "\u{1b}[C", "\u{1b}[D", "\u{1b}[Z", "\u{1b}[5~", "\u{1b}[6~", "1", "5", "x",
            "世", "\u{7f}", "\u{c}",
        ]
        for _ in 0..<20 {
            var person = Person(columns: Int.random(in: 1...40), rows: Int.random(in: 1...10))
            for _ in 0..<15 {
                let nodes: [PanelNode<Order>] = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    let number = Int.random(in: 0...3, using: &random)
                    return switch number {
                    case 0: .button("b", send: .remove(id: Int.random(in: 0...3, using: &random)))
                    case 1: .field("f") { .rename(to: $0) }
                    case 2: .columns([.text("t"), .button("世界", send: .increment)])
                    default: .section("s", [.text("some words to wrap"), .integerField("n") { .add(count: $0) }])
                    }
                }
                try person.see(nodes)
                for _ in 0..<4 { person.type(keys.randomElement(using: &random) ?? "") }
                person.wait(.milliseconds(Int.random(in: 0...500, using: &random)))
                if Bool.random() { person.answer(.applied(turn: 1)) }
            }
        }
    }
}
