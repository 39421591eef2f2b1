/// Makes keys of the bytes that a terminal sends.
///
/// The bytes may be cut anywhere, and may be anything: what is no key of ours is passed over to its end, and invalid UTF-8 is dropped.
///
/// | state | bytes | becomes |
/// |---|---|---|
/// | ground | UTF-8 | a character, when it is whole |
/// | ground | ESC | escape |
/// | escape | `[` or `O` | sequence |
/// | escape | anything else | ground, and the byte is passed over: a key with Alt is none of ours |
/// | escape | a pause | ground, and it was the key itself |
/// | sequence | a second `[` right behind the first | sequence: the function keys of a Linux console |
/// | sequence | its last byte, `@` to `~` | ground, a key if we know it; after `[200~` paste |
/// | paste | `ESC[201~` | ground, and the text |
package struct KeyDecoder: Sendable {
    private enum State: Equatable {
        case ground
        case character([UInt8], length: Int)
        case escape
        case sequence([UInt8])
        /// Of the end, so many bytes have come.
        case paste([UInt8], end: Int)
    }

    private static let pasteEnd = Array("\u{1b}[201~".utf8)

    private let limits: PanelLimits
    private var state = State.ground

    package init(_ limits: PanelLimits = PanelLimits()) {
        self.limits = limits
    }

    /// Whether a pause would tell something: then the host must say when there is one.
    package var awaitsPause: Bool { state == .escape }

    package mutating func keys(from bytes: some Sequence<UInt8>) -> [Key] {
        bytes.compactMap { key(from: $0) }
    }

    /// Nothing came for some 50 ms.
    package mutating func paused() -> [Key] {
        guard state == .escape else { return [] }
        state = .ground
        return [.escape]
    }

    private mutating func key(from byte: UInt8) -> Key? {
        switch state {
        case .ground: return begin(byte)
        case .character(let bytes, let length):
            guard byte & 0xc0 == 0x80 else {
                state = .ground
                return begin(byte)
            }
            return character(bytes + [byte], length)
        case .escape:
            state = .ground
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "O"): state = .sequence([byte])
            case 0x1b:
                state = .escape
                return .escape
            default: break
            }
            return nil
        case .sequence(let bytes): return sequence(bytes, byte)
        case .paste(let bytes, let end): return paste(bytes, end, byte)
        }
    }

    private mutating func begin(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x1b: state = .escape
        case 0x0d, 0x0a: return .enter
        case 0x09: return .tab
        case 0x08, 0x7f: return .backspace
        case 0x01...0x1a: return .control(Character(Unicode.Scalar(byte + 0x60)))
        case 0x20..<0x7f: return .character(Character(Unicode.Scalar(byte)))
        case 0xc2...0xdf: state = .character([byte], length: 2)
        case 0xe0...0xef: state = .character([byte], length: 3)
        case 0xf0...0xf4: state = .character([byte], length: 4)
        default: break
        }
        return nil
    }

    private mutating func character(_ bytes: [UInt8], _ length: Int) -> Key? {
        guard bytes.count == length else {
            state = .character(bytes, length: length)
            return nil
        }
        state = .ground
        let scalars = String(validating: bytes, as: UTF8.self)?.unicodeScalars
        guard let scalar = scalars?.first, !scalar.controlsTerminal else { return nil }
        return .character(Character(scalar))
    }

    private mutating func sequence(_ bytes: [UInt8], _ byte: UInt8) -> Key? {
        // A control character ends what nobody finished.
        guard byte >= 0x20 else {
            state = .ground
            return begin(byte)
        }
        let bracket = UInt8(ascii: "[")
        let isLast = (0x40...0x7e).contains(byte) && !(byte == bracket && bytes == [bracket])
        guard isLast else {
            // Beyond the limit it is none of ours, but its end must still be found.
            state = .sequence(bytes.count < limits.keyBytes ? bytes + [byte] : bytes)
            return nil
        }
        state = .ground
        let text = String(decoding: bytes.dropFirst() + [byte], as: UTF8.self)
        if bytes.first == bracket, text == "200~" { state = .paste([], end: 0) }
        return Self.keys[text]
    }

    private mutating func paste(_ bytes: [UInt8], _ end: Int, _ byte: UInt8) -> Key? {
        if byte == Self.pasteEnd[end] {
            guard end + 1 == Self.pasteEnd.count else {
                state = .paste(bytes, end: end + 1)
                return nil
            }
            state = .ground
            return .paste(String(decoding: bytes, as: UTF8.self))
        }
        // ESC stands only at the beginning of the end, so nothing shorter than it can have begun in between.
        let isBeginning = byte == Self.pasteEnd[0]
        guard bytes.count < limits.pasteBytes else {
            state = .paste(bytes, end: isBeginning ? 1 : 0)
            return nil
        }
        let kept = bytes + Self.pasteEnd.prefix(end) + (isBeginning ? [] : [byte])
        state = .paste(Array(kept.prefix(limits.pasteBytes)), end: isBeginning ? 1 : 0)
        return nil
    }

    /// What follows `ESC[` or `ESC O`.
    private static let keys: [String: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "Z": .backTab, "M": .enter,
        "1~": .home, "7~": .home, "4~": .end, "8~": .end, "3~": .delete, "5~": .pageUp, "6~": .pageDown,
    ]
}
