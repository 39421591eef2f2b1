import MessagePack

/// Bytes of JSON as OTLP has it.
struct OTLPText {
    private(set) var bytes: [UInt8] = []

    /// Adds text as it is.
    mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func attribute(_ name: String, _ value: String) {
        begin(attribute: name, #"stringValue":"#)
        string(value)
        raw("}}")
    }

    mutating func attribute(_ name: String, _ value: Int) {
        begin(attribute: name, #"intValue":""#)
        raw("\(value)")
        raw("\"}}")
    }

    /// Behind another one there is a comma between the two.
    private mutating func begin(attribute name: String, _ type: String) {
        if bytes.last != UInt8(ascii: "[") { raw(",") }
        raw(#"{"key":""#)
        raw(name)
        raw(#"","value":{""#)
        raw(type)
    }

    /// Nearly all text is ASCII without controls; any other goes the way of all JSON.
    mutating func string(_ text: String) {
        let start = bytes.count
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x20..<0x7f: bytes.append(byte)
            default:
                bytes.removeSubrange(start...)
                return raw(JSONTranscoder.text(of: .string(text)))
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
