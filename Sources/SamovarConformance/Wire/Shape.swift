import MessagePack

/// What the body of a frame looks like that a peer sends, after section 2 of `docs/protocol.md`.
indirect enum Shape: Sendable {
    case `nil`, bool, float, text
    case whole(ClosedRange<Int64>)
    case unsigned
    case word(String)
    case binary(ClosedRange<Int>)
    case array([Shape])
    case list(Shape)
    case either([Shape])

    static let integer = Shape.whole(.min ... .max)
    static let id = Shape.binary(16...16)
    static let anyBinary = Shape.binary(0...Int.max)
    static let lease = Shape.array([.integer, .integer])
    static let instance = Shape.either([.nil, .text])
    static let claim = [Shape.integer, .integer, .lease, .unsigned]

    func accepts(_ value: Value) -> Bool {
        switch (self, value) {
        case (.nil, .nil), (.bool, .bool), (.float, .float), (.float, .double), (.text, .string), (.unsigned, .uint): true
        case (.whole(let range), .int(let number)): range.contains(number)
        case (.unsigned, .int(let number)): number >= 0
        case (.word(let word), .string(let text)): word == text
        case (.binary(let sizes), .binary(let bytes)): sizes.contains(bytes.count)
        case (.array(let shapes), .array(let values)):
            shapes.count == values.count && zip(shapes, values).allSatisfy { $0.accepts($1) }
        case (.list(let shape), .array(let values)): values.allSatisfy { shape.accepts($0) }
        case (.either(let shapes), _): shapes.contains { $0.accepts(value) }
        default: false
        }
    }
}

extension Kind {
    /// The values of the body; nil for a kind that no client and no worker sends.
    var shapes: [Shape]? {
        switch self {
        case .hello: [.either(Self.hello(.either([.word("client"), .word("durable")]), .id) + Self.workers)]
        case .ping, .pong, .goodbye, .drain, .settle, .credit: []
        case .send: [.list(.array([.integer, .instance, .anyBinary]))]
        case .viewRequest, .viewsRequest: [.instance]
        case .outputsRequest: [.instance, .integer, .integer]
        case .result: [.list(.either(Self.answers.map { .array(Shape.claim + $0) }))]
        case .progress: [.list(.array([.integer, .integer, .lease, .either([.nil, .float]), .either([.nil, .text])]))]
        default: nil
        }
    }

    /// The listener at which it is sent.
    func isSent(by role: Subject) -> Bool {
        switch self {
        case .hello, .ping, .pong, .goodbye: true
        case .send, .settle, .viewRequest, .outputsRequest, .viewsRequest: role != .worker
        case .drain, .credit, .result, .progress: role == .worker
        default: false
        }
    }

    /// Without a start, and with one.
    private static func hello(_ role: Shape, _ who: Shape) -> [Shape] {
        let values = [
            Shape.either([.nil, .array([.text, .integer])]), .either([.integer, .array([.integer, .unsigned])]), role, who,
        ]
        return [.array(values), .array(values + [.integer])]
    }

    private static var workers: [Shape] {
        let queue = Shape.either([.text, .array([.text, .whole(1...65_536)])])
        let offer: [Shape] = [.id, .whole(1...65_536), .list(queue), .list(.array(Shape.claim))]
        return [offer, offer + [.list(.text)]].flatMap { hello(.word("worker"), .array($0)) }
    }

    private static var answers: [[Shape]] {
        let reasons = ["threw", "timedOut", "workerDied", "unhandled"].map { Shape.word($0) }
        let streamed = Shape.array([.whole(1 ... .max), .anyBinary, .either([.nil, .binary(0...64 << 10)])])
        return [
            [.whole(0...0), .list(.anyBinary)], [.whole(1...1), .array([.either(reasons), .text, .bool])],
            [.whole(2...2), .nil], [.whole(3...3), streamed],
        ]
    }
}

extension RawFrame {
    /// Why it is malformed beyond its header; nil if it is well-formed.
    var malformation: String? {
        guard let known else { return "an unknown kind" }
        guard let shapes = known.shapes else { return "\(known.name) is no frame of a client or a worker" }
        guard shapes.count == body.count else { return "\(known.name) with \(body.count) values in its body, not \(shapes.count)" }
        return zip(shapes, body).allSatisfy { $0.accepts($1) } ? nil : "a body that \(known.name) does not have"
    }
}
