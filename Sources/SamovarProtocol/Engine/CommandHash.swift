import SamovarCore

/// The hash over a command's canonical bytes that each record of a message has. By it a replay knows whether `update` orders what it ordered.
///
/// The same in every process and in every build. It is no proof against somebody who wants two commands to have one hash: whoever writes
/// `update` could as well write another.
struct CommandHash {
    /// What an order is, and which part of it is added.
    private enum Part: UInt64 {
        case effect = 1, effectWithOptions, queue, label, options, followUp, cancellation, output
    }

    private var state: UInt64 = 0

    /// Of all orders that were added; never 0, which is the hash of a command without any.
    var value: UInt64 { state == 0 ? 1 : state }

    /// Adds an effect with its options. Nearly all effects have none.
    mutating func run(_ payload: UnsafeRawBufferPointer, _ options: RunOptions) {
        guard !options.isDefault else { return add(.effect, payload) }
        add(.effectWithOptions, payload)
        add(.queue, options.queue.name)
        if let id = options.id { add(.label, id.text) }
        (options.commonWords + options.rareWords).map(\.littleEndian).withUnsafeBytes { add(.options, $0) }
    }

    mutating func follow(_ message: UnsafeRawBufferPointer) { add(.followUp, message) }

    mutating func cancel(_ label: Label) { add(.cancellation, label.text) }

    mutating func emit(_ output: UnsafeRawBufferPointer) { add(.output, output) }

    private mutating func add(_ part: Part, _ text: String) {
        var text = text
        text.withUTF8 { add(part, UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ part: Part, _ bytes: UnsafeRawBufferPointer) {
        state = wyhash(bytes, seed: state &+ part.rawValue)
    }
}

extension Policy {
    /// The policy as a number, for the journal: that of the case, or 3 plus the limit of `serial`.
    var code: Int {
        switch self {
        case .all: 0
        case .latest: 1
        case .first: 2
        case .serial(let limit): 3 + max(1, min(limit, 1 << 32))
        }
    }

    init?(code: Int) {
        switch code {
        case 0: self = .all
        case 1: self = .latest
        case 2: self = .first
        case 4...(3 + 1 << 32): self = .serial(limit: code - 3)
        default: return nil
        }
    }
}
