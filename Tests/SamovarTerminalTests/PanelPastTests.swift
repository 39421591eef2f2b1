import ProcessSupport
import SamovarCore
import Testing

@testable import SamovarTerminal

/// A person who looks at the past of a view, as transcripts.
@Suite struct PanelPastTests {
    /// The keys as a terminal sends them.
    private enum Keys {
        static let left = "\u{1b}[D"
        static let right = "\u{1b}[C"
        static let pageUp = "\u{1b}[5~"
        static let pageDown = "\u{1b}[6~"
        static let home = "\u{1b}[H"
        static let end = "\u{1b}[F"
    }

    private struct Person {
        var machine: PanelMachine
        var now = Timestamp(microseconds: 0)
        var asked: [Int] = []
        var sent = 0
        var hasLeft = false

        init(lacksPast: String? = nil, turn: Int = 500) throws {
            machine = PanelMachine(size: GridSize(columns: 80, rows: 8), theme: Theme(hasColours: true), lacksPast: lacksPast)
            try see(turn)
        }

        mutating func perform(_ actions: [PanelMachine.Action]) {
            for action in actions {
                switch action {
                case .write: break
                case .send: sent += 1
                case .lookUp(let turn): asked.append(turn)
                case .leave: hasLeft = true
                }
            }
        }

        /// A view comes from the store.
        mutating func see(_ turn: Int) throws {
            perform(machine.shown(try panel(turn), turn: turn, now: now))
            now = now + .seconds(1)
        }

        private func panel(_ turn: Int) throws -> AnyPanel {
            try read(Panel("", [.text("count \(turn)"), .button("+1", send: .increment)]))
        }

        mutating func type(_ text: String) { perform(machine.typed(Array(text.utf8), now: now)) }
        mutating func escape() {
            type("\u{1b}")
            perform(machine.paused(now: now))
        }

        /// The newest question is answered.
        mutating func answer() throws {
            guard let turn = asked.last else { return }
            perform(machine.past(try panel(turn), turn: turn, time: "12:00"))
        }

        mutating func fail(_ why: String) { perform(machine.pastFailed(why, now: now)) }

        var first: String { machine.lines.first ?? "" }
        var status: String { machine.lines.last ?? "" }
    }

    @Test func `Left leads back, right on, and what is shown says which turn it is, and that it is past`() throws {
        var person = try Person()
        #expect(person.status.hasSuffix("← past · tab next · enter press · q leave"))
        person.type(Keys.left)
        #expect(person.asked == [499] && person.first == "count 500")
        #expect(person.status.hasPrefix("looking up turn 499 …"))
        try person.answer()
        #expect(person.first == "count 499")
        #expect(person.status.hasPrefix("past: turn 499 of 500, 12:00"))
        #expect(person.status.hasSuffix("← → g · esc live"))
        person.type(Keys.left)
        try person.answer()
        person.type(Keys.right)
        try person.answer()
        #expect(person.asked == [499, 498, 499] && person.first == "count 499")
        person.type(Keys.right)
        #expect(person.asked.count == 3 && person.first == "count 500" && !person.status.contains("past:"))
    }

    @Test func `Pages are 100 turns, home is the first one, and nothing is before that`() throws {
        var person = try Person()
        person.type(Keys.left)
        try person.answer()
        person.type(Keys.pageUp)
        try person.answer()
        #expect(person.first == "count 399")
        person.type(Keys.home)
        try person.answer()
        #expect(person.first == "count 1")
        person.type(Keys.left)
        #expect(person.asked == [499, 399, 1] && person.first == "count 1")
        person.type(Keys.pageDown)
        try person.answer()
        #expect(person.first == "count 101")
    }

    @Test func `A turn is typed, mended, entered, or given up`() throws {
        var person = try Person()
        person.type("g12x")
        #expect(person.status.hasPrefix("go to turn: 12_"))
        person.type("\u{7f}7\r")
        #expect(person.asked == [17])
        try person.answer()
        #expect(person.first == "count 17")
        person.type("g9")
        person.escape()
        #expect(person.first == "count 17" && person.status.hasPrefix("past: turn 17"))
        person.type("g9999999999999999999999\r")
        #expect(person.first == "count 500" && person.asked == [17])
        person.type("g\r")
        #expect(person.first == "count 500" && person.asked == [17] && !person.status.contains("go to"))
    }

    @Test(arguments: [true, false])
    func `End and escape lead back to what is live, which went on meanwhile`(_ isEnd: Bool) throws {
        var person = try Person()
        person.type(Keys.left)
        try person.answer()
        try person.see(510)
        #expect(person.first == "count 499" && person.status.hasPrefix("past: turn 499 of 510"))
        if isEnd { person.type(Keys.end) } else { person.escape() }
        #expect(person.first == "count 510")
    }

    @Test func `Nothing can be pressed in the past, nor in the moment after it`() throws {
        var person = try Person()
        person.type(Keys.left)
        try person.answer()
        person.type("\t\r 1")
        #expect(person.sent == 0 && person.first == "count 499")
        person.type(Keys.end)
        person.type("1")
        #expect(person.sent == 0 && person.status.hasPrefix("the panel has just changed here: press again"))
        person.now = person.now + .seconds(1)
        person.type("1")
        #expect(person.sent == 1)
    }

    @Test func `Whoever holds a key down has one turn looked up at a time, and the newest wish after it`() throws {
        var person = try Person()
        person.type(String(repeating: Keys.left, count: 50))
        #expect(person.asked == [499])
        try person.answer()
        #expect(person.asked == [499, 450] && person.first == "count 499")
        try person.answer()
        #expect(person.first == "count 450" && person.asked.count == 2)
    }

    @Test func `An answer that comes when nobody looks back any more is not shown`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.type(Keys.end)
        try person.answer()
        #expect(person.first == "count 500")
        person.type(Keys.left)
        #expect(person.asked == [499, 499])
    }

    @Test func `What cannot be shown is said, and what was shown stays`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.fail("no journal")
        #expect(person.first == "count 500" && person.status.hasPrefix("no journal"))
        person.type(Keys.left)
        try person.answer()
        person.type(Keys.pageUp)
        person.fail("turn 399 is not kept any more")
        #expect(person.first == "count 499" && person.status.hasPrefix("turn 399 is not kept any more"))
        person.type(Keys.left)
        try person.answer()
        #expect(person.first == "count 498")
    }

    @Test func `The answer to a question that was given up is not shown while a turn is typed, and asks nothing`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.escape()
        person.type("g4")
        try person.answer()
        #expect(person.first == "count 500" && person.status.hasPrefix("go to turn: 4_") && person.asked == [499])
        person.escape()
        #expect(person.first == "count 500" && !person.status.contains("looking up") && person.asked == [499])
        person.type("g2\r")
        try person.answer()
        #expect(person.first == "count 2")
    }

    @Test func `A turn that is being typed outlives a failure, so that no digit of it presses a button`() throws {
        var person = try Person()
        person.type(Keys.left + "g")
        person.fail("no journal")
        person.type("1")
        #expect(person.sent == 0 && person.status.hasPrefix("go to turn: 1_"))
        person.type("\r")
        #expect(person.asked == [499, 1])
    }

    @Test func `A failure of a turn that is not wanted any more is not told, and the wanted one is looked up`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.escape()
        person.type("g2\r")
        person.fail("turn 499 is not kept any more")
        #expect(person.status.hasPrefix("looking up turn 2 …") && person.asked == [499, 2])
        try person.answer()
        #expect(person.first == "count 2")
    }

    @Test func `An answer to a question that was given up is not shown, though another turn is wanted by then`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.escape()
        person.type("g4\r")
        try person.answer()
        #expect(person.first == "count 500" && person.asked == [499, 4])
        person.fail("turn 4 is not kept any more")
        #expect(person.first == "count 500" && person.status.hasPrefix("turn 4 is not kept any more"))
    }

    @Test func `Back at the turn that is shown, an answer on the way is dropped, and nothing is asked again`() throws {
        var person = try Person()
        person.type(Keys.left)
        try person.answer()
        person.type(Keys.left)
        person.type(Keys.right)
        try person.answer()
        #expect(person.first == "count 499" && person.asked == [499, 498])
    }

    @Test(arguments: ["g\r\r", "g12\rfail\r", "g\u{1b}\r"]) func `Enter behind a look that came to nothing presses no button`(
        _ keys: String
    ) throws {
        var person = try Person()
        person.type("\t")
        person.now = person.now + .seconds(1)
        for key in keys.replacing("fail", with: "f") {
            switch key {
            case "f": person.fail("no journal")
            case "\u{1b}": person.escape()
            default: person.type(String(key))
            }
        }
        #expect(person.sent == 0)
        person.now = person.now + .seconds(1)
        person.type("\r")
        #expect(person.sent == 1)
    }

    @Test func `Where there is no past, the digits behind g press no button`() throws {
        var person = try Person(lacksPast: "no program here")
        person.now = person.now + .seconds(1)
        person.type("g12\r")
        #expect(person.sent == 0 && person.asked.isEmpty)
    }

    @Test func `Before the first turn there is nothing`() throws {
        var person = try Person(turn: 1)
        person.type(Keys.left)
        #expect(person.asked.isEmpty && person.first == "count 1" && !person.status.contains("past:"))
    }

    @Test func `Without a program the keys say that there is no past`() throws {
        var person = try Person(lacksPast: "no program here")
        #expect(!person.status.contains("past"))
        for keys in [Keys.left, "g"] {
            person.type(keys)
            #expect(person.status.hasPrefix("no program here") && person.asked.isEmpty && person.first == "count 500")
        }
    }

    @Test func `A field has its keys, and a button that has the focus keeps left and right`() throws {
        var person = try Person()
        person.type("\t" + Keys.left)
        #expect(person.asked.isEmpty)
        person.escape()
        person.type("q")
        #expect(person.hasLeft)
    }

    @Test func `Leaving works in the past as well`() throws {
        var person = try Person()
        person.type(Keys.left)
        person.type("q")
        #expect(person.hasLeft)
    }

    @Test func `Whatever is typed and answered, one question at most is open, and never beyond what is live`() throws {
        for seed: UInt64 in [1, 2, 3, 8_932_066_794_137_334_276, .random(in: 0...UInt64.max)] {
            var random = SeededRandom(seed: seed)
            var person = try Person(turn: 300)
            var live = 300
            var answered = 0
            let keys = [
                Keys.left, Keys.right, Keys.pageUp, Keys.pageDown, Keys.home, Keys.end, "g", "7", "\r", "\u{7f}", "\t", " ", "1",
            ]
            for _ in 0..<400 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    live += Int.random(in: 1...3, using: &random)
                    try person.see(live)
                case 1 where answered < person.asked.count:
                    answered += 1
                    try person.answer()
                case 2 where answered < person.asked.count:
                    answered += 1
                    person.fail("no")
                case 3: person.escape()
                default: person.type(keys.randomElement(using: &random) ?? "g")
                }
                #expect(person.asked.count - answered <= 1, "seed \(seed)")
                if let turn = person.asked.last { #expect((1..<live).contains(turn), "seed \(seed)") }
            }
        }
    }
}
