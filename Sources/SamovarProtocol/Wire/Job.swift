import MessagePack
public import SamovarCore

/// One attempt of one effect, handed to a worker.
///
/// A value that is one reference, for it passes through several hands on both sides.
public struct JobTask: Equatable, Sendable {
    private struct Fields: Equatable, Sendable {
        let effect: EffectID
        let lease: Lease
        let token: UInt64
        let attempt: Int
        let instance: Instance
        let queue: Queue
        let timeout: Duration?
        let resume: StreamPlace?
        let payload: [UInt8]
    }

    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) {
            self.fields = fields
        }
    }

    private let box: Box

    public var effect: EffectID { box.fields.effect }
    public var lease: Lease { box.fields.lease }
    /// A keyed hash over effect and lease; an answer without it is not believed.
    public var token: UInt64 { box.fields.token }
    /// From 1.
    public var attempt: Int { box.fields.attempt }
    public var instance: Instance { box.fields.instance }
    public var queue: Queue { box.fields.queue }
    public var timeout: Duration? { box.fields.timeout }
    /// How far earlier attempts came; nil if they have streamed nothing.
    public var resume: StreamPlace? { box.fields.resume }
    /// The effect in MessagePack.
    public var payload: [UInt8] { box.fields.payload }

    public init(
        effect: EffectID, lease: Lease, token: UInt64, attempt: Int, instance: Instance = .main, queue: Queue = .default,
        timeout: Duration? = nil, resume: StreamPlace? = nil, payload: [UInt8]
    ) {
        box = Box(
            Fields(
                effect: effect, lease: lease, token: token, attempt: attempt, instance: instance, queue: queue, timeout: timeout,
                resume: resume, payload: payload))
    }

    public static func == (a: JobTask, b: JobTask) -> Bool { a.box === b.box || a.box.fields == b.box.fields }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(10)
        writer.write(effect)
        writer.write(lease)
        writer.write(token)
        writer.write(attempt)
        writer.write(instance)
        writer.write(queue.name)
        if let timeout { writer.write(timeout.microseconds / 1_000) } else { writer.writeNil() }
        writer.writeOptional(resume)
        writer.writeBinary(payload)
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(10, of: "a task")
        self.init(
            effect: try reader.readEffect(), lease: try reader.readLease(), token: try reader.readUInt64(),
            attempt: try reader.readInt(), instance: try reader.readInstance(), queue: try reader.readQueue(),
            timeout: try reader.readNil() ? nil : try reader.readMilliseconds(), resume: try reader.readOptionalPlace(),
            payload: try reader.readBinary())
    }
}

extension JobTask: CustomStringConvertible {
    /// What it is, for traces and tests, which would else see no more than that there is a reference.
    public var description: String {
        let place = resume.map { ", resume: \($0)" } ?? ""
        return "JobTask(effect: \(effect), lease: \(lease), attempt: \(attempt), queue: \(queue)\(place), payload: \(payload))"
    }
}

/// A worker's answer to a task.
public struct JobResult: Equatable, Sendable {
    public enum Answer: Equatable, Sendable {
        /// The handler returned; its messages in MessagePack, in order.
        case done([[UInt8]])
        /// The handler threw or ran out of time. A permanent failure is not retried.
        case failed(Failure.Reason, String, permanent: Bool)
        /// Given back unharmed, for another worker: it was not started, or the worker is stopping.
        case returned
        /// A message that is sent before the job ends. Those of one effect are numbered from 1, over all its attempts; with
        /// the checkpoint, the next attempt goes on from here.
        case streamed(index: Int, message: [UInt8], checkpoint: [UInt8]?)

        /// The job goes on after it.
        var isStreamed: Bool {
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
        writer.writeArrayHeader(6)
        writer.write(effect)
        writer.write(lease)
        writer.write(token)
        answer.write(to: &writer)
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(6, of: "a result")
        effect = try reader.readEffect()
        lease = try reader.readLease()
        token = try reader.readUInt64()
        answer = try Answer(from: &reader)
    }
}

extension JobResult.Answer {
    /// Two values: a number for the case, and what belongs to it.
    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .done(let messages):
            writer.write(0)
            writer.writeList(messages) { $1.writeBinary($0) }
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

    init(from reader: inout MessagePackReader) throws {
        let number = try reader.readInt()
        switch number {
        case 0: self = .done(try reader.readList { try $0.readBinary() })
        case 1:
            try reader.readFields(3, of: "a failure")
            let name = try reader.readString()
            guard let reason = Failure.Reason(rawValue: name) else { throw WireError.malformed("unknown reason \(name)") }
            self = .failed(reason, try reader.readString(), permanent: try reader.readBool())
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
