/// Whether what an agent said can be true at all. Sums and texts are made of it, and no peer shall end the coordinator with a number that
/// overflows or that is none.
extension AgentMessage {
    var isPlausible: Bool {
        switch self {
        case .join, .ready, .alive, .failed: true
        case .connecting(let count): isPlausibleCount(count)
        case .progress(let progress): progress.isPlausible
        case .ledger(_, let sent, _): isPlausibleCount(sent)
        case .result(let result):
            result.counts.isPlausible && result.bytes.isPlausible && isPlausibleCount(result.views)
                && isPlausibleCount(result.withoutView) && result.latencies.applied.isPlausible
                && result.latencies.settled.isPlausible && result.latencies.view.isPlausible
        }
    }
}

/// More than any test counts: a thousand million a second for three days.
private func isPlausibleCount(_ number: Int) -> Bool { (0...1 << 48).contains(number) }

extension AgentProgress {
    fileprivate var isPlausible: Bool {
        isPlausibleCount(Int(elapsed)) && counts.isPlausible && isPlausibleCount(views) && applied.isPlausible
            && (0...1e12).contains(process.processorSeconds) && (0...1 << 60).contains(process.residentBytes)
    }
}

extension ClientCounts {
    fileprivate var isPlausible: Bool { Self.all.allSatisfy { isPlausibleCount(self[keyPath: $0]) } }
}

extension WireBytes {
    fileprivate var isPlausible: Bool { [sent, received, viewed].allSatisfy(isPlausibleCount) }
}

extension Distribution {
    fileprivate var isPlausible: Bool {
        // An HDR histogram of an hour has fewer buckets.
        values.count == counts.count && values.count <= 65_536 && counts.allSatisfy { $0 <= 1 << 32 }
    }
}
