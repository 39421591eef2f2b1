import SamovarCore

extension Key {
    /// How it stands in a file. What is as usual is left out.
    package var line: String {
        let usual = Limits()
        let number: (Int, Int) -> String? = { $0 == $1 ? nil : "\($0)" }
        let options: [(name: String, value: String?)] = [
            ("queues", queues.map { Self.list($0.map(\.name)) }), ("inputs", inputs.map { Self.list(Array($0)) }),
            ("not-after", notAfter.map { instantText($0) }), ("sessions", number(limits.sessions, usual.sessions)),
            ("hellos", number(limits.hellos, usual.hellos)), ("view-bytes", number(limits.viewBytes, usual.viewBytes)),
            ("bad-frames", number(limits.badFrames, usual.badFrames)),
        ]
        let words = ["\(name)", "\(fingerprint)", Role.allCases.filter(roles.contains).map(\.rawValue).joined(separator: ",")]
        return (words + options.compactMap { option in option.value.map { "\(option.name)=\($0)" } }).joined(separator: " ")
    }

    package init(line: String) throws(KeyTableError) {
        let words = line.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { String(Substring($0)) }
        guard let name = KeyName(words[0]) else {
            throw KeyTableError("a name has 1 to 32 letters, digits, “.”, “_” or “-”, and begins with a letter or a digit")
        }
        guard words.count >= 3, let fingerprint = Fingerprint(words[1]) else {
            throw KeyTableError("behind the name stand a fingerprint of 32 hexadecimal digits and roles")
        }
        var options = KeyOptions()
        for word in words[3...] { try options.read(word) }
        self.init(
            name, fingerprint, roles: try Self.roles(words[2]), queues: options.queues, inputs: options.inputs,
            notAfter: options.notAfter, limits: options.limits)
    }

    /// - Throws: `KeyTableError` for a text that is no list of roles.
    public static func roles(_ text: String) throws(KeyTableError) -> Set<Role> {
        var roles: Set<Role> = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let role = Role(rawValue: String(name)), roles.insert(role).inserted else {
                let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
                throw KeyTableError("the roles are one or more of \(names), each once, with commas between them")
            }
        }
        return roles
    }

    private static func list(_ names: [String]) -> String { names.sorted().map(percentEncoded).joined(separator: ",") }
}

/// What stands behind the roles.
private struct KeyOptions {
    var queues: Set<Queue>?
    var inputs: Set<String>?
    var notAfter: Timestamp?
    var limits = Key.Limits()
    private var names: Set<String> = []

    private static let known = "queues, inputs, not-after, sessions, hellos, view-bytes and bad-frames"

    mutating func read(_ word: String) throws(KeyTableError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw KeyTableError("behind the roles stand options: \(Self.known), each with “=” and a value")
        }
        let (name, value) = (String(parts[0]), parts[1])
        switch name {
        case "queues": queues = Set(try list(value).map { Queue($0) })
        case "inputs": inputs = Set(try list(value))
        case "not-after":
            guard let time = instant(value) else { throw KeyTableError("not-after is a time such as 2027-01-01T00:00:00Z") }
            notAfter = time
        case "sessions": limits.sessions = try number(value, name)
        case "hellos": limits.hellos = try number(value, name)
        case "view-bytes": limits.viewBytes = try number(value, name)
        case "bad-frames": limits.badFrames = try number(value, name)
        default: throw KeyTableError("there is no such option; there are \(Self.known)")
        }
        guard names.insert(name).inserted else { throw KeyTableError("\(name) stands there twice") }
    }

    private func list(_ text: Substring) throws(KeyTableError) -> [String] {
        var names: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard !part.isEmpty, let name = percentDecoded(part) else {
                throw KeyTableError(
                    "queues and inputs are names with commas between them, in which “%” and two digits stand for what is no letter")
            }
            names.append(name)
        }
        return names
    }

    private func number(_ text: Substring, _ name: String) throws(KeyTableError) -> Int {
        guard let number = Int(text), (1...Key.Limits.largest).contains(number) else {
            throw KeyTableError("\(name) is a number from 1 to \(Key.Limits.largest)")
        }
        return number
    }
}

// MARK: - Values

/// A text in which nothing ends a value or a line, nor looks like something else.
private func percentEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
        if (0x21...0x7e).contains(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: ",") {
            encoded.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
    return encoded
}

private func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        let digits = Substring(rest.prefix(2))
        // A number may have a sign.
        guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
}
