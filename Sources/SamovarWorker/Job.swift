public import MessagePack
public import SamovarCore
import SamovarPeers
import SamovarWire

/// One attempt of one effect, as its handler sees it. It may be used from any task of the handler, until the handler returns.
public struct Job<P: Program>: Sendable {
    /// The identity of the effect, the same in every attempt: hand it to other services as their idempotency key. It begins with
    /// the timeline of the journal: in a new one, as an import or a salvage makes it, it is another key.
    public var key: String { context.key }
    /// From 1.
    public var attempt: Int { context.job.task.attempt }
    /// Of the program that ordered it.
    public var instance: Instance { context.job.task.instance }
    /// The queue in which it was ordered.
    public var queue: Queue { context.job.task.queue }
    /// How long this attempt may take; its task is cancelled then.
    public var timeout: Duration? { context.job.task.timeout }
    /// When this attempt is cancelled; nil if it may take as long as it likes.
    public var deadline: ContinuousClock.Instant? { context.limit?.deadline }
    /// How far earlier attempts came with `stream`; nil if none has streamed anything.
    public var resume: Resume? { context.job.task.resume.map { Resume(index: $0.index, bytes: $0.checkpoint) } }
    /// Keeps all that the job is, so that a copy of a job is a reference.
    @usableFromInline let context: JobContext
    @usableFromInline let encode: @Sendable (P.Message) throws -> [UInt8]

    @inlinable
    init(_ context: JobContext) {
        self.context = context
        encode = { try MessagePackEncoder().encode($0) }
    }

    /// This job as the handler of a child program sees it: what the child sends becomes a message of the parent.
    public func lift<Child: Program>(
        _ child: Child.Type = Child.self, message: @escaping @Sendable (Child.Message) -> P.Message
    ) -> Job<Child> {
        Job<Child>(of: self) { [encode] in try encode(message($0)) }
    }

    private init<Parent: Program>(of job: Job<Parent>, encode: @escaping @Sendable (P.Message) throws -> [UInt8]) {
        context = job.context
        self.encode = encode
    }

    /// Adds a message to the answer, before the one that the handler returns. All of them are applied together, when the
    /// handler has returned; an attempt that fails has sent nothing. An answer has at most 4 MiB, of which each
    /// message takes 5 bytes beside its own.
    ///
    /// - Throws: what the message's own encoding throws.
    public func send(_ message: P.Message) throws {
        context.collect(try encode(message))
    }

    /// Sends a message at once. It is applied once and in order, even if this attempt dies later: the next one finds in
    /// `resume` how many messages there were. So a handler that streams begins after `resume`, or it streams things twice.
    ///
    /// Waits while 64 messages or 4 MiB of this job are not on disk; its return does not mean that this one is. A message has at
    /// most 1 MiB, with its checkpoint if it has one.
    ///
    /// - Throws: `StreamError`; `CancellationError` if nobody wants the messages any more; what the message's own encoding throws.
    public func stream(_ message: P.Message) async throws {
        try await context.stream(try encode(message), checkpoint: nil)
    }

    /// Sends a message at once, and with it the place at which another attempt shall go on. Both are on disk, or neither.
    ///
    /// A checkpoint is progress: failed attempts before it do not count any more, and a worker that drains stops the job
    /// there, because nothing of it is lost.
    ///
    /// - Parameter checkpoint: at most 64 KiB, and with the message at most 1 MiB. It replaces the one before.
    /// - Throws: as `stream(_:)`, and what the checkpoint's own encoding throws.
    public func stream(_ message: P.Message, checkpoint: some Encodable & Sendable) async throws {
        try await context.stream(try encode(message), checkpoint: try MessagePackEncoder().encode(checkpoint))
    }

    /// Tells people how far the job is: in `effects`, `status` and nowhere else. It is told now and then, kept by nobody and
    /// lost with the worker.
    ///
    /// - Parameters:
    ///   - fraction: 0 to 1.
    ///   - text: at most 200 characters.
    public func progress(_ fraction: Double? = nil, _ text: String? = nil) {
        context.progress(JobProgress(fraction: fraction, text: text))
    }

    /// - Throws: `CancellationError` if nobody wants the answer any more: the effect was cancelled or ran out of time, or this
    ///   worker has to stop. For code that does not suspend.
    public func checkCancelled() throws {
        try Task.checkCancellation()
    }

    /// How far earlier attempts of an effect came.
    public struct Resume: Sendable {
        /// How many messages of this effect are applied.
        public let index: Int
        fileprivate let bytes: [UInt8]?

        /// The newest checkpoint, nil if none was given. Messages that were streamed after it without one are counted in `index`.
        ///
        /// - Throws: `DecodingError` if it is of another type, as one of an older build may be.
        public func checkpoint<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value? {
            try bytes.map { try MessagePackDecoder().decode(type, from: $0) }
        }
    }
}

/// Why a message was not streamed.
public enum StreamError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A message that is too large with its checkpoint.
    case tooLarge(bytes: Int, limit: Int)
    /// A checkpoint that is too large.
    case checkpointTooLarge(bytes: Int, limit: Int)
    /// The handler has returned.
    case ended

    /// What is too large of a message with its checkpoint; nil if nothing is.
    package init?(messageBytes: Int, checkpointBytes: Int) {
        let bytes = messageBytes + checkpointBytes
        if checkpointBytes > StreamWindow.checkpointLimit {
            self = .checkpointTooLarge(bytes: checkpointBytes, limit: StreamWindow.checkpointLimit)
        } else if bytes > StreamWindow.messageLimit {
            self = .tooLarge(bytes: bytes, limit: StreamWindow.messageLimit)
        } else {
            return nil
        }
    }

    /// What is too large, or over.
    public var description: String {
        switch self {
        case .tooLarge(let bytes, let limit): "a streamed message of \(bytes) bytes with its checkpoint; \(limit) at most"
        case .checkpointTooLarge(let bytes, let limit): "a checkpoint of \(bytes) bytes; \(limit) at most"
        case .ended: "the handler of this job has returned: nothing can be streamed any more"
        }
    }
}
