package import SamovarCore

/// The past of the view: what a person looks at while the store goes on.
///
/// | event | live, no field has the focus | in the past |
/// |---|---|---|
/// | left | to the turn before, unless a button has the focus | one turn back |
/// | right | – | one turn on; behind the newest view, live |
/// | page up, page down | scroll | 100 turns back, 100 on |
/// | g, digits, enter | to that turn | the same |
/// | home | – | to turn 1 |
/// | end, escape | – | live; while a turn is typed, only the typing ends |
/// | up, down | – | scroll |
/// | q, control-C | leave | leave |
/// | a view | is shown | waits, and is told |
///
/// One turn is looked up at a time: whoever holds a key down skips turns and waits for none. Nothing can be pressed in the past, and what is live
/// again settles before it can be.
extension PanelMachine {
    struct PastLook: Equatable {
        struct Shown: Equatable {
            let panel: AnyPanel
            let turn: Int
            let time: String
        }

        /// What is shown; nil before the first answer.
        var shown: Shown?
        /// The turn that the person wants to see; nil while a first one is being typed.
        var wanted: Int?
        /// The digits of a turn that is being typed.
        var typed: String?
    }

    /// A turn that was asked for and not answered.
    struct Awaited: Equatable {
        let turn: Int
        /// Whether the person has gone back to what is live since.
        var isGivenUp = false
    }

    /// Turns of one page.
    private static var page: Int { 100 }
    /// Digits of a turn.
    private static var maximumDigits: Int { 15 }

    // MARK: Events

    /// The view as of a turn that was looked up, and the time of that.
    package mutating func past(_ panel: AnyPanel, turn: Int, time: String) -> [Action] {
        guard let awaited, awaited.turn == turn else { return [] }
        self.awaited = nil
        guard let look, let wanted = look.wanted else { return [] }
        if !awaited.isGivenUp, look.shown?.turn != wanted {
            self.look?.shown = PastLook.Shown(panel: panel, turn: turn, time: time)
            status = Status()
        }
        return lookUp() + draw()
    }

    /// A turn that was looked up cannot be shown.
    package mutating func pastFailed(_ why: String, now: Timestamp) -> [Action] {
        let isGivenUp = awaited?.isGivenUp ?? true
        awaited = nil
        guard look?.wanted != nil else { return [] }
        if isGivenUp { return lookUp() }
        status = Status(why, .bad)
        let shown = look?.shown?.turn
        look?.wanted = shown
        giveUpUnlessWanted(now)
        return draw()
    }

    // MARK: Keys

    /// A key in the past, or one that leads there.
    mutating func travel(_ key: Key, _ now: Timestamp) -> [Action] {
        if look?.typed != nil { return type(key, now) }
        let here = look?.wanted ?? turn ?? 1
        switch key {
        case .left: return go(to: here - 1, now)
        case .right: return go(to: here + 1, now)
        case .pageUp: return go(to: here - Self.page, now)
        case .pageDown: return go(to: here + Self.page, now)
        case .home: return go(to: 1, now)
        case .character("g"):
            guard turn != nil, !refusesPast(now) else { return [] }
            look = look ?? PastLook()
            look?.typed = ""
        case .character("q"): return [.leave]
        case .end, .escape: goLive(now)
        case .up: scroll(by: -1)
        case .down: scroll(by: 1)
        default: break
        }
        return []
    }

    private mutating func type(_ key: Key, _ now: Timestamp) -> [Action] {
        guard let typed = look?.typed else { return [] }
        switch key {
        case .character(let digit) where digit.isASCII && digit.isWholeNumber:
            if typed.count < Self.maximumDigits { look?.typed = typed + String(digit) }
        case .backspace: look?.typed = String(typed.dropLast())
        case .enter:
            look?.typed = nil
            if let turn = Int(typed) { return go(to: turn, now) }
            giveUpUnlessWanted(now)
        case .escape:
            look?.typed = nil
            giveUpUnlessWanted(now)
        default: break
        }
        return []
    }

    private mutating func go(to turn: Int, _ now: Timestamp) -> [Action] {
        guard let newest = self.turn, !refusesPast(now) else { return [] }
        let turn = max(1, turn)
        guard turn < newest else {
            goLive(now)
            return []
        }
        look = look ?? PastLook()
        look?.wanted = turn
        status = Status()
        return lookUp()
    }

    /// Asks for what is wanted, unless it is there, or something is awaited.
    private mutating func lookUp() -> [Action] {
        guard let wanted = look?.wanted, awaited == nil, look?.shown?.turn != wanted else { return [] }
        awaited = Awaited(turn: wanted)
        return [.lookUp(wanted)]
    }

    /// Ends a look at nothing: no turn is wanted, and none is being typed.
    private mutating func giveUpUnlessWanted(_ now: Timestamp) {
        if look?.wanted == nil, look?.typed == nil { goLive(now) }
    }

    private mutating func goLive(_ now: Timestamp) {
        guard look != nil else { return }
        look = nil
        awaited?.isGivenUp = true
        settle(now)
    }

    /// Nothing can be pressed for a moment: what is typed may have been meant for the past.
    private mutating func settle(_ now: Timestamp) {
        slots = slots.map { Slot(control: $0.control, since: now) }
        focus?.inherited = now
    }

    private mutating func refusesPast(_ now: Timestamp) -> Bool {
        guard let lacksPast else { return false }
        status = Status(lacksPast, .warning)
        settle(now)
        return true
    }

    // MARK: Drawing

    /// What is said of it; nil if live is shown.
    var pastStatus: Status? {
        guard let look else { return nil }
        if let typed = look.typed { return Status("go to turn: \(typed)_", .warning) }
        if !status.text.isEmpty { return status }
        guard let shown = look.shown else { return look.wanted.map { Status("looking up turn \($0) …", .warning) } }
        let newest = turn.map { " of \($0)" } ?? ""
        return Status("past: turn \(shown.turn)\(newest), \(shown.time)", .warning)
    }
}
