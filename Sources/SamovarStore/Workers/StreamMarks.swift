import SamovarCore
import SamovarWire

/// The newest acknowledgement of each job that streams, until it is sent.
///
/// While too many effects are open, none is sent, because streams would open more: a job without an acknowledgement streams no more than
/// its window. Yet such a job holds a slot that the open effects may be waiting for. So where no job has ended from one tick to the next,
/// those that have an end may go on for another window; sources have none, and wait.
struct StreamMarks {
    private var marks: [Route: [Lease: Int]] = [:]
    private var ofSources: Set<Lease> = []
    /// Some have waited since the tick before the last one, and no job has ended since.
    private var isStalled = false
    /// How many answers of jobs there were at the last tick; nil if nothing waited then.
    private var resultsAtTick: Int?

    var isEmpty: Bool { marks.isEmpty }

    mutating func note(_ mark: StreamMark, isOfSource: Bool = false, for route: Route) {
        if isOfSource { ofSources.insert(mark.lease) }
        let known = marks[route]?[mark.lease] ?? mark.index
        marks[route, default: [:]][mark.lease] = max(known, mark.index)
    }

    mutating func remove(_ route: Route) {
        marks[route] = nil
    }

    /// Called each tick, with the number of answers that jobs have given so far.
    mutating func tick(results: Int) {
        isStalled = !isEmpty && resultsAtTick == results
        resultsAtTick = isEmpty ? nil : results
    }

    /// Those that may be sent now.
    mutating func takeDue(isOverLimit: Bool) -> [(route: Route, marks: [StreamMark])] {
        guard !isEmpty, !isOverLimit || isStalled else { return [] }
        isStalled = false
        resultsAtTick = nil
        return takeAll(withSources: !isOverLimit)
    }

    /// In a fixed order: the same events always give the same frames.
    mutating func takeAll(withSources: Bool) -> [(route: Route, marks: [StreamMark])] {
        var taken = marks
        if withSources {
            marks.removeAll(keepingCapacity: true)
            ofSources.removeAll(keepingCapacity: true)
        } else {
            taken = marks.mapValues { $0.filter { !ofSources.contains($0.key) } }.filter { !$0.value.isEmpty }
            marks = marks.mapValues { $0.filter { ofSources.contains($0.key) } }.filter { !$0.value.isEmpty }
        }
        return taken.sorted { $0.key < $1.key }.map { route, leases in
            (route, leases.sorted { $0.key < $1.key }.map { StreamMark(lease: $0.key, index: $0.value) })
        }
    }
}
