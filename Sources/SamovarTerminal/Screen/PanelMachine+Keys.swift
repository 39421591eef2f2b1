import MessagePack
import SamovarCore

extension PanelMachine {
    mutating func pressed(_ keys: [Key], _ now: Timestamp) -> [Action] {
        guard !keys.isEmpty else { return [] }
        var actions: [Action] = []
        for key in keys {
            let more = pressed(key, now)
            actions += more
            if more.contains(.leave) { return actions }
        }
        return actions + draw()
    }

    private mutating func pressed(_ key: Key, _ now: Timestamp) -> [Action] {
        switch key {
        case .control("c"), .control("d"): return [.leave]
        case .control("l"):
            drawn = nil
            return []
        case _ where look != nil: return travel(key, now)
        case .tab: moveFocus(by: 1)
        case .backTab: moveFocus(by: -1)
        case .up: if !moveFocus(vertically: -1) { scroll(by: -1) }
        case .down: if !moveFocus(vertically: 1) { scroll(by: 1) }
        case .pageUp: scroll(by: -pageRows)
        case .pageDown: scroll(by: pageRows)
        case .enter: return press(now)
        default:
            guard let control = focusedControl, control.isField else { return command(key, now) }
            return edit(control.identity, key)
        }
        return []
    }

    /// A key that is no text, because no field has the focus.
    private mutating func command(_ key: Key, _ now: Timestamp) -> [Action] {
        switch key {
        case .character("q"): return [.leave]
        case .character("g"): return travel(key, now)
        case .character(" "): return press(now)
        case .character(let character):
            guard let digit = character.wholeNumberValue, character.isASCII, digit > 0 else { return [] }
            let buttons = slots.indices.filter { !slots[$0].control.isField }
            guard digit <= buttons.count else { return [] }
            let index = buttons[digit - 1]
            guard hasSettled(slots[index].since, now) else { return hesitate() }
            setFocus(index)
            return press(now)
        case .left where focus == nil: return travel(key, now)
        case .left: moveFocus(by: -1)
        case .right: moveFocus(by: 1)
        case .home: scroll(by: -limits.lines)
        case .end: scroll(by: limits.lines)
        case .escape: focus = nil
        default: break
        }
        return []
    }

    private mutating func edit(_ identity: PanelControl.Identity, _ key: Key) -> [Action] {
        var entry = entries[identity] ?? FieldEntry()
        switch key {
        case .character(let character): entry.insert(String(character), limits)
        case .paste(let text): entry.insert(text, limits)
        case .backspace: entry.deleteBackward()
        case .delete: entry.deleteForward()
        case .left: entry.move(by: -1)
        case .right: entry.move(by: 1)
        case .home: entry.move(by: -entry.cursor)
        case .end: entry.move(by: entry.characters.count)
        case .escape:
            if entry.isEmpty { focus = nil }
            entries[identity] = nil
            return []
        default: return []
        }
        // One that was emptied is a text, too.
        if !entry.isEmpty || entries[identity] != nil { entries[identity] = entry }
        return []
    }

    // MARK: Sending

    private mutating func press(_ now: Timestamp) -> [Action] {
        guard let control = focusedControl else { return [] }
        guard hasSettled(focus?.inherited, now) else { return hesitate() }
        switch control.role {
        case .button(let input): return send(input, Sent(label: control.identity.label))
        case .field(let field):
            guard let template = FieldTemplate(field) else { return [] }
            let text = entries[control.identity]?.text ?? ""
            // An empty text would take the place of what is there, and that may be shown in part.
            guard entries[control.identity] != nil || field.holds.isEmpty else {
                status = Status("\(field.label): nothing was typed", .bad)
                return []
            }
            guard let input = template.filled(with: text) else {
                status = Status("\(field.label): “\(text)” is no \(field.kind == .integer ? "whole number" : "number")", .bad)
                return []
            }
            return send(input, Sent(label: field.label, entry: (control.identity, text)))
        }
    }

    private mutating func send(_ input: MessagePackValue, _ sent: Sent) -> [Action] {
        guard unanswered.count < limits.unanswered else {
            status = Status("\(sent.label): not sent, for \(unanswered.count) inputs have no receipt yet", .bad)
            return []
        }
        lastSend += 1
        unanswered[lastSend] = sent
        status = Status("\(sent.label): sent …", .status)
        return [.send(lastSend, input)]
    }

    private func hasSettled(_ since: Timestamp?, _ now: Timestamp) -> Bool {
        guard let since else { return true }
        return now - since >= limits.settling
    }

    private mutating func hesitate() -> [Action] {
        status = Status("the panel has just changed here: press again", .warning)
        return []
    }

    // MARK: Focus

    var focusedControl: PanelControl? {
        focus.flatMap { slots.indices.contains($0.index) ? slots[$0.index].control : nil }
    }

    private mutating func setFocus(_ index: Int) {
        focus = Focus(index: index)
        followsFocus = true
    }

    /// In the order of reading, and around its ends.
    private mutating func moveFocus(by steps: Int) {
        guard !slots.isEmpty else { return }
        let count = slots.count
        setFocus(focus.map { ($0.index + steps + count) % count } ?? (steps > 0 ? 0 : count - 1))
    }

    /// To the nearest control above or below; false if there is none.
    private mutating func moveFocus(vertically direction: Int) -> Bool {
        guard let focus, let place = block.places.first(where: { $0.control == focus.index }) else {
            guard !block.places.isEmpty else { return false }
            moveFocus(by: direction)
            return true
        }
        let distance = { (other: Block.Place) in ((other.row - place.row) * direction, abs(other.column - place.column)) }
        let next = block.places.filter { distance($0).0 > 0 }.min { distance($0) < distance($1) }
        guard let next else { return false }
        setFocus(next.control)
        return true
    }

    mutating func scroll(by lines: Int) {
        scroll += lines
        followsFocus = false
    }
}
