import SamovarWire

extension [Outcome] {
    /// The same in order, in parts that a peer takes as one message: each has at most 1 MiB of texts and refusals.
    func forEachPart(_ body: ([Outcome]) -> Void) {
        let limit = 1 << 20
        // Nearly always, no sum is needed to know that it is one part.
        guard count > limit / Outcome.Verdict.refusalLimit else { return body(self) }
        var (begin, bytes) = (startIndex, 0)
        for (place, outcome) in enumerated() {
            bytes += outcome.verdict.bytes
            guard bytes > limit else { continue }
            body(Array(self[begin..<place]))
            (begin, bytes) = (place, outcome.verdict.bytes)
        }
        body(begin == startIndex ? self : Array(self[begin...]))
    }
}

extension Outcome.Verdict {
    /// What its text or its refusal takes.
    fileprivate var bytes: Int {
        switch self {
        case .applied: 0
        case .refused(let bytes): bytes.count
        case .rejected(let text): text.utf8.count
        }
    }
}
