/// Why a text is not the JSON that was asked for, in one sentence for a person.
///
/// Whatever it repeats of the text is escaped, so that it can be printed to a terminal.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A place in the text; both numbers count from 1, columns in Unicode scalars.
    public struct Position: Hashable, Sendable {
        /// From 1.
        public let line: Int
        /// From 1.
        public let column: Int
    }

    /// What was expected and what was found.
    public let message: String
    /// Where the trouble begins, unless it is the text as a whole.
    public let position: Position?

    package init(_ message: String, at position: Position? = nil) {
        self.message = message
        self.position = position
    }

    /// Place and message in a sentence.
    public var description: String {
        guard let position else { return message }
        return "\(message) (line \(position.line), column \(position.column))"
    }
}

extension JSONError.Position {
    /// The place of the byte at `offset`.
    init(of offset: Int, in utf8: [UInt8]) {
        let before = utf8[..<min(offset, utf8.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        line = before.count { $0 == UInt8(ascii: "\n") } + 1
        // The bytes that continue a scalar are 10xxxxxx.
        column = before[lineStart...].count { $0 & 0b1100_0000 != 0b1000_0000 } + 1
    }
}
