import MessagePack
import SamovarCore

// By hand, for half of a run's time would else go into `Codable`. `State` keeps the way through `Codable`, so that a run has both.

extension Work: MessagePackable {
    func write(to writer: inout MessagePackWriter) { writer.write(rawValue) }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let name = try reader.readString()
        guard let work = Work(rawValue: name) else { throw MessagePackError(.invalidValue, "no work \(name)", offset: reader.position) }
        self = work
    }
}

extension Mill.Input: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        switch self {
        case .note(let grain): writer.write(0, grain, 0, nil)
        case .chain(let grain, let links): writer.write(1, grain, UInt64(links), nil)
        case .work(let grain, let work, let count): writer.write(2, grain, UInt64(count), work)
        case .refuse(let grain): writer.write(3, grain, 0, nil)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let (kind, grain, number, work) = try reader.readFour()
        switch (kind, work) {
        case (0, nil): self = .note(grain)
        case (1, nil): self = .chain(grain, links: Int(number))
        case (2, let work?): self = .work(grain, work, count: Int(number))
        case (3, nil): self = .refuse(grain)
        default: throw MessagePackError(.invalidValue, "no input \(kind)", offset: reader.position)
        }
    }
}

extension Mill.Message: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        switch self {
        case .noted(let grain): writer.write(0, grain, 0, nil)
        case .link(let grain, let rest): writer.write(1, grain, UInt64(rest), nil)
        case .ordered(let grain, let work, let count): writer.write(2, grain, UInt64(count), work)
        case .ground(let grain, let flour): writer.write(3, grain, flour, nil)
        case .spoiled(let grain, let attempts): writer.write(4, grain, UInt64(attempts), nil)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let (kind, grain, number, work) = try reader.readFour()
        switch (kind, work) {
        case (0, nil): self = .noted(grain)
        case (1, nil): self = .link(grain, rest: Int(number))
        case (2, let work?): self = .ordered(grain, work, count: Int(number))
        case (3, nil): self = .ground(grain, flour: number)
        case (4, nil): self = .spoiled(grain, attempts: Int(number))
        default: throw MessagePackError(.invalidValue, "no message \(kind)", offset: reader.position)
        }
    }
}

extension Mill.Effect: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(grain)
        writer.write(work)
        writer.write(part)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 3)
        self.init(grain: try reader.readUInt64(), work: try reader.read(), part: try reader.readInt())
    }
}

extension Mill.ViewState: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(tally.messages)
        writer.write(tally.checksum)
        writer.write(sack)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 3)
        self.init(
            tally: Tally(messages: try reader.readInt(), checksum: try reader.readUInt64()), sack: try reader.readString())
    }
}

extension MessagePackWriter {
    fileprivate mutating func write(_ kind: Int, _ grain: UInt64, _ number: UInt64, _ work: Work?) {
        write(kind)
        write(grain)
        write(number)
        if let work { write(work) } else { writeNil() }
    }
}

extension MessagePackReader {
    fileprivate mutating func readFour() throws(MessagePackError) -> (kind: Int, grain: UInt64, number: UInt64, work: Work?) {
        try readArrayHeader(of: 4)
        let kind = try readInt()
        let grain = try readUInt64()
        let number = try readUInt64()
        return (kind, grain, number, try readNil() ? nil : try read())
    }
}
