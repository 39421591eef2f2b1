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

extension ModelProgram.Input: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        switch self {
        case .note(let inputID): writer.write(0, inputID, 0, nil)
        case .chain(let inputID, let links): writer.write(1, inputID, UInt64(links), nil)
        case .work(let inputID, let work, let count): writer.write(2, inputID, UInt64(count), work)
        case .refuse(let inputID): writer.write(3, inputID, 0, nil)
        case .arm(let inputID, let timer): writer.write(4, inputID, timer.code, nil)
        case .disarm(let inputID, let timer): writer.write(5, inputID, UInt64(timer), nil)
        case .runLabelled(let inputID, let work, let labelSpec): writer.write(6, inputID, UInt64(labelSpec.code), work)
        case .cancel(let inputID, let labelSpec): writer.write(7, inputID, UInt64(labelSpec), nil)
        case .emit(let inputID): writer.write(8, inputID, 0, nil)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let (kind, inputID, number, work) = try reader.readFour()
        switch (kind, work) {
        case (0, nil): self = .note(inputID)
        case (1, nil): self = .chain(inputID, links: Int(number))
        case (2, let work?): self = .work(inputID, work, count: Int(number))
        case (3, nil): self = .refuse(inputID)
        case (4, nil): self = .arm(inputID, try .read(number, at: reader.position))
        case (5, nil): self = .disarm(inputID, timer: Int(number))
        case (6, let work?): self = .runLabelled(inputID, work, try .read(number, at: reader.position))
        case (7, nil): self = .cancel(inputID, labelSpec: Int(number))
        case (8, nil): self = .emit(inputID)
        default: throw MessagePackError(.invalidValue, "no input \(kind)", offset: reader.position)
        }
    }
}

extension ModelProgram.Message: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        switch self {
        case .noted(let inputID): writer.write(0, inputID, 0, nil)
        case .link(let inputID, let rest): writer.write(1, inputID, UInt64(rest), nil)
        case .ordered(let inputID, let work, let count): writer.write(2, inputID, UInt64(count), work)
        case .answered(let inputID, let resultID): writer.write(3, inputID, resultID, nil)
        case .failed(let inputID, let attempts): writer.write(4, inputID, UInt64(attempts), nil)
        case .armed(let inputID, let timer): writer.write(5, inputID, timer.code, nil)
        case .disarmed(let inputID, let timer): writer.write(6, inputID, UInt64(timer), nil)
        case .fired(let inputID, let timer): writer.write(7, inputID, UInt64(timer), nil)
        case .labelled(let inputID, let work, let labelSpec): writer.write(8, inputID, UInt64(labelSpec.code), work)
        case .cancelled(let inputID, let labelSpec): writer.write(9, inputID, UInt64(labelSpec), nil)
        case .emitted(let inputID): writer.write(10, inputID, 0, nil)
        case .streamed(let inputID, let item): writer.write(11, inputID, UInt64(item), nil)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let (kind, inputID, number, work) = try reader.readFour()
        switch (kind, work) {
        case (0, nil): self = .noted(inputID)
        case (1, nil): self = .link(inputID, rest: Int(number))
        case (2, let work?): self = .ordered(inputID, work, count: Int(number))
        case (3, nil): self = .answered(inputID, resultID: number)
        case (4, nil): self = .failed(inputID, attempts: Int(number))
        case (5, nil): self = .armed(inputID, try .read(number, at: reader.position))
        case (6, nil): self = .disarmed(inputID, timer: Int(number))
        case (7, nil): self = .fired(inputID, timer: Int(number))
        case (8, let work?): self = .labelled(inputID, work, try .read(number, at: reader.position))
        case (9, nil): self = .cancelled(inputID, labelSpec: Int(number))
        case (10, nil): self = .emitted(inputID)
        case (11, nil): self = .streamed(inputID, item: Int(number))
        default: throw MessagePackError(.invalidValue, "no message \(kind)", offset: reader.position)
        }
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

extension TimerSpec {
    fileprivate static func read(_ code: UInt64, at offset: Int) throws(MessagePackError) -> TimerSpec {
        guard let timer = TimerSpec(code: code) else { throw MessagePackError(.invalidValue, "no timer \(code)", offset: offset) }
        return timer
    }
}

extension LabelSpec {
    fileprivate static func read(_ code: UInt64, at offset: Int) throws(MessagePackError) -> LabelSpec {
        guard code < 1 << 16, let labelSpec = LabelSpec(code: Int(code)) else {
            throw MessagePackError(.invalidValue, "no label \(code)", offset: offset)
        }
        return labelSpec
    }
}

extension MessagePackWriter {
    fileprivate mutating func write(_ kind: Int, _ inputID: UInt64, _ number: UInt64, _ work: Work?) {
        write(kind)
        write(inputID)
        write(number)
        if let work { write(work) } else { writeNil() }
    }
}

extension MessagePackReader {
    fileprivate mutating func readFour() throws(MessagePackError) -> (kind: Int, inputID: UInt64, number: UInt64, work: Work?) {
        try readArrayHeader(of: 4)
        let kind = try readInt()
        let inputID = try readUInt64()
        let number = try readUInt64()
        return (kind, inputID, number, try readNil() ? nil : try read())
    }
}
