import DequeModule
import SamovarCore

/// The answers of a worker that the store has not acknowledged, and before each of them what its job has streamed.
///
/// A result stays until its acknowledgement, for the store may die between taking it and writing it down. How many there are
/// is bounded by the worker's credit, which stops growing at the outbox's limits, and by the window of each stream.
struct Outbox: Equatable {
    private var kept: [Lease: JobResult] = [:]
    /// Streamed messages of each job, with neighbouring numbers.
    private var streams: [Lease: Deque<JobResult>] = [:]
    private var unsent: [JobResult] = []
    private(set) var bytes = 0

    /// Answers, streamed messages not counted.
    var count: Int { kept.count }
    var isEmpty: Bool { kept.isEmpty && streams.isEmpty }
    var hasUnsent: Bool { !unsent.isEmpty }
    /// Some results are sent and not acknowledged.
    var awaitsAcknowledgement: Bool { kept.count + streams.values.reduce(0) { $0 + $1.count } > unsent.count }

    var claims: [JobClaim] {
        kept.values.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
    }

    func holds(_ lease: Lease) -> Bool { kept[lease] != nil }

    mutating func add(_ claim: JobClaim, _ answer: JobResult.Answer) {
        let result = JobResult(effect: claim.effect, lease: claim.lease, token: claim.token, answer: answer)
        if answer.isStreamed {
            streams[claim.lease, default: []].append(result)
        } else {
            kept[claim.lease] = result
        }
        unsent.append(result)
        bytes += result.size
    }

    mutating func forget(_ leases: [Lease]) {
        for lease in leases {
            for message in streams.removeValue(forKey: lease) ?? [] { bytes -= message.size }
            if let result = kept.removeValue(forKey: lease) { bytes -= result.size }
        }
        dropForgotten()
    }

    /// The streamed messages of a job up to this number are on disk.
    mutating func forget(_ mark: StreamMark) {
        guard var messages = streams.removeValue(forKey: mark.lease) else { return }
        while let first = messages.first, first.index <= mark.index {
            bytes -= first.size
            messages.removeFirst()
        }
        if !messages.isEmpty { streams[mark.lease] = messages }
        dropForgotten()
    }

    private mutating func dropForgotten() {
        if !unsent.isEmpty { unsent = unsent.filter(isKept) }
    }

    private func isKept(_ result: JobResult) -> Bool {
        guard result.answer.isStreamed else { return kept[result.lease] != nil }
        guard let first = streams[result.lease]?.first else { return false }
        return result.index >= first.index
    }

    mutating func forgetAll() {
        self = Outbox()
    }

    /// Everything is to be sent again, the oldest lease first, and of each lease what it streamed before its answer.
    mutating func rewind() {
        unsent = Set(kept.keys).union(streams.keys).sorted().flatMap { lease in
            Array(streams[lease] ?? []) + (kept[lease].map { [$0] } ?? [])
        }
    }

    /// What was not sent yet, in frames of at most `limit` bytes; a larger result has a frame of its own.
    mutating func takeUnsent(limit: Int) -> [[JobResult]] {
        defer { unsent.removeAll(keepingCapacity: true) }
        if planted(.resultForgotten) { kept.removeAll() }
        return unsent.grouped(limit: limit, size: { $0.size })
    }
}

extension JobResult {
    /// About the bytes that it takes in a frame.
    var size: Int {
        switch answer {
        case .done(let messages): messages.reduce(64) { $0 + $1.count + 5 }
        case .failed(_, let text, _): 80 + text.utf8.count
        case .returned: 64
        case .streamed(_, let message, let checkpoint): 80 + message.count + (checkpoint?.count ?? 0)
        }
    }

    /// The number of a streamed message; 0 for an answer.
    fileprivate var index: Int {
        if case .streamed(let index, _, _) = answer { index } else { 0 }
    }
}

extension Array {
    /// Neighbours together as long as their sizes add up to at most `limit`.
    func grouped(limit: Int, size: (Element) -> Int) -> [[Element]] {
        // Nearly always all of them fit.
        if reduce(0, { $0 + size($1) }) <= limit { return isEmpty ? [] : [self] }
        var groups: [[Element]] = []
        var start = startIndex
        var total = 0
        for index in indices {
            let next = size(self[index])
            if index > start, total + next > limit {
                groups.append(Array(self[start..<index]))
                start = index
                total = 0
            }
            total += next
        }
        if start < endIndex { groups.append(start == startIndex ? self : Array(self[start...])) }
        return groups
    }
}

extension JobResult.Answer {
    /// An answer that the store can take.
    func bounded(to limit: Int) -> Self {
        switch self {
        case .done(let messages):
            let bytes = messages.reduce(0) { $0 + $1.count }
            guard bytes > limit else { return self }
            return .failed(.unhandled, "an answer of \(bytes) bytes; \(limit) at most", permanent: true)
        case .failed(let reason, let text, let permanent):
            return .failed(reason, String(text.prefix(1_000)), permanent: permanent)
        case .returned, .streamed:
            return self
        }
    }
}
