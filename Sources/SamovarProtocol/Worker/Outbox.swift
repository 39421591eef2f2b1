import DequeModule
import SamovarCore

/// The answers of a worker that the store has not acknowledged, and before each of them what its job has streamed.
///
/// A result stays until its acknowledgement, for the store may die between taking it and writing it down. How many there are
/// is bounded by the worker's credit, which stops growing at the outbox's limits, and by the window of each stream.
struct Outbox: Equatable {
    /// Answers that were sent, in the order in which they were.
    private var sent: Deque<JobResult> = []
    /// Streamed messages of each job, with neighbouring numbers, sent or not.
    private var streams: [Lease: Deque<JobResult>] = [:]
    /// Answers and streamed messages that are to be sent.
    private var unsent: [JobResult] = []
    private var unsentBytes = 0
    /// How many of them are streamed.
    private var unsentStreamed = 0
    private(set) var bytes = 0

    /// Answers, streamed messages not counted.
    var count: Int { sent.count + unsent.count - unsentStreamed }
    var isEmpty: Bool { count == 0 && streams.isEmpty }
    var hasUnsent: Bool { !unsent.isEmpty }
    /// Some results are sent and not acknowledged.
    var awaitsAcknowledgement: Bool {
        !sent.isEmpty || streams.values.reduce(0) { $0 + $1.count } > unsentStreamed
    }

    var claims: [JobClaim] {
        answers.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
    }

    private var answers: [JobResult] { sent + unsent.filter { !$0.answer.isStreamed } }

    /// Looks at each answer.
    func holds(_ lease: Lease) -> Bool {
        sent.contains { $0.lease == lease } || unsent.contains { $0.lease == lease && !$0.answer.isStreamed }
    }

    mutating func add(_ claim: JobClaim, _ answer: JobResult.Answer) {
        let result = JobResult(effect: claim.effect, lease: claim.lease, token: claim.token, answer: answer)
        let size = result.size
        bytes += size
        unsentBytes += size
        if answer.isStreamed {
            streams[claim.lease, default: []].append(result)
            unsentStreamed += 1
        }
        unsent.append(result)
    }

    mutating func forget(_ leases: [Lease]) {
        var others: Set<Lease> = []
        for lease in leases {
            if !streams.isEmpty, let messages = streams.removeValue(forKey: lease) {
                for message in messages { bytes -= message.size }
                others.insert(lease)
            }
            // Nearly always, answers are acknowledged in the order in which they were sent.
            if !sent.isEmpty, sent[0].lease == lease {
                bytes -= sent.removeFirst().size
            } else {
                others.insert(lease)
            }
        }
        guard !others.isEmpty else { return }
        sent.removeAll { result in
            guard others.contains(result.lease) else { return false }
            bytes -= result.size
            return true
        }
        dropUnsent { others.contains($0.lease) }
    }

    /// The streamed messages of a job up to this number are on disk.
    mutating func forget(_ mark: StreamMark) {
        guard var messages = streams.removeValue(forKey: mark.lease) else { return }
        while let first = messages.first, first.index <= mark.index {
            bytes -= first.size
            messages.removeFirst()
        }
        if !messages.isEmpty { streams[mark.lease] = messages }
        guard unsentStreamed > 0 else { return }
        dropUnsent { $0.lease == mark.lease && $0.answer.isStreamed && $0.index <= mark.index }
    }

    /// Streamed messages are counted with their streams, answers here.
    private mutating func dropUnsent(_ isForgotten: (JobResult) -> Bool) {
        guard !unsent.isEmpty else { return }
        unsent.removeAll { result in
            guard isForgotten(result) else { return false }
            unsentBytes -= result.size
            if result.answer.isStreamed { unsentStreamed -= 1 } else { bytes -= result.size }
            return true
        }
    }

    mutating func forgetAll() {
        self = Outbox()
    }

    /// Everything is to be sent again, the oldest lease first, and of each lease what it streamed before its answer.
    mutating func rewind() {
        let answers = Dictionary(answers.map { ($0.lease, $0) }) { first, _ in first }
        unsent = Set(answers.keys).union(streams.keys).sorted().flatMap { lease in
            Array(streams[lease] ?? []) + (answers[lease].map { [$0] } ?? [])
        }
        unsentBytes = unsent.reduce(0) { $0 + $1.size }
        unsentStreamed = streams.values.reduce(0) { $0 + $1.count }
        sent.removeAll()
    }

    /// What was not sent yet, in frames of at most `limit` bytes; a larger result has a frame of its own.
    mutating func takeUnsent(limit: Int) -> [[JobResult]] {
        guard !unsent.isEmpty else { return [] }
        let results = unsent
        let frames = unsentBytes <= limit ? [results] : results.grouped(limit: limit, size: { $0.size })
        if unsentStreamed == 0 { sent += results } else { sent += results.lazy.filter { !$0.answer.isStreamed } }
        if planted(.resultForgotten) { sent.removeAll() }
        unsent = []
        unsent.reserveCapacity(results.count)
        unsentBytes = 0
        unsentStreamed = 0
        return frames
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
