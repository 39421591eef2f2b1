package import MessagePack

/// The messages of one answer, in MessagePack and in order.
///
/// Most answers have one message. It needs no array of its own, and one that was read stands in the frame that it came in, which is kept
/// as long as the message is.
public struct MessageList: Equatable, Sendable {
    @usableFromInline
    enum Messages: Equatable, Sendable {
        case none
        case one(ArraySlice<UInt8>)
        case many([ArraySlice<UInt8>])
    }

    @usableFromInline let messages: Messages

    /// The messages, in this order.
    public init(_ messages: [[UInt8]]) {
        if messages.count == 1 { self.init(messages[0][...]) } else { self.init(slices: messages.map { $0[...] }) }
    }

    /// One message.
    public init(_ message: consuming ArraySlice<UInt8>) { messages = .one(message) }

    private init(messages: consuming Messages) { self.messages = messages }

    package init(slices: [ArraySlice<UInt8>]) {
        messages =
            switch slices.count {
            case 0: .none
            case 1: .one(slices[0])
            default: .many(slices)
            }
    }

    /// How many bytes all of them have.
    @inlinable package var bytes: Int {
        switch messages {
        case .none: 0
        case .one(let message): message.count
        case .many(let messages): messages.reduce(0) { $0 + $1.count }
        }
    }
}

extension MessageList: RandomAccessCollection {
    /// 0.
    public var startIndex: Int { 0 }

    /// The number of messages.
    @inlinable public var endIndex: Int {
        switch messages {
        case .none: 0
        case .one: 1
        case .many(let messages): messages.count
        }
    }

    /// The message at a position.
    public subscript(position: Int) -> ArraySlice<UInt8> {
        switch messages {
        case .none: preconditionFailure("an answer without messages has no message \(position)")
        case .one(let message):
            precondition(position == 0, "an answer of one message has no message \(position)")
            return message
        case .many(let messages): return messages[position]
        }
    }
}

extension MessageList: ExpressibleByArrayLiteral {
    /// The messages of a literal.
    public init(arrayLiteral messages: [UInt8]...) { self.init(messages) }
}

extension MessageList {
    package init(from reader: inout MessagePackReader) throws {
        let count = try reader.readArrayHeader()
        if count == 1 {
            self.init(messages: .one(try reader.readBinarySlice()))
        } else {
            var slices: [ArraySlice<UInt8>] = []
            for _ in 0..<count { slices.append(try reader.readBinarySlice()) }
            self.init(slices: slices)
        }
    }
}
