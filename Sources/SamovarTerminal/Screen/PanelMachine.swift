package import MessagePack
package import SamovarCore

/// What a terminal shows of a panel, and what a person does there. It decides; a host reads keys, writes bytes and sends inputs.
///
/// Events are calls with the time, answers are actions. The panel comes and goes under the person's hands, so the focus belongs to a
/// control and not to a place: a button that has moved keeps it. If the control is gone, the one that took its place gets the focus,
/// but cannot be pressed for a moment (`PanelLimits.settling`), and the same holds for the digit of a button: nobody deletes the wrong
/// row because it has just moved up.
///
/// | event | without focus | a button has it | a field has it |
/// |---|---|---|---|
/// | tab, arrows | to the next control in this direction, else scroll | the same | the same; left and right move the cursor |
/// | enter | – | press | send what was typed |
/// | space | – | press | type |
/// | 1 to 9 | press the button with this key | the same | type |
/// | q | leave | leave | type |
/// | escape | – | no focus | clear, then no focus |
/// | a paste | – | – | type |
/// | page up, page down | scroll | scroll | scroll |
/// | control-L | draw anew | the same | the same |
/// | control-C, control-D | leave | leave | leave |
///
/// Left, without focus, and `g` lead to the past of the view, where other keys hold: see `PanelMachine+Past.swift`.
package struct PanelMachine: Sendable {
    package enum Action: Equatable, Sendable {
        case write([UInt8])
        /// Send this input, and say how it was answered under this number.
        case send(Int, MessagePackValue)
        /// Say what the view was as of this turn.
        case lookUp(Int)
        case leave
    }

    /// What became of an input, in words.
    package enum Answer: Equatable, Sendable {
        case applied(turn: Int)
        case refused(String, turn: Int)
        case failed(String)
    }

    struct Sent {
        let label: String
        /// The field whose text it was.
        var entry: (identity: PanelControl.Identity, text: String)?
    }

    struct Focus: Equatable {
        var index: Int
        /// When it came to this control without the person's doing; nil if it did not.
        var inherited: Timestamp?
    }

    /// A control at its place in the order, and since when it is there.
    struct Slot: Equatable {
        let control: PanelControl
        let since: Timestamp?
    }

    let limits: PanelLimits
    let theme: Theme
    var decoder: KeyDecoder
    var size: GridSize

    var panel = AnyPanel("", [.text("waiting for the first view …", .quiet)])
    var turn: Int?
    var isStale = false
    var slots: [Slot] = []
    var focus: Focus?
    var entries: [PanelControl.Identity: FieldEntry] = [:]
    var unanswered: [Int: Sent] = [:]
    var lastSend = 0
    var status = Status()

    /// Why there is no past to look at; nil if there is.
    let lacksPast: String?
    /// Nil while what is live is shown.
    var look: PastLook?
    var awaited: Awaited?

    /// The first line that is shown.
    var scroll = 0
    /// Whether the focus shall be in sight; not while the person looks elsewhere.
    var followsFocus = true
    var drawn: Grid?
    var block = Block()

    /// - Parameter lacksPast: why nobody can tell what the view was; nil if somebody can.
    package init(size: GridSize, theme: Theme, limits: PanelLimits = PanelLimits(), lacksPast: String? = nil) {
        self.limits = limits
        self.lacksPast = lacksPast
        self.theme = theme
        self.size = size.clamped(to: limits)
        decoder = KeyDecoder(limits)
    }

    // MARK: Events

    /// Draws everything, whatever the terminal shows: at the start, and when the process was stopped in between.
    package mutating func redraw() -> [Action] {
        drawn = nil
        return draw()
    }

    package mutating func resized(to size: GridSize) -> [Action] {
        self.size = size.clamped(to: limits)
        return redraw()
    }

    /// A view has come.
    package mutating func shown(_ panel: AnyPanel, turn: Int, now: Timestamp) -> [Action] {
        let before = slots
        let isFirst = self.turn == nil
        self.panel = panel
        self.turn = turn
        isStale = false
        slots = PanelControl.all(of: panel).enumerated().map { index, control in
            let isSame = index < before.count && before[index].control.identity == control.identity
            return Slot(control: control, since: isSame ? before[index].since : isFirst ? nil : now)
        }
        focus = focus.flatMap { moved($0, among: before, now) }
        let known = Set(slots.map(\.control.identity))
        entries = entries.filter { known.contains($0.key) }
        return draw()
    }

    package mutating func stale() -> [Action] {
        isStale = true
        return draw()
    }

    package mutating func live() -> [Action] {
        isStale = false
        return draw()
    }

    package mutating func answered(_ number: Int, _ answer: Answer) -> [Action] {
        guard let sent = unanswered.removeValue(forKey: number) else { return [] }
        switch answer {
        case .applied(let turn):
            status = Status("\(sent.label): applied in turn \(turn)", .good)
            // What was typed since then is another text.
            if let entry = sent.entry, entries[entry.identity]?.text == entry.text { entries[entry.identity] = nil }
        case .refused(let reason, _): status = Status("\(sent.label): refused: \(reason)", .bad)
        case .failed(let reason): status = Status("\(sent.label): \(reason)", .bad)
        }
        return draw()
    }

    package mutating func typed(_ bytes: some Sequence<UInt8>, now: Timestamp) -> [Action] {
        pressed(decoder.keys(from: bytes), now)
    }

    /// Whether `paused` must be called when no byte comes for a while.
    package var awaitsPause: Bool { decoder.awaitsPause }

    package mutating func paused(now: Timestamp) -> [Action] {
        pressed(decoder.paused(), now)
    }

    // MARK: For tests

    /// What the terminal shows.
    package var lines: [String] { drawn?.lines ?? [] }

    // MARK: Focus

    /// The focus in another view: on the same control wherever it is, else on what stands in its place.
    private func moved(_ focus: Focus, among before: [Slot], _ now: Timestamp) -> Focus? {
        guard focus.index < before.count else { return nil }
        let control = before[focus.index].control
        if let index = slots.firstIndex(where: { $0.control.identity == control.identity }) {
            return Focus(index: index, inherited: focus.inherited)
        }
        guard let index = slots.firstIndex(where: { $0.control.path == control.path && $0.control.isField == control.isField })
        else {
            return nil
        }
        return Focus(index: index, inherited: now)
    }
}

/// A line about what happened last.
struct Status: Equatable {
    let text: String
    let style: CellStyle

    init(_ text: String = "", _ style: CellStyle = .status) {
        self.text = text
        self.style = style
    }
}
