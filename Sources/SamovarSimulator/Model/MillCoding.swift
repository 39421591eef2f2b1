import MessagePack
import SamovarCore

// By hand, for half of a run's time would else go into `Codable`. `State` keeps the way through `Codable`, so that a run has both.

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

extension Mill.Input: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        switch self {
        case .note(let grain): writer.write(0, grain, 0, nil)
        case .chain(let grain, let links): writer.write(1, grain, UInt64(links), nil)
        case .work(let grain, let work, let count): writer.write(2, grain, UInt64(count), work)
        case .refuse(let grain): writer.write(3, grain, 0, nil)
        case .hang(let grain, let bell): writer.write(4, grain, bell.code, nil)
        case .takeDown(let grain, let bell): writer.write(5, grain, UInt64(bell), nil)
        case .lay(let grain, let work, let stone): writer.write(6, grain, UInt64(stone.code), work)
        case .clear(let grain, let stone): writer.write(7, grain, UInt64(stone), nil)
        case .shout(let grain): writer.write(8, grain, 0, nil)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        let (kind, grain, number, work) = try reader.readFour()
        switch (kind, work) {
        case (0, nil): self = .note(grain)
        case (1, nil): self = .chain(grain, links: Int(number))
        case (2, let work?): self = .work(grain, work, count: Int(number))
        case (3, nil): self = .refuse(grain)
        case (4, nil): self = .hang(grain, try .read(number, at: reader.position))
        case (5, nil): self = .takeDown(grain, bell: Int(number))
        case (6, let work?): self = .lay(grain, work, try .read(number, at: reader.position))
        case (7, nil): self = .clear(grain, stone: Int(number))
        case (8, nil): self = .shout(grain)
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
        case .hung(let grain, let bell): writer.write(5, grain, bell.code, nil)
        case .tookDown(let grain, let bell): writer.write(6, grain, UInt64(bell), nil)
        case .rang(let grain, let bell): writer.write(7, grain, UInt64(bell), nil)
        case .laid(let grain, let work, let stone): writer.write(8, grain, UInt64(stone.code), work)
        case .cleared(let grain, let stone): writer.write(9, grain, UInt64(stone), nil)
        case .shouted(let grain): writer.write(10, grain, 0, nil)
        case .poured(let grain, let item): writer.write(11, grain, UInt64(item), nil)
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
        case (5, nil): self = .hung(grain, try .read(number, at: reader.position))
        case (6, nil): self = .tookDown(grain, bell: Int(number))
        case (7, nil): self = .rang(grain, bell: Int(number))
        case (8, let work?): self = .laid(grain, work, try .read(number, at: reader.position))
        case (9, nil): self = .cleared(grain, stone: Int(number))
        case (10, nil): self = .shouted(grain)
        case (11, nil): self = .poured(grain, item: Int(number))
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

extension Bell {
    fileprivate static func read(_ code: UInt64, at offset: Int) throws(MessagePackError) -> Bell {
        guard let bell = Bell(code: code) else { throw MessagePackError(.invalidValue, "no bell \(code)", offset: offset) }
        return bell
    }
}

extension Stone {
    fileprivate static func read(_ code: UInt64, at offset: Int) throws(MessagePackError) -> Stone {
        guard code < 1 << 16, let stone = Stone(code: Int(code)) else {
            throw MessagePackError(.invalidValue, "no stone \(code)", offset: offset)
        }
        return stone
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
