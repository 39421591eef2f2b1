import MessagePack
public import SamovarCore
import Synchronization

/// One attempt of one effect, as its handler sees it.
public struct Job<P: Program>: Sendable {
    /// The identity of the effect, the same in every attempt: hand it to other services as their idempotency key.
    public let key: String
    /// From 1.
    public let attempt: Int
    public let instance: Instance
    public let queue: Queue
    /// How long this attempt may take; its task is cancelled then.
    public let timeout: Duration?
    private let outbox = JobOutbox()

    init(key: String, attempt: Int, instance: Instance, queue: Queue, timeout: Duration?) {
        self.key = key
        self.attempt = attempt
        self.instance = instance
        self.queue = queue
        self.timeout = timeout
    }

    /// Adds a message to the answer, before the one that the handler returns. All of them are applied together, when the
    /// handler has returned; an attempt that fails has sent nothing. An answer has at most 4 MiB.
    ///
    /// - Throws: what the message's own encoding throws.
    public func send(_ message: P.Message) throws {
        let bytes = try MessagePackEncoder().encode(message)
        outbox.messages.withLock { $0.append(bytes) }
    }

    func takeMessages() -> [[UInt8]] {
        outbox.messages.withLock { $0 }
    }
}

private final class JobOutbox: Sendable {
    let messages = Mutex<[[UInt8]]>([])
}
