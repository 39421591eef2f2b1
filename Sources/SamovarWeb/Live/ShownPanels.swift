import MessagePack
import SamovarCore
import SamovarTerminal

/// The panels that browsers may have before them, by whose turns and places a press is understood.
///
/// The idea: a browser never makes an input. It names a turn and the place of a control among those of its panel; what that sends is looked up
/// here, byte by byte as the program wrote it. JavaScript has no integers beyond 2^53 and cannot tell 1 from 1.0.
///
/// A person presses what was there when the hand began to move. So a press counts only if the control is in the newest panel, too, and had been
/// in its place for ``PanelLimits/settling``.
struct ShownPanels {
    /// How many are kept.
    static let limit = 64

    struct Press: Equatable {
        var turn: Int
        /// Among all controls of the panel, in the order in which they are read.
        var control: Int
        /// What stands in the field.
        var text: String?
    }

    enum Answer: Equatable {
        case send(MessagePackValue)
        /// In words.
        case refuse(String)
    }

    private struct Shown {
        let turn: Int
        let controls: [PanelControl]
        /// Since when the control at each place is the one that it is.
        let since: [Timestamp]
    }

    private let limits = PanelLimits()
    private var shown: [Shown] = []
    /// Whether a person may have had a panel before them.
    private var hasShown = false

    mutating func show(_ panel: AnyPanel?, turn: Int, now: Timestamp) {
        let controls = panel.map(PanelControl.all) ?? []
        let before = shown.last
        let since = controls.enumerated().map { place, control -> Timestamp in
            guard let before else { return hasShown ? now : Timestamp(microseconds: .min) }
            let stays = before.controls.indices.contains(place) && before.controls[place].identity == control.identity
            return stays ? before.since[place] : now
        }
        if let before, before.turn > turn { shown.removeAll() }
        shown.append(Shown(turn: turn, controls: controls, since: since))
        hasShown = true
        if shown.count > Self.limit { shown.removeFirst() }
    }

    /// Another timeline: its turns mean nothing beside those of the former one.
    mutating func forget() { shown.removeAll() }

    func answer(to press: Press, now: Timestamp) -> Answer {
        guard let seen = shown.last(where: { $0.turn == press.turn }) else {
            return .refuse("that was of an older view: look, and press again")
        }
        guard seen.controls.indices.contains(press.control), let newest = shown.last else {
            return .refuse("there is no such control")
        }
        let control = seen.controls[press.control]
        guard newest.controls.contains(where: { $0.identity == control.identity }) else {
            return .refuse("“\(control.identity.label)” is not there any more")
        }
        guard now >= seen.since[press.control] + limits.settling else {
            return .refuse("“\(control.identity.label)” has just come to this place: look, and press again")
        }
        switch (control.role, press.text) {
        case (.button(let input), nil): return .send(input)
        case (.field(let field), .some(let text)):
            guard text.count <= limits.typedCharacters else { return .refuse("more than \(limits.typedCharacters) characters") }
            guard let input = FieldTemplate(field)?.filled(with: text) else { return .refuse("that is no number") }
            return .send(input)
        case (.button, .some): return .refuse("a button takes no text")
        case (.field, nil): return .refuse("a field needs a text")
        }
    }
}
