import ProcessSupport

/// Damages bytes as nobody would by hand: single bytes, and whole parts of what MessagePack or text they hold.
struct Mutator {
    var random: SeededRandom
    let isText: Bool

    mutating func mutated(_ bytes: [UInt8], or others: [[UInt8]]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0...3, using: &random) {
            if Bool.random(using: &random) {
                damage(&bytes)
            } else if isText {
                damageText(&bytes, others)
            } else {
                damageValues(&bytes, others)
            }
        }
        return bytes
    }

    private mutating func damage(_ bytes: inout [UInt8]) {
        guard let index = bytes.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.remove(at: index)
        case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
        case 4: bytes.removeSubrange(index...)
        default: bytes += bytes[index...].prefix(64)
        }
    }

    // MARK: MessagePack

    /// Announcements that nothing follows: texts, binaries, arrays, maps and extensions of up to 4 GiB, and the ends of the integers.
    static let lies: [[UInt8]] = [
        [0xdb, 0xff, 0xff, 0xff, 0xff], [0xc6, 0xff, 0xff, 0xff, 0xff], [0xdd, 0xff, 0xff, 0xff, 0xff],
        [0xdf, 0xff, 0xff, 0xff, 0xff], [0xc9, 0xff, 0xff, 0xff, 0xff, 0x01], [0xdd, 0x7f, 0xff, 0xff, 0xff],
        [0xdc, 0xff, 0xff], [0xde, 0xff, 0xff], [0xcf] + Array(repeating: 0xff, count: 8),
        [0xd3, 0x80] + Array(repeating: 0, count: 7),
        [0xd3, 0x7f] + Array(repeating: 0xff, count: 7), [0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], [0xc0], [0xc1], [0x80], [0x90],
    ]

    private mutating func damageValues(_ bytes: inout [UInt8], _ others: [[UInt8]]) {
        let starts = Self.starts(of: bytes)
        guard let start = starts.randomElement(using: &random) else { return }
        let end = starts.first { $0 > start } ?? bytes.count
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.replaceSubrange(start..<end, with: Self.lies.randomElement(using: &random) ?? [])
        case 1: bytes.insert(contentsOf: Self.lies.randomElement(using: &random) ?? [], at: start)
        case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 3: bytes.removeSubrange(start..<end)
        case 4: bytes.insert(contentsOf: Array(repeating: 0x91, count: Int.random(in: 1...300, using: &random)), at: start)
        default: splice(&bytes, at: start, others)
        }
    }

    /// Where a value begins, for as long as the bytes are MessagePack.
    private static func starts(of bytes: [UInt8]) -> [Int] {
        var starts: [Int] = []
        var index = 0
        while index < bytes.count {
            starts.append(index)
            index += 1 + payload(bytes, at: index)
        }
        return starts
    }

    /// The bytes that belong to a head besides itself; what an array or a map holds are values of their own.
    private static func payload(_ bytes: [UInt8], at index: Int) -> Int {
        func length(_ width: Int, plus more: Int = 0) -> Int {
            width + more + bytes[(index + 1)...].prefix(width).reduce(0) { $0 << 8 | Int($1) }
        }
        return switch bytes[index] {
        case 0xa0...0xbf: Int(bytes[index] & 0x1f)
        case 0xc4, 0xd9: length(1)
        case 0xc5, 0xda: length(2)
        case 0xc6, 0xdb: length(4)
        case 0xc7: length(1, plus: 1)
        case 0xcc, 0xd0: 1
        case 0xcd, 0xd1, 0xdc, 0xde, 0xd4: 2
        case 0xca, 0xce, 0xd2, 0xdd, 0xdf: 4
        case 0xcb, 0xcf, 0xd3: 8
        default: 0
        }
    }

    private mutating func splice(_ bytes: inout [UInt8], at start: Int, _ others: [[UInt8]]) {
        guard let other = others.randomElement(using: &random), let from = other.indices.randomElement(using: &random) else {
            return
        }
        bytes.replaceSubrange(start..., with: other[from...])
    }

    // MARK: Text

    static let words = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud800", "null", "true", "1e999", "-0", "18446744073709551616",
        "\u{feff}", "\0",
        "\u{1b}[2J", "&a ", "*a", "<<: *a", "- ", "? ", "|\n", "!!int ", "%YAML 9.9\n", "---\n", "...", "store:", "window: ",
        "0x7f", "1:0:0",
        "~", "\n  ", "\t", "\r\n", "{[{[{[{[{[{[",
    ]

    private mutating func damageText(_ bytes: inout [UInt8], _ others: [[UInt8]]) {
        let index = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1: bytes.insert(contentsOf: (Self.words.randomElement(using: &random) ?? "").utf8, at: index)
        case 2:
            let word = (Self.words.randomElement(using: &random) ?? "").utf8
            bytes.insert(contentsOf: (0..<Int.random(in: 1...200, using: &random)).flatMap { _ in word }, at: index)
        default: splice(&bytes, at: index, others)
        }
    }
}
