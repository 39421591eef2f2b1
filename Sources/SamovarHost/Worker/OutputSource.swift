public import Logging
import MessagePack
public import SamovarCore
public import SamovarWorker

/// A source that is another program's outputs.
///
/// ```swift
/// // In the program: as long as the state wants it.
/// .source(.listen, id: "orders")
/// // In the worker:
/// listen({ if case .listen = $0 { orders } else { nil } }, to: Orders.self, logger: logger) { heard in .ordered(heard.output) }
/// ```
///
/// Each output becomes one message, streamed with its place as the checkpoint: message and place are on disk together, so each
/// output arrives exactly once, whichever process dies. As any source it keeps a slot of its worker for as long as it is wanted.
///
/// - Parameters:
///   - extract: finds in the effect how the other program's store is reached; nil leaves the effect to the next handler.
///   - start: where the first attempt begins.
///   - gap: the message for outputs that cannot be had any more. Nil, the default, fails the source for good, and says why.
///   - passed: the message that keeps the place, once 16,384 outputs or 4 MiB in a row were passed over. Without it, the place is that of
///     the newest message: after more outputs than a store keeps, 65,536 or 16 MiB, another attempt finds a gap behind it.
///   - message: makes a message of an output; nil passes over it.
public func listen<P: Program, Environment: Sendable, Other: Program>(
    _ extract: @escaping @Sendable (P.Effect) -> StoreAccess?, to other: Other.Type, after start: OutputPlace = .start,
    logger: Logger, gap: (@Sendable (OutputGap) -> P.Message)? = nil, passed: (@Sendable (OutputPlace) -> P.Message)? = nil,
    _ message: @escaping @Sendable (Heard<Other.Output>) -> P.Message?
) -> Handler<P, Environment> {
    on(extract) { store, job in
        let connector = try Connector(other, at: store, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await connector.run() }
            group.addTask {
                var place = try job.resume?.checkpoint(as: OutputPlace.self) ?? start
                var listener = OutputListener(passed: passed, message: message)
                while !Task.isCancelled {
                    do {
                        var outputs = connector.client.outputs(after: place)
                        while let (next, bytes) = try await outputs.next() {
                            place = next
                            let output = try MessagePackDecoder().decode(Other.Output.self, from: bytes)
                            // What is passed over since is read again after a death, and passed over again.
                            if let message = listener.take(Heard(place: place, output: output), bytes: bytes.count) {
                                try await job.stream(message, checkpoint: place)
                            }
                        }
                        return
                    } catch let lost as OutputGap {
                        guard let gap else { throw Permanent("\(lost)") }
                        place = lost.next
                        try await job.stream(gap(lost), checkpoint: place)
                    }
                }
            }
            // The connector ends when the store refuses it; the listener when nobody wants it any more.
            defer {
                connector.close()
                group.cancelAll()
            }
            try await group.next()
        }
        try job.checkCancelled()
        throw ListenEnded()
    }
}

/// What a listener streams of the outputs that it hears, in order.
struct OutputListener<Output: Sendable, Message> {
    /// A quarter of what a store keeps, so that what follows the place is there when the listener comes back.
    static var limit: Int { 16_384 }
    static var byteLimit: Int { 4 << 20 }

    private let passed: ((OutputPlace) -> Message)?
    private let message: (Heard<Output>) -> Message?
    /// Passed over since the last message.
    private var count = 0
    private var bytes = 0

    init(passed: ((OutputPlace) -> Message)?, message: @escaping (Heard<Output>) -> Message?) {
        self.passed = passed
        self.message = message
    }

    /// The message to be streamed with the place of this output, if there is one.
    mutating func take(_ heard: Heard<Output>, bytes size: Int) -> Message? {
        count += 1
        bytes += size
        let isMuch = count >= Self.limit || bytes >= Self.byteLimit
        guard let message = self.message(heard) ?? (isMuch ? passed?(heard.place) : nil) else { return nil }
        (count, bytes) = (0, 0)
        return message
    }
}

/// The connection to the other program ended though nobody asked for it: to be tried again.
private struct ListenEnded: Error, CustomStringConvertible {
    var description: String { "the connection to the other program has ended" }
}
