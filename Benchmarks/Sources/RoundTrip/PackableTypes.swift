import MessagePack

/// Types that know their own bytes.
enum PackableMessage: RoundTripMessage, MessagePackable {
    case order
    case answer(number: Int)

    static func answer(_ number: Int) -> PackableMessage { .answer(number: number) }

    var answered: Int? {
        if case .answer(let number) = self { number } else { nil }
    }

    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .order: writer.writeNil()
        case .answer(let number): writer.write(number)
        }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        self = try reader.readNil() ? .order : .answer(number: try reader.readInt())
    }
}

struct PackableEffect: NumberedEffect, MessagePackable {
    var payload: [UInt8]

    init(number: Int) { payload = Samples.bytes(number) }

    var number: Int { Samples.number(of: payload) }

    func write(to writer: inout MessagePackWriter) {
        writer.writeBinary(payload)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        payload = try reader.readBinary()
    }
}
