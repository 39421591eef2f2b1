import DequeModule
public import SamovarCore

/// When a subscriber first saw a view that is at least as new as a turn.
///
/// A view stands for all turns up to its own, so an input waits for the first view of its turn or a later one. That may come before its
/// receipt, so the newest views are remembered for a while.
public struct ViewTracker: Sendable {
    private var seen: Deque<(turn: Int, at: Timestamp)> = []
    private var wanted: [(turn: Int, due: Timestamp)] = []
    /// Inputs that nobody can tell of: too many were waiting.
    public private(set) var unmeasured = 0

    private static let memory = 4_096
    private static let limit = 1 << 20

    public init() {}

    /// Inputs whose view has not come.
    public var waiting: Int { wanted.count }

    /// The store has told of an input. Returns the microseconds from `due` to its view, if that was seen already.
    public mutating func applied(turn: Int, due: Timestamp) -> Int64? {
        guard let newest = seen.last, newest.turn >= turn else {
            if wanted.count < Self.limit { wanted.append((turn, due)) } else { unmeasured += 1 }
            return nil
        }
        var low = 0
        var high = seen.count - 1
        while low < high {
            let middle = (low + high) / 2
            if seen[middle].turn >= turn { high = middle } else { low = middle + 1 }
        }
        return (seen[low].at - due).microseconds
    }

    /// A view has come. Returns the microseconds from when they were due, of all inputs that it shows for the first time.
    public mutating func viewed(turn: Int, now: Timestamp) -> [Int64] {
        guard turn > seen.last?.turn ?? -1 else { return [] }
        if seen.count == Self.memory { seen.removeFirst() }
        seen.append((turn, now))
        let shown = wanted.filter { $0.turn <= turn }
        guard !shown.isEmpty else { return [] }
        wanted.removeAll { $0.turn <= turn }
        return shown.map { (now - $0.due).microseconds }
    }

    /// The turns of one timeline mean nothing in another.
    public mutating func reset() {
        unmeasured += wanted.count
        seen.removeAll()
        wanted.removeAll()
    }
}
