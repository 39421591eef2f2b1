import MessagePack
import SamovarCore

/// The tasks of one frame, beside the frame itself, in which their effects stand.
///
/// A task that was read is a row of it. One object for some hundred tasks, and not one for each: it is made by the thread that reads, and
/// goes in one that has run the last of them.
final class TaskFrame: Sendable {
    struct Row: Sendable {
        let effect: EffectID
        let lease: Lease
        let token: UInt64
        let attempt: Int
        /// The place of its terms.
        let terms: Int
        /// Where its effect stands.
        let payload: Range<Int>
    }

    /// What is nearly always the same for neighbouring tasks, and then kept once for them.
    struct Terms: Equatable, Sendable {
        var instance = Instance.main
        var queue = Queue.default
        var timeout: Duration?
        var resume: StreamPlace?
    }

    let bytes: ArraySlice<UInt8>
    let rows: [Row]
    let terms: [Terms]

    init(_ bytes: ArraySlice<UInt8>, rows: [Row], terms: [Terms]) {
        self.bytes = bytes
        self.rows = rows
        self.terms = terms
    }
}

extension MessagePackReader {
    /// Reads the tasks of a frame, of whose body this is the reader.
    mutating func readTasks(of body: [UInt8]) throws -> [JobTask] {
        let count = try readArrayHeader()
        var rows: [TaskFrame.Row] = []
        rows.reserveCapacity(Swift.min(count, 4_096))
        var known = TaskFrame.Terms()
        var terms = [known]
        for _ in 0..<count {
            try readFields(10, of: "a task")
            let effect = try readEffect()
            let lease = try readLease()
            let token = try readUInt64()
            let attempt = try readInt()
            if let others = try readTerms(unless: known) {
                known = others
                terms.append(others)
            }
            let payload = try readBinaryPlace()
            rows.append(
                TaskFrame.Row(
                    effect: effect, lease: lease, token: token, attempt: attempt, terms: terms.count - 1, payload: payload))
        }
        let frame = TaskFrame(body[...], rows: rows, terms: terms)
        return rows.indices.map { JobTask(row: $0, of: frame) }
    }

    /// The terms of a task; nil if they are these.
    private mutating func readTerms(unless known: borrowing TaskFrame.Terms) throws -> TaskFrame.Terms? {
        let instance = try readInstance()
        let queue = try readQueue(likely: known.queue)
        let timeout: Duration? = try readNil() ? nil : try readMilliseconds()
        let resume = try readOptionalPlace()
        let isKnown =
            timeout == known.timeout && resume == nil && known.resume == nil && instance == known.instance && queue == known.queue
        return isKnown ? nil : TaskFrame.Terms(instance: instance, queue: queue, timeout: timeout, resume: resume)
    }
}
