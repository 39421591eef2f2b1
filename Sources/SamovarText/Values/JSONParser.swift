import MessagePack

/// A strict parser of RFC 8259 that recurses at most as deep as its limits allow.
struct JSONParser {
    let bytes: [UInt8]
    let limits: MessagePackLimits
    var next = 0

    init(_ text: String, limits: MessagePackLimits) throws(JSONError) {
        guard text.utf8.count <= limits.maximumBytes else {
            throw JSONError("the text has \(text.utf8.count) bytes, more than the limit of \(limits.maximumBytes)")
        }
        bytes = Array(text.utf8)
        self.limits = limits
    }

    mutating func document() throws(JSONError) -> MessagePackValue {
        let value = try value(depth: 0)
        guard next == bytes.count else { throw unexpected("the end of the text") }
        return value
    }

    /// Reads a value with the spaces around it.
    private mutating func value(depth: Int) throws(JSONError) -> MessagePackValue {
        skipSpaces()
        let value = try bareValue(depth: depth)
        skipSpaces()
        return value
    }

    private mutating func bareValue(depth: Int) throws(JSONError) -> MessagePackValue {
        switch peek {
        case UInt8(ascii: "{"): return try .map(object(depth: depth))
        case UInt8(ascii: "["): return try .array(array(depth: depth))
        case UInt8(ascii: "\""): return try .string(string())
        case UInt8(ascii: "-"): return try number()
        case let byte? where byte.isDigit: return try number()
        default: break
        }
        let word = word
        guard let value = Self.words[word] else { throw unexpectedForValue() }
        next += word.utf8.count
        return value
    }

    static let words: [String: MessagePackValue] = ["true": .bool(true), "false": .bool(false), "null": .nil]

    private mutating func array(depth: Int) throws(JSONError) -> [MessagePackValue] {
        try open(depth: depth)
        var elements: [MessagePackValue] = []
        if pass("]") { return elements }
        while true {
            elements.append(try value(depth: depth + 1))
            if pass("]") { return elements }
            guard pass(",") else { throw unexpected("\",\" or \"]\" after an element") }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> [MessagePackPair] {
        try open(depth: depth)
        var pairs: [MessagePackPair] = []
        // By their bytes, for Swift takes different spellings of one letter as equal.
        var keys: Set<[UInt8]> = []
        if pass("}") { return pairs }
        while true {
            let start = next
            guard peek == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
            let key = try string()
            guard keys.insert(Array(key.utf8)).inserted else {
                throw error("the key \(quoted(key)) occurs twice in one object", at: start)
            }
            skipSpaces()
            guard pass(":") else { throw unexpected("\":\" after the key \(quoted(key))") }
            pairs.append(MessagePackPair(.string(key), try value(depth: depth + 1)))
            if pass("}") { return pairs }
            guard pass(",") else { throw unexpected("\",\" or \"}\" after the value of \(quoted(key))") }
            skipSpaces()
        }
    }

    // MARK: Pieces

    var peek: UInt8? { next < bytes.count ? bytes[next] : nil }

    mutating func pass(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func open(depth: Int) throws(JSONError) {
        guard depth < limits.maximumDepth else {
            throw error("arrays and objects are nested deeper than the limit of \(limits.maximumDepth)", at: next)
        }
        next += 1
        skipSpaces()
    }

    private mutating func skipSpaces() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { next += 1 }
    }
}
