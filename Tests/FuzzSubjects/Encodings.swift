import MessagePack
import SamovarCommands
import SamovarText
import SamovarWire

/// Bytes on the wire, values of programs, and what people type.
extension FuzzSubject {
    /// The first 32 bytes are the header, the rest the body.
    static let frames = FuzzSubject(name: "frames", isText: false) {
        FrameSamples.all.map { $0.parts.flatMap(\.self) }
    } read: { bytes in
        let header = Array(bytes.prefix(FrameHeader.size))
        let body = Array(bytes.dropFirst(FrameHeader.size))
        let envelope: Envelope
        do throws(WireError) {
            envelope = try Envelope(parts: body.isEmpty ? [header] : [header, body])
        } catch {
            return false
        }
        // Bytes, since a value may hold a NaN, which equals nothing.
        try require(try Envelope(parts: envelope.parts).parts == envelope.parts, "\(envelope) is not read as it was written")
        return true
    }

    static let values = FuzzSubject(name: "values", isText: false) {
        try [Sample.full, Sample.small].map { try MessagePackEncoder().encode($0) }
    } read: { bytes in
        var raw = MessagePackReader(bytes)
        let isSkipped = try isRead { () throws(MessagePackError) in try raw.skip() }
        var reader = MessagePackReader(bytes)
        guard let value = try result({ () throws(MessagePackError) in try reader.readValue() }) else {
            return false
        }
        try require(isSkipped && raw.position == reader.position, "skip and read do not end at the same place")
        let first = written(value)
        try require(first.count <= reader.position, "a value is written longer than it was")
        var again = MessagePackReader(first)
        try require(written(try again.readValue()) == first, "\(value) is not read as it was written")
        return true
    }

    static let programTypes = decoding("program-types", isLenient: false)
    static let lenientTypes = decoding("lenient-types", isLenient: true)

    private static func decoding(_ name: String, isLenient: Bool) -> FuzzSubject {
        FuzzSubject(name: name, isText: false) {
            try [Sample.full, Sample.small].map { try MessagePackEncoder().encode($0) }
        } read: { bytes in
            let value: Sample
            do {
                value = try MessagePackDecoder(lenient: isLenient).decode(Sample.self, from: bytes)
            } catch {
                try require(error is DecodingError || error is MessagePackError, "an error of type \(type(of: error))")
                try require(!describe(decodingFailure: error, of: Sample.self).isEmpty, "an error without words")
                return false
            }
            let encoder = MessagePackEncoder(recording: .default)
            let first = try encoder.encode(value)
            let again = try MessagePackDecoder().decode(Sample.self, from: first)
            try require(try encoder.encode(again) == first, "\(value) is not read as it was written")
            return true
        }
    }

    static let json = FuzzSubject(name: "json", isText: true) {
        jsonSamples
    } read: { bytes in
        try isReadAsWritten { () throws(JSONError) in try JSONTranscoder.parse(utf8: bytes) }
    }

    static let arguments = FuzzSubject(name: "arguments", isText: true) {
        jsonSamples + ["increment", "true", "_x1"].map { Array($0.utf8) }
    } read: { bytes in
        try isReadAsWritten { () throws(JSONError) in try JSONTranscoder.parseArgument(String(decoding: bytes, as: UTF8.self)) }
    }

    private static var jsonSamples: [[UInt8]] {
        [
            #"{"increment":{}}"#, #"{"a":[1,-2.5e3,true,null,"é\n\u00e9\ud83d\ude00"],"b":{"c":[[],{}]}}"#,
            "[18446744073709551615,-9223372036854775808,1e300,0.1]", #" {"add" : {"names" : [ "x" , "y" ] } } "#,
        ].map { Array($0.utf8) }
    }

    private static func isReadAsWritten(_ parse: () throws(JSONError) -> MessagePackValue) throws -> Bool {
        let value: MessagePackValue
        do throws(JSONError) {
            value = try parse()
        } catch {
            try require(escapeForTerminal(error.description) == error.description, "an error that could control a terminal")
            return false
        }
        for pretty in [false, true] {
            let text = JSONTranscoder.text(of: value, pretty: pretty)
            try require(try JSONTranscoder.parse(text) == value, "\(text) is not read as it was written")
        }
        return true
    }

    static let settings = FuzzSubject(name: "settings", isText: true) {
        [
            "data: .samovar/x\nslots: 4\nqueues: [default, http]\nstore:\n  window: 8\n  silenceSeconds: 6\n",
            "# nothing\n", "log:\n  level: debug\nstore: &a {inbox: 100}\nqueues:\n- a\n- \"b\"\n",
            "workers: 16\nendpoint: 'ipc:///x'\n",
        ].map { Array($0.utf8) }
    } read: { bytes in
        let (isRead, words) = readSettings(String(decoding: bytes, as: UTF8.self))
        try require(escapeForTerminal(words) == words, "words that could control a terminal: \(words)")
        return isRead
    }
}

/// Whether settings can be read from a text, and why not, or what a person should know.
private func readSettings(_ yaml: String) -> (isRead: Bool, words: String) {
    do throws(SettingsError) {
        let file = try SettingsFile(path: "settings.yaml", yaml: yaml)
        let settings = try ProcessSettings.read(flags: [:], file: file, environment: [:])
        return (true, settings.warnings.joined(separator: "; "))
    } catch {
        return (false, error.description)
    }
}

private func written(_ value: MessagePackValue) -> [UInt8] {
    var writer = MessagePackWriter()
    writer.write(value)
    return writer.bytes
}

private func result<T>(_ body: () throws(MessagePackError) -> T) throws(Violation) -> T? {
    do throws(MessagePackError) {
        return try body()
    } catch {
        try require(!error.description.isEmpty, "an error without words")
        return nil
    }
}

private func isRead(_ body: () throws(MessagePackError) -> Void) throws(Violation) -> Bool { try result(body) != nil }
