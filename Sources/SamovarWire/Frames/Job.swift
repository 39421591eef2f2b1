package import MessagePack
public import SamovarCore

/// One attempt of one effect, handed to a worker.
///
/// It refers to the frame that it came in: it passes through several hands, and a copy is one reference.
public struct JobTask: Equatable, Sendable {
    public let lease: Lease
    /// A keyed hash over effect and lease; an answer without it is not believed.
    public let token: UInt64
    @usableFromInline let frame: TaskFrame
    @usableFromInline let row: Int

    @inlinable public var effect: EffectID { frame.rows[row].effect }
    /// From 1.
    public var attempt: Int { frame.rows[row].attempt }
    public var instance: Instance { terms.instance }
    public var queue: Queue { terms.queue }
    @inlinable public var timeout: Duration? { frame.terms[frame.rows[row].terms].timeout }
    /// How far earlier attempts came; nil if they have streamed nothing.
    public var resume: StreamPlace? { terms.resume }
    /// The effect in MessagePack. It stands in the frame, which is kept as long as the task is.
    @inlinable public var payload: ArraySlice<UInt8> { frame.bytes[frame.rows[row].payload] }

    private var terms: TaskFrame.Terms { frame.terms[frame.rows[row].terms] }

    /// About the bytes that a task takes in a frame, besides those of its effect.
    @inlinable package static var overhead: Int { 56 }

    public init(
        effect: EffectID, lease: Lease, token: UInt64, attempt: Int, instance: Instance = .main, queue: Queue = .default,
        timeout: Duration? = nil, resume: StreamPlace? = nil, payload: ArraySlice<UInt8>
    ) {
        let terms = TaskFrame.Terms(instance: instance, queue: queue, timeout: timeout, resume: resume)
        let row = TaskFrame.Row(effect: effect, lease: lease, token: token, attempt: attempt, terms: 0, payload: payload.indices)
        self.init(row: 0, of: TaskFrame(payload, rows: [row], terms: [terms]))
    }

    /// A task that was read.
    package init(row: Int, of frame: TaskFrame) {
        lease = frame.rows[row].lease
        token = frame.rows[row].token
        (self.frame, self.row) = (frame, row)
    }

    public static func == (a: JobTask, b: JobTask) -> Bool {
        a.lease == b.lease && a.token == b.token && a.effect == b.effect && a.attempt == b.attempt && a.instance == b.instance
            && a.queue == b.queue && a.timeout == b.timeout && a.resume == b.resume && a.payload == b.payload
    }

    func write(to writer: inout MessagePackWriter) {
        payload.withUnsafeBytes { Self.write(effect, lease, token, attempt: attempt, terms, $0, to: &writer) }
    }

    /// Writes the next attempt of an open effect.
    package static func write(_ effect: OpenEffect, lease: Lease, token: UInt64, to writer: inout MessagePackWriter) {
        effect.withPayload { payload in
            guard effect.isUsual else {
                let terms = TaskFrame.Terms(
                    instance: effect.instance, queue: effect.queue, timeout: effect.timeout, resume: effect.place)
                let attempt = effect.failures + effect.deaths + 1
                return write(effect.id, lease, token, attempt: attempt, terms, payload, to: &writer)
            }
            usualFields.withUnsafeBytes { fields in
                writer.writeShort(9, bytes: fields.count + payload.count) {
                    writeHead(to: &$0, effect: effect.id, lease: lease, token: token, attempt: 1)
                    $0.append(fields)
                    $0.writeBinary(payload)
                }
            }
        }
    }

    private static func write(
        _ effect: EffectID, _ lease: Lease, _ token: UInt64, attempt: Int, _ terms: TaskFrame.Terms,
        _ payload: UnsafeRawBufferPointer, to writer: inout MessagePackWriter
    ) {
        writer.writeShort(8) { writeHead(to: &$0, effect: effect, lease: lease, token: token, attempt: attempt) }
        writer.write(terms.instance)
        writer.write(terms.queue.name)
        if let timeout = terms.timeout { writer.write(wholeMilliseconds(timeout)) } else { writer.writeNil() }
        writer.writeOptional(terms.resume)
        writer.writeBinary(payload)
    }

    /// Rounded up: a job with a limit of nothing is stopped as it begins. As many as can be read at most.
    private static func wholeMilliseconds(_ timeout: Duration) -> Int64 {
        let (whole, rest) = timeout.microseconds.quotientAndRemainder(dividingBy: 1_000)
        return timeout > .zero ? min(max(1, rest > 0 ? whole + 1 : whole), Int64.max / 1_000) : whole
    }

    /// Eight values.
    private static func writeHead(to values: inout ShortWriter, effect: EffectID, lease: Lease, token: UInt64, attempt: Int) {
        values.writeArrayHeader(10)
        values.write(effect)
        values.write(lease)
        values.write(token)
        values.write(attempt)
    }

    /// Instance, queue, timeout and place of nearly all tasks.
    private static let usualFields: [UInt8] = {
        var writer = MessagePackWriter()
        writer.write(Instance.main)
        writer.write(Queue.default.name)
        writer.writeNil()
        writer.writeNil()
        return writer.bytes
    }()
}

extension JobTask: CustomStringConvertible {
    /// What it is, for traces and tests, which would else see no more than that there is a reference.
    public var description: String {
        let place = resume.map { ", resume: \($0)" } ?? ""
        let payload = Array(payload)
        return "JobTask(effect: \(effect), lease: \(lease), attempt: \(attempt), queue: \(queue)\(place), payload: \(payload))"
    }
}

/// A worker's answer to a task.
public struct JobResult: Equatable, Sendable {
    public enum Answer: Equatable, Sendable {
        /// The handler returned; its messages in MessagePack, in order.
        case done(MessageList)
        /// The handler threw or ran out of time. A permanent failure is not retried.
        case failed(Failure.Reason, String, permanent: Bool)
        /// Given back unharmed, for another worker: it was not started, or the worker is stopping.
        case returned
        /// A message that is sent before the job ends. Those of one effect are numbered from 1, over all its attempts; with
        /// the checkpoint, the next attempt goes on from here.
        case streamed(index: Int, message: [UInt8], checkpoint: [UInt8]?)

        /// The job goes on after it.
        @inlinable package var isStreamed: Bool {
            if case .streamed = self { true } else { false }
        }
    }

    public var effect: EffectID
    public var lease: Lease
    public var token: UInt64
    public var answer: Answer

    public init(effect: EffectID, lease: Lease, token: UInt64, answer: Answer) {
        self.effect = effect
        self.lease = lease
        self.token = token
        self.answer = answer
    }

    func write(to writer: inout MessagePackWriter) {
        JobClaim(effect: effect, lease: lease, token: token).write(answer, to: &writer)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(6, of: "a result")
        effect = try reader.readEffect()
        lease = try reader.readLease()
        token = try reader.readUInt64()
        answer = try Answer(from: &reader)
    }
}

extension JobClaim {
    package func write(_ answer: JobResult.Answer, to writer: inout MessagePackWriter) {
        writer.writeShort(7) { $0.write(self) }
        answer.write(to: &writer)
    }

    /// Writes the result of this job, one message.
    package func write(message: UnsafeRawBufferPointer, to writer: inout MessagePackWriter) {
        writer.writeShort(10, bytes: message.count) {
            $0.write(self)
            $0.write(0)
            $0.writeArrayHeader(1)
            $0.writeBinary(message)
        }
    }
}

extension ShortWriter {
    /// The beginning of a result: seven values.
    fileprivate mutating func write(_ claim: JobClaim) {
        writeArrayHeader(6)
        write(claim.effect)
        write(claim.lease)
        write(claim.token)
    }
}

extension JobResult.Answer {
    /// Two values: a number for the case, and what belongs to it.
    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .done(let messages):
            writer.write(0)
            writer.writeArrayHeader(messages.count)
            for message in messages { writer.writeBinary(message) }
        case .failed(let reason, let text, let permanent):
            writer.write(1)
            writer.writeArrayHeader(3)
            writer.write(reason.rawValue)
            writer.write(text)
            writer.write(permanent)
        case .returned:
            writer.write(2)
            writer.writeNil()
        case .streamed(let index, let message, let checkpoint):
            writer.write(3)
            writer.writeArrayHeader(3)
            writer.write(index)
            writer.writeBinary(message)
            writer.writeOptional(checkpoint)
        }
    }

    package init(from reader: inout MessagePackReader) throws {
        let number = try reader.readInt()
        switch number {
        case 0: self = .done(try MessageList(from: &reader))
        case 1:
            try reader.readFields(3, of: "a failure")
            self = .failed(try reader.readReason(), try reader.readString(), permanent: try reader.readBool())
        case 2:
            guard try reader.readNil() else { throw WireError.malformed("a returned job carries nothing") }
            self = .returned
        case 3:
            try reader.readFields(3, of: "a streamed message")
            self = .streamed(
                index: try reader.readCount(), message: try reader.readBinary(), checkpoint: try reader.readOptionalBinary())
        default: throw WireError.malformed("unknown answer \(number)")
        }
    }
}
