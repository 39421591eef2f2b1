package import MessagePack
import SamovarCore

/// Controls in records and snapshots: an array of a number for what is done, and what it is done with. Equal ones have equal bytes, from
/// which the hash of a command is made.
extension Control {
    /// As it is written.
    package var canonicalBytes: [UInt8] {
        var writer = MessagePackWriter()
        write(to: &writer)
        return writer.bytes
    }

    package func write(to writer: inout MessagePackWriter) {
        switch self {
        case .requeue(let effects): effects.write(to: &writer, as: 1)
        case .drop(let effects): effects.write(to: &writer, as: 2)
        case .pause(let place): place.write(to: &writer, as: 3)
        case .resume(let place): place.write(to: &writer, as: 4)
        case .rule(let queue, let rules):
            writer.writeArrayHeader(4)
            writer.write(5)
            writer.write(queue.name)
            rules.write(to: &writer)
        }
    }

    package init(from reader: inout MessagePackReader) throws {
        let fields = try reader.readArrayHeader()
        let code = try reader.readInt()
        switch code {
        case 1: self = .requeue(try DeadEffects(from: &reader, fields: fields))
        case 2: self = .drop(try DeadEffects(from: &reader, fields: fields))
        case 3: self = .pause(try QueueOrLabel(from: &reader, fields: fields))
        case 4: self = .resume(try QueueOrLabel(from: &reader, fields: fields))
        case 5 where fields == 4: self = .rule(Queue(try reader.readString()), try QueueRules(from: &reader))
        default: throw WireError.malformed("unknown control \(code) of \(fields) fields")
        }
    }
}

extension DeadEffects {
    fileprivate func write(to writer: inout MessagePackWriter, as code: Int) {
        if case .effect = self { writer.writeArrayHeader(4) } else { writer.writeArrayHeader(3) }
        writer.write(code)
        switch self {
        case .effect(let id):
            writer.write(1)
            writer.write(id)
        case .label(let label):
            writer.write(2)
            writer.write(label.text)
        case .queue(let queue):
            writer.write(3)
            writer.write(queue.name)
        }
    }

    fileprivate init(from reader: inout MessagePackReader, fields: Int) throws {
        let kind = try reader.readInt()
        switch (kind, fields) {
        case (1, 4): self = .effect(try reader.readEffect())
        case (2, 3): self = .label(Label(try reader.readString()))
        case (3, 3): self = .queue(Queue(try reader.readString()))
        default: throw WireError.malformed("unknown dead effects \(kind) of \(fields) fields")
        }
    }
}

extension QueueOrLabel {
    fileprivate func write(to writer: inout MessagePackWriter, as code: Int) {
        writer.writeArrayHeader(3)
        writer.write(code)
        switch self {
        case .queue(let queue):
            writer.write(1)
            writer.write(queue.name)
        case .label(let label):
            writer.write(2)
            writer.write(label.text)
        }
    }

    fileprivate init(from reader: inout MessagePackReader, fields: Int) throws {
        let kind = try reader.readInt()
        switch (kind, fields) {
        case (1, 3): self = .queue(Queue(try reader.readString()))
        case (2, 3): self = .label(Label(try reader.readString()))
        default: throw WireError.malformed("unknown place \(kind) of \(fields) fields")
        }
    }
}

extension QueueRules {
    /// Two values: the rate and the shares, each nil for none.
    fileprivate func write(to writer: inout MessagePackWriter) {
        if let rate {
            writer.writeArrayHeader(3)
            writer.write(rate.count)
            writer.write(rate.interval.microseconds)
            writer.write(rate.burst)
        } else {
            writer.writeNil()
        }
        guard let shares else { return writer.writeNil() }
        writer.writeArrayHeader(2)
        writer.write(shares.others)
        writer.writeList(shares.weights.sorted { $0.key < $1.key }) { share, writer in
            writer.writeArrayHeader(2)
            writer.write(share.key.text)
            writer.write(share.value)
        }
    }

    fileprivate init(from reader: inout MessagePackReader) throws {
        self.init()
        if try !reader.readNil() {
            try reader.readFields(3, of: "a rate")
            rate = Rate(
                try reader.readInt(), per: .microseconds(try reader.readInt64()), burst: try reader.readInt())
        }
        guard try !reader.readNil() else { return }
        try reader.readFields(2, of: "shares")
        let others = try reader.readInt()
        let weights = try reader.readList { reader in
            try reader.readFields(2, of: "a share")
            return (Label(try reader.readString()), try reader.readInt())
        }
        shares = Shares(Dictionary(weights) { $1 }, others: others)
    }
}
