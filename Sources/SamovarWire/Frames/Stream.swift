package import MessagePack
public import SamovarCore

/// How far the attempts of an effect have come with the messages that they stream.
public struct StreamPlace: Equatable, Sendable {
    /// The number of the newest message that was applied, from 1.
    public var index: Int
    /// The newest checkpoint that came with one of them.
    public var checkpoint: [UInt8]?

    public init(index: Int, checkpoint: [UInt8]? = nil) {
        self.index = index
        self.checkpoint = checkpoint
    }
}

/// Streamed messages of a job up to this number are applied and on disk, or not wanted any more.
public struct StreamMark: Equatable, Sendable {
    public var lease: Lease
    public var index: Int

    public init(lease: Lease, index: Int) {
        self.lease = lease
        self.index = index
    }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(lease)
        writer.write(index)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(2, of: "a stream mark")
        lease = try reader.readLease()
        index = try reader.readCount()
    }
}

/// What a running job tells of itself; for people, and kept by nobody.
public struct JobProgress: Equatable, Sendable {
    /// 0 to 1.
    public var fraction: Double?
    /// At most 200 characters.
    public var text: String?

    public static let textLimit = 200

    public init(fraction: Double? = nil, text: String? = nil) {
        self.fraction = fraction.flatMap { $0.isFinite ? min(max($0, 0), 1) : nil }
        self.text = text.map { $0.bounded(to: Self.textLimit) }
    }
}

/// The progress of one job.
public struct ProgressReport: Equatable, Sendable {
    public var effect: EffectID
    public var lease: Lease
    public var progress: JobProgress

    public init(effect: EffectID, lease: Lease, progress: JobProgress) {
        self.effect = effect
        self.lease = lease
        self.progress = progress
    }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(5)
        writer.write(effect)
        writer.write(lease)
        if let fraction = progress.fraction { writer.write(fraction) } else { writer.writeNil() }
        if let text = progress.text { writer.write(text) } else { writer.writeNil() }
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(5, of: "a progress")
        effect = try reader.readEffect()
        lease = try reader.readLease()
        let fraction = try reader.readNil() ? nil : try reader.readDouble()
        progress = JobProgress(fraction: fraction, text: try reader.readNil() ? nil : try reader.readString())
    }
}

extension MessagePackWriter {
    package mutating func writeOptional(_ bytes: [UInt8]?) {
        if let bytes { writeBinary(bytes) } else { writeNil() }
    }

    package mutating func writeOptional(_ place: StreamPlace?) {
        guard let place else { return writeNil() }
        writeArrayHeader(2)
        write(place.index)
        writeOptional(place.checkpoint)
    }
}

extension MessagePackReader {
    mutating func readOptionalBinary() throws -> [UInt8]? {
        try readNil() ? nil : try readBinary()
    }

    mutating func readOptionalPlace() throws -> StreamPlace? {
        if try readNil() { return nil }
        try readFields(2, of: "a place in a stream")
        return StreamPlace(index: try readCount(), checkpoint: try readOptionalBinary())
    }
}
