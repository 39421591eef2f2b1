/// What a person did on the keyboard.
package enum Key: Equatable, Sendable {
    case character(Character)
    /// A letter with the control key.
    case control(Character)
    case enter, tab, backTab, escape, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// Text that was pasted, which is no typing: no part of it is an order.
    case paste(String)
}
