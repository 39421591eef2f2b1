import MessagePack
public import SamovarCore

/// One attempt of one effect, handed to a worker.
///
/// It refers to the open effect where it is handed out, and to what was read where it arrives: it passes through several hands on both
/// sides, and a copy is one reference.
public struct JobTask: Equatable, Sendable {
    private struct Fields: Equatable, Sendable {
        let effect: EffectID
        let attempt: Int
        let instance: Instance
        let queue: Queue
        let timeout: Duration?
        let resume: StreamPlace?
        let payload: ArraySlice<UInt8>
    }

    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) {
            self.fields = fields
        }
    }

    private enum Work: Sendable {
        case handedOut(OpenEffect)
        case read(Box)
    }

    public let lease: Lease
    /// A keyed hash over effect and lease; an answer without it is not believed.
    public let token: UInt64
    private let work: Work

    public var effect: EffectID {
        switch work {
        case .handedOut(let effect): effect.id
        case .read(let box): box.fields.effect
        }
    }

    /// From 1.
    public var attempt: Int {
        switch work {
        case .handedOut(let effect): effect.failures + effect.deaths + 1
        case .read(let box): box.fields.attempt
        }
    }

    public var instance: Instance {
        switch work {
        case .handedOut(let effect): effect.instance
        case .read(let box): box.fields.instance
        }
    }

    public var queue: Queue {
        switch work {
        case .handedOut(let effect): effect.queue
        case .read(let box): box.fields.queue
        }
    }

    public var timeout: Duration? {
        switch work {
        case .handedOut(let effect): effect.timeout
        case .read(let box): box.fields.timeout
        }
    }

    /// How far earlier attempts came; nil if they have streamed nothing.
    public var resume: StreamPlace? {
        switch work {
        case .handedOut(let effect):
            planted(.checkpointForgotten) ? effect.place.map { StreamPlace(index: $0.index) } : effect.place
        case .read(let box): box.fields.resume
        }
    }

    /// The effect in MessagePack. Where the task was read, it stands in the frame that it came in, which is kept as long as the task is.
    public var payload: ArraySlice<UInt8> {
        switch work {
        case .handedOut(let effect): effect.payload[...]
        case .read(let box): box.fields.payload
        }
    }

    /// About the bytes that it takes in a frame.
    var size: Int {
        switch work {
        case .handedOut(let effect): effect.size + 56
        case .read(let box): box.fields.payload.count + 56
        }
    }

    /// The next attempt of an open effect.
    init(_ effect: consuming OpenEffect, lease: Lease, token: UInt64) {
        self.lease = lease
        self.token = token
        work = .handedOut(effect)
    }

    public init(
        effect: EffectID, lease: Lease, token: UInt64, attempt: Int, instance: Instance = .main, queue: Queue = .default,
        timeout: Duration? = nil, resume: StreamPlace? = nil, payload: ArraySlice<UInt8>
    ) {
        self.lease = lease
        self.token = token
        work = .read(
            Box(
                Fields(
                    effect: effect, attempt: attempt, instance: instance, queue: queue, timeout: timeout, resume: resume,
                    payload: payload)))
    }

    public static func == (a: JobTask, b: JobTask) -> Bool { a.lease == b.lease && a.token == b.token && a.fields == b.fields }

    private var fields: Fields {
        switch work {
        case .handedOut:
            Fields(
                effect: effect, attempt: attempt, instance: instance, queue: queue, timeout: timeout, resume: resume,
                payload: payload)
        case .read(let box): box.fields
        }
    }

    func write(to writer: inout MessagePackWriter) {
        switch work {
        case .handedOut(let effect) where effect.isUsual: write(usual: effect, to: &writer)
        default: writeInFull(to: &writer)
        }
    }

    private func write(usual effect: OpenEffect, to writer: inout MessagePackWriter) {
        effect.withPayload { payload in
            Self.usualFields.withUnsafeBytes { fields in
                writer.writeShort(9, bytes: fields.count + payload.count) {
                    writeHead(to: &$0, effect: effect.id, attempt: 1)
                    $0.append(fields)
                    $0.writeBinary(payload)
                }
            }
        }
    }

    private func writeInFull(to writer: inout MessagePackWriter) {
        writer.writeShort(8) { writeHead(to: &$0, effect: effect, attempt: attempt) }
        writer.write(instance)
        writer.write(queue.name)
        if let timeout { writer.write(timeout.microseconds / 1_000) } else { writer.writeNil() }
        writer.writeOptional(resume)
        writer.writeBinary(payload)
    }

    /// Eight values.
    private func writeHead(to values: inout ShortWriter, effect: EffectID, attempt: Int) {
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

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(10, of: "a task")
        self.init(
            effect: try reader.readEffect(), lease: try reader.readLease(), token: try reader.readUInt64(),
            attempt: try reader.readInt(), instance: try reader.readInstance(), queue: try reader.readQueue(),
            timeout: try reader.readNil() ? nil : try reader.readMilliseconds(), resume: try reader.readOptionalPlace(),
            payload: try reader.readBinarySlice())
    }
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
        writer.writeShort(7) {
            $0.writeArrayHeader(6)
            $0.write(effect)
            $0.write(lease)
            $0.write(token)
        }
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

    init(from reader: inout MessagePackReader) throws {
        let number = try reader.readInt()
        switch number {
        case 0: self = .done(try MessageList(from: &reader))
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
