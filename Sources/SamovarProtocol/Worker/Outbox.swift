import SamovarCore

/// The answers of a worker that the store has not acknowledged.
///
/// A result stays until its acknowledgement, for the store may die between taking it and writing it down. How many there are
/// is bounded by the worker's credit, which stops growing at the outbox's limits.
struct Outbox: Equatable {
    private var kept: [Lease: JobResult] = [:]
    private var unsent: [JobResult] = []
    private(set) var bytes = 0

    var count: Int { kept.count }
    var isEmpty: Bool { kept.isEmpty }
    var hasUnsent: Bool { !unsent.isEmpty }
    /// Some results are sent and not acknowledged.
    var awaitsAcknowledgement: Bool { kept.count > unsent.count }

    var claims: [JobClaim] {
        kept.values.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
    }

    func holds(_ lease: Lease) -> Bool { kept[lease] != nil }

    mutating func add(_ claim: JobClaim, _ answer: JobResult.Answer) {
        let result = JobResult(effect: claim.effect, lease: claim.lease, token: claim.token, answer: answer)
        kept[claim.lease] = result
        unsent.append(result)
        bytes += result.size
    }

    mutating func forget(_ leases: [Lease]) {
        var hasForgottenUnsent = false
        for lease in leases {
            guard let result = kept.removeValue(forKey: lease) else { continue }
            bytes -= result.size
            hasForgottenUnsent = hasForgottenUnsent || !unsent.isEmpty
        }
        if hasForgottenUnsent { unsent.removeAll { kept[$0.lease] == nil } }
    }

    mutating func forgetAll() {
        self = Outbox()
    }

    /// Everything is to be sent again, the oldest lease first.
    mutating func rewind() {
        unsent = kept.values.sorted { $0.lease < $1.lease }
    }

    /// What was not sent yet, in frames of at most `limit` bytes; a larger result has a frame of its own.
    mutating func takeUnsent(limit: Int) -> [[JobResult]] {
        defer { unsent.removeAll(keepingCapacity: true) }
        if planted(.resultForgotten) { kept.removeAll() }
        return unsent.grouped(limit: limit, size: \.size)
    }
}

extension JobResult {
    /// About the bytes that it takes in a frame.
    var size: Int {
        switch answer {
        case .done(let messages): messages.reduce(64) { $0 + $1.count + 5 }
        case .failed(_, let text, _): 80 + text.utf8.count
        case .returned: 64
        }
    }
}

extension Array {
    /// Neighbours together as long as their sizes add up to at most `limit`.
    func grouped(limit: Int, size: (Element) -> Int) -> [[Element]] {
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
