import SamovarCore

/// The hash over a command's canonical bytes that each record of a message has. By it a replay knows whether `update` orders what it ordered.
///
/// The same in every process and in every build. It is no proof against somebody who wants two commands to have one hash: whoever writes
/// `update` could as well write another.
struct CommandHash {
    /// What an order is, and which part of it is added.
    private enum Part: UInt64 {
        case effect = 1, effectWithOptions, queue, label, options, followUp, cancellation, output, keptDead, need, control
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
        if options.retry.keepsDead { add(.keptDead, "") }
        for need in options.needs.sorted() { add(.need, need) }
    }

    mutating func follow(_ message: UnsafeRawBufferPointer) { add(.followUp, message) }

    mutating func cancel(_ label: Label) { add(.cancellation, label.text) }

    mutating func emit(_ output: UnsafeRawBufferPointer) { add(.output, output) }

    mutating func control(_ control: Control) { control.canonicalBytes.withUnsafeBytes { add(.control, $0) } }

    private mutating func add(_ part: Part, _ text: String) {
        var text = text
        text.withUTF8 { add(part, UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ part: Part, _ bytes: UnsafeRawBufferPointer) {
        state = wyhash(bytes, seed: state &+ part.rawValue)
    }
}

extension Policy {
    /// The limit has the 33 low bits of the number of a lane, and the width the 10 above.
    private static var laneBit: Int { 1 << 44 }
    private static var stopBit: Int { 1 << 43 }
    private static var widthShift: Int { 33 }
    private static var limits: ClosedRange<Int> { 1...1 << 32 }

    /// The policy as a number, for the journal: that of the case, 3 plus the limit of `serial`, or the parts of a lane side by side.
    var code: Int {
        switch self {
        case .all: return 0
        case .latest: return 1
        case .first: return 2
        case .serial(let limit): return 3 + Self.bounded(limit)
        case .lane(_, let limit, let behindDead):
            let width = lane?.width ?? 1
            return Self.laneBit | (behindDead == .stops ? Self.stopBit : 0) | width << Self.widthShift | Self.bounded(limit)
        }
    }

    private static func bounded(_ limit: Int) -> Int { max(limits.lowerBound, min(limit, limits.upperBound)) }

    init?(code: Int) {
        switch code {
        case 0: self = .all
        case 1: self = .latest
        case 2: self = .first
        case 4...(3 + 1 << 32): self = .serial(limit: code - 3)
        case Self.laneBit..<2 * Self.laneBit:
            let width = code >> Self.widthShift & (Self.stopBit >> Self.widthShift - 1)
            let limit = code & (1 << Self.widthShift - 1)
            guard Self.limits.contains(limit), (1...Self.widthLimit).contains(width) else { return nil }
            self = .lane(width: width, limit: limit, behindDead: code & Self.stopBit == 0 ? .goesOn : .stops)
        default: return nil
        }
    }
}
