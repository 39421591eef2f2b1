import MessagePack
import SamovarCore
import SamovarWire

/// The tasks that a worker is given in one round, written where each is handed out.
struct TaskBatch {
    /// The body of a frame, and the number of its last task.
    struct Frame {
        let body: [UInt8]
        let number: Int
    }

    private var writer = MessagePackWriter()
    /// How many tasks the writer has, and the number of the last.
    private var count = 0
    private var last = 0
    private var full: [Frame] = []

    /// What a batch that is used again may have held.
    private static var spareBytes: Int { 256 << 10 }

    var isEmpty: Bool { count == 0 }

    /// Adds the next attempt of an open effect.
    ///
    /// - Parameter limit: about the bytes of a frame. A larger task has a frame of its own.
    mutating func append(_ effect: OpenEffect, lease: Lease, token: UInt64, number: Int, limit: Int) {
        if count > 0, writer.count + effect.size + JobTask.overhead > limit { close() }
        JobTask.write(effect, lease: lease, token: token, to: &writer)
        count += 1
        last = number
    }

    /// The frames that bring all of them. The batch is empty then, and keeps its memory.
    mutating func takeFrames() -> [Frame] {
        if count > 0 { close() }
        defer { full = [] }
        return full
    }

    private mutating func close() {
        var body = MessagePackWriter(reserving: writer.count + 5)
        body.writeArrayHeader(count)
        writer.withWritten(0..<writer.count) { body.writeRaw($0) }
        full.append(Frame(body: body.bytes, number: last))
        if writer.count > Self.spareBytes { writer = MessagePackWriter() } else { writer.removeAll() }
        count = 0
    }
}
