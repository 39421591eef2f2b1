import SamovarCore
import SamovarWire

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

    /// That of orders which are there in full; 0 if there are none.
    static func of(_ orders: [Divergence.Order]) -> UInt64 {
        guard !orders.isEmpty else { return 0 }
        var hash = CommandHash()
        for order in orders {
            switch order {
            case .run(let effect): effect.payload.withUnsafeBytes { hash.run($0, effect.options) }
            case .then(let message): message.withUnsafeBytes { hash.follow($0) }
            case .cancel(let label): hash.cancel(label)
            case .emit(let output): output.withUnsafeBytes { hash.emit($0) }
            case .control(let control): hash.control(control)
            }
        }
        return hash.value
    }

    private mutating func add(_ part: Part, _ text: String) {
        var text = text
        text.withUTF8 { add(part, UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ part: Part, _ bytes: UnsafeRawBufferPointer) {
        state = wyhash(bytes, seed: state &+ part.rawValue)
    }
}
