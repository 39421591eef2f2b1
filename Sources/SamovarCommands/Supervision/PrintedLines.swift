/// Cuts what a child prints into lines, as it comes in pieces of any size.
///
/// A line that does not end is handed on in parts, so that it needs no more memory than the longest one allowed.
package struct PrintedLines {
    private var rest: [UInt8] = []
    private let limit: Int

    /// - Parameter limit: the bytes of the longest line.
    package init(limit: Int = 64 << 10) {
        self.limit = limit
    }

    /// The lines that have ended with these bytes, without their ends.
    package mutating func take(_ bytes: some Sequence<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                lines.append(takeRest())
            } else {
                if rest.count == limit { lines.append(takeRest()) }
                rest.append(byte)
            }
        }
        return lines
    }

    /// What the child has printed last, if it did not end that line.
    package mutating func end() -> String? {
        rest.isEmpty ? nil : takeRest()
    }

    private mutating func takeRest() -> String {
        defer { rest.removeAll(keepingCapacity: true) }
        return String(decoding: rest, as: UTF8.self)
    }
}
