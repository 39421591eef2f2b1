import MessagePack
import SamovarCore

// By hand, because half of a run's time would else go into `Codable`. `State` keeps the way through `Codable`, so that a run has both.

extension Work: MessagePackable {
    func write(to writer: inout MessagePackWriter) { writer.write(rawValue) }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let name = try reader.readString()
        guard let work = Work(rawValue: name) else {
            throw MessagePackError(.invalidValue, "no work \(name)", offset: reader.position)
        }
        self = work
    }
}

/// What inputs and messages are written as.
private typealias Fields = (kind: Int, inputID: UInt64, number: UInt64, work: Work?)

extension ModelProgram.Input: MessagePackable {
    /// The kinds of the messages that inputs become; one place is that of what is refused.
    private static let kinds = [0, 1, 2, refusal, 5, 6, 8, 9, 10, 12]
    private static let refusal = -1

    /// The same under the name of its case, as it is written by whoever has no other way.
    static func named(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        var writer = MessagePackWriter()
        writer.writeMapHeader(1)
        writer.write(name)
        return writer.bytes + bytes
    }

    func write(to writer: inout MessagePackWriter) {
        var fields: Fields =
            switch self {
            case .message(let message): message.fields
            case .refuse(let inputID): (Self.refusal, inputID, 0, nil)
            }
        fields.kind = Self.kinds.firstIndex(of: fields.kind) ?? Self.kinds.count
        writer.write(fields)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        if try reader.peekType() == .map {
            _ = try reader.readMapHeader()
            _ = try reader.readString()
        }
        var fields = try reader.readFields()
        guard Self.kinds.indices.contains(fields.kind) else {
            throw MessagePackError(.invalidValue, "no input \(fields.kind)", offset: reader.position)
        }
        fields.kind = Self.kinds[fields.kind]
        self =
            fields.kind == Self.refusal
            ? .refuse(fields.inputID) : .message(try ModelProgram.Message(fields, at: reader.position))
    }
}

extension ModelProgram.Message: MessagePackable {
    fileprivate var fields: Fields {
        switch self {
        case .noted(let inputID): (0, inputID, 0, nil)
        case .link(let inputID, let rest): (1, inputID, UInt64(rest), nil)
        case .ordered(let inputID, let work, let count): (2, inputID, UInt64(count), work)
        case .answered(let inputID, let resultID): (3, inputID, resultID, nil)
        case .failed(let inputID, let attempts): (4, inputID, UInt64(attempts), nil)
        case .armed(let inputID, let timer): (5, inputID, timer.code, nil)
        case .disarmed(let inputID, let timer): (6, inputID, UInt64(timer), nil)
        case .fired(let inputID, let timer): (7, inputID, UInt64(timer), nil)
        case .labelled(let inputID, let work, let labelSpec): (8, inputID, UInt64(labelSpec.code), work)
        case .cancelled(let inputID, let labelSpec): (9, inputID, UInt64(labelSpec), nil)
        case .emitted(let inputID): (10, inputID, 0, nil)
        case .streamed(let inputID, let item): (11, inputID, UInt64(item), nil)
        case .controlled(let inputID, let controlSpec): (12, inputID, controlSpec.code, nil)
        case .operated(let number): (13, number, 0, nil)
        }
    }

    fileprivate init(_ fields: Fields, at offset: Int) throws(MessagePackError) {
        let (kind, inputID, number, work) = fields
        switch (kind, work) {
        case (0, nil): self = .noted(inputID)
        case (1, nil): self = .link(inputID, rest: Int(number))
        case (2, let work?): self = .ordered(inputID, work, count: Int(number))
        case (3, nil): self = .answered(inputID, resultID: number)
        case (4, nil): self = .failed(inputID, attempts: Int(number))
        case (5, nil): self = .armed(inputID, try known(TimerSpec(code: number), number, at: offset))
        case (6, nil): self = .disarmed(inputID, timer: Int(number))
        case (7, nil): self = .fired(inputID, timer: Int(number))
        case (8, let work?): self = .labelled(inputID, work, try known(LabelSpec(code: Int(clamping: number)), number, at: offset))
        case (9, nil): self = .cancelled(inputID, labelSpec: Int(number))
        case (10, nil): self = .emitted(inputID)
        case (11, nil): self = .streamed(inputID, item: Int(number))
        case (12, nil): self = .controlled(inputID, try known(ControlSpec(code: number), number, at: offset))
        case (13, nil): self = .operated(inputID)
        default: throw MessagePackError(.invalidValue, "no message \(kind)", offset: offset)
        }
    }

    func write(to writer: inout MessagePackWriter) { writer.write(fields) }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try self.init(try reader.readFields(), at: reader.position)
    }
}

extension ModelProgram.Effect: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(inputID)
        writer.write(work)
        writer.write(part)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 3)
        self.init(inputID: try reader.readUInt64(), work: try reader.read(), part: try reader.readInt())
    }
}

extension ModelProgram.ViewState: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(tally.messages)
        writer.write(tally.checksum)
        writer.write(text)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 3)
        self.init(
            tally: Tally(messages: try reader.readInt(), checksum: try reader.readUInt64()), text: try reader.readString())
    }
}

/// - Parameter spec: what the code stands for, if it does.
private func known<Spec>(_ spec: Spec?, _ code: UInt64, at offset: Int) throws(MessagePackError) -> Spec {
    guard let spec else { throw MessagePackError(.invalidValue, "no \(Spec.self) \(code)", offset: offset) }
    return spec
}

extension MessagePackWriter {
    fileprivate mutating func write(_ fields: Fields) {
        writeArrayHeader(4)
        write(fields.kind)
        write(fields.inputID)
        write(fields.number)
        if let work = fields.work { write(work) } else { writeNil() }
    }
}

extension MessagePackReader {
    fileprivate mutating func readFields() throws(MessagePackError) -> Fields {
        try readArrayHeader(of: 4)
        return (try readInt(), try readUInt64(), try readUInt64(), try readNil() ? nil : try read())
    }
}
