import DequeModule
import SamovarCore
import SamovarWire

/// The inputs of a session that have no outcome yet, in their order.
///
/// Everything before `oldest` is answered, so one number confirms all outcomes. `cursor` is the next input to send; going back
/// means to move it, and nothing else.
struct Backlog: Equatable {
    private struct Entry: Equatable {
        let instance: Instance
        /// Nil once it is answered while an older one is not.
        var input: [UInt8]?
        var size: Int { input.map { $0.count + 32 } ?? 0 }
    }

    private var entries: Deque<Entry> = []
    /// The number of the oldest input without an outcome.
    private(set) var oldest = 1
    /// The number of the next input to send.
    private(set) var cursor = 1
    /// Bytes of all inputs without an outcome.
    private(set) var bytes = 0
    /// Bytes of those of them that are sent.
    private(set) var bytesInFlight = 0

    /// The number that the next new input will have.
    var next: Int { oldest + entries.count }
    var count: Int { entries.count }
    var hasInFlight: Bool { cursor > oldest }
    var hasUnsent: Bool { cursor < next }
    /// All outcomes up to this number have come.
    var confirmed: Int { oldest - 1 }

    var unanswered: [Int] {
        entries.indices.filter { entries[$0].input != nil }.map { oldest + $0 }
    }

    init() {}

    /// With inputs of an earlier process, in order; those between them are answered.
    init(restoring inputs: [Submission], next: Int) {
        oldest = inputs.first?.sequence ?? next
        cursor = oldest
        entries = Deque(repeating: Entry(instance: .main, input: nil), count: max(0, next - oldest))
        for input in inputs where input.sequence >= oldest && input.sequence < next {
            let entry = Entry(instance: input.instance, input: input.input)
            entries[input.sequence - oldest] = entry
            bytes += entry.size
        }
    }

    mutating func append(_ input: [UInt8], to instance: Instance) -> Int {
        let entry = Entry(instance: instance, input: input)
        entries.append(entry)
        bytes += entry.size
        return next - 1
    }

    /// The outcome of an input has come: the bytes that are no longer counted; nil if it is known already, or no such input was ever made.
    mutating func answer(_ sequence: Int) -> Int? {
        guard sequence >= oldest, sequence < next else { return nil }
        let index = sequence - oldest
        let size = entries[index].size
        guard size > 0 else { return nil }
        entries[index].input = nil
        bytes -= size
        if sequence < cursor { bytesInFlight -= size }
        // Looked at where it is: a copy would count references.
        while !entries.isEmpty, entries[0].input == nil {
            entries.removeFirst()
            oldest += 1
        }
        cursor = max(cursor, oldest)
        return size
    }

    /// Sends from `sequence` on again, at the earliest from the oldest without an outcome.
    mutating func goBack(to sequence: Int) {
        cursor = min(max(sequence, oldest), cursor)
        bytesInFlight = entries.prefix(cursor - oldest).reduce(0) { $0 + $1.size }
    }

    /// The next inputs to send: none beyond `credit`, the window or the size of a frame. One is always let through if nothing
    /// is in flight, however large it is.
    mutating func takeFrame(credit: Int, settings: ClientMachine.Settings) -> [Submission] {
        var frame: [Submission] = []
        var size = 0
        while cursor < next, cursor <= credit, cursor - oldest < settings.window {
            let entry = entries[cursor - oldest]
            if let input = entry.input {
                if !frame.isEmpty, size + entry.size > settings.frameBytes { break }
                if bytesInFlight > 0, bytesInFlight + entry.size > settings.windowBytes { break }
                frame.append(Submission(sequence: cursor, instance: entry.instance, input: input))
                size += entry.size
                bytesInFlight += entry.size
            }
            cursor += 1
        }
        return frame
    }
}

/// The inputs of a durable client that are answered, and whose outcome nobody has seen yet: the outbox keeps them.
struct UnseenInputs {
    private var sizes: [Int: Int] = [:]
    private(set) var bytes = 0

    var isEmpty: Bool { sizes.isEmpty }
    var oldest: Int? { sizes.keys.min() }

    mutating func insert(_ sequence: Int, bytes size: Int) {
        sizes[sequence] = size
        bytes += size
    }

    /// False if there is no such input.
    mutating func remove(_ sequence: Int) -> Bool {
        guard let size = sizes.removeValue(forKey: sequence) else { return false }
        bytes -= size
        return true
    }
}
