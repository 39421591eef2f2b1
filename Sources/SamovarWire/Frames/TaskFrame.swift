import MessagePack
public import SamovarCore

/// The tasks of one frame, beside the frame itself, in which their effects stand.
///
/// A task that was read is a row of it. One object for some hundred tasks, and not one for each: it is made by the thread that reads, and
/// goes in one that has run the last of them.
@usableFromInline
package final class TaskFrame: Sendable {
    @usableFromInline
    package struct Row: Sendable {
        @usableFromInline package let effect: EffectID
        package let lease: Lease
        package let token: UInt64
        package let attempt: Int
        /// The place of its terms.
        @usableFromInline package let terms: Int
        /// Where its effect stands.
        @usableFromInline package let payload: Range<Int>
    }

    /// What is nearly always the same for neighbouring tasks, and then kept once for them.
    @usableFromInline
    package struct Terms: Sendable {
        package let instance: Instance
        package let queue: Queue
        @usableFromInline package let timeout: Duration?
        package let resume: StreamPlace?
    }

    @usableFromInline package let bytes: ArraySlice<UInt8>
    @usableFromInline package let rows: [Row]
    @usableFromInline package let terms: [Terms]

    init(_ bytes: ArraySlice<UInt8>, rows: [Row], terms: [Terms]) {
        self.bytes = bytes
        self.rows = rows
        self.terms = terms
    }
}

extension ShortReader {
    /// Reads a task with the terms of the one before it.
    fileprivate mutating func readTask(repeating known: Range<Int>, terms: Int) -> TaskFrame.Row {
        readArrayHeader(of: 10)
        let (effect, lease, token, attempt) = (readEffect(), readLease(), readUInt64(), readInt())
        skip(repeating: known)
        return TaskFrame.Row(effect: effect, lease: lease, token: token, attempt: attempt, terms: terms, payload: readBinaryPlace())
    }
}

extension MessagePackReader {
    /// Reads the tasks of a frame, of whose body this is the reader.
    mutating func readTasks(of body: [UInt8]) throws -> [JobTask] {
        let count = try readArrayHeader()
        var rows: [TaskFrame.Row] = []
        rows.reserveCapacity(Swift.min(count, 4_096))
        var terms: [TaskFrame.Terms] = []
        // Where those of the task before stand.
        var known = 0..<0
        for _ in 0..<count {
            // Nearly all, in one go.
            if !known.isEmpty, let row = readShort({ $0.readTask(repeating: known, terms: terms.count - 1) }) {
                rows.append(row)
                continue
            }
            try readFields(10, of: "a task")
            let effect = try readEffect()
            let lease = try readLease()
            let token = try readUInt64()
            let attempt = try readInt()
            if known.isEmpty || !skip(repeating: known) {
                let start = position
                terms.append(try readTerms())
                known = start..<position
            }
            let payload = try readBinaryPlace()
            rows.append(
                TaskFrame.Row(
                    effect: effect, lease: lease, token: token, attempt: attempt, terms: terms.count - 1, payload: payload))
        }
        let frame = TaskFrame(body[...], rows: rows, terms: terms)
        return rows.indices.map { JobTask(row: $0, of: frame) }
    }

    private mutating func readTerms() throws -> TaskFrame.Terms {
        TaskFrame.Terms(
            instance: try readInstance(), queue: Queue(try readString()), timeout: try readNil() ? nil : try readMilliseconds(),
            resume: try readOptionalPlace())
    }
}
