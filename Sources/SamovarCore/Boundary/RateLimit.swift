extension InputGate {
    /// Rejects inputs beyond a rate.
    ///
    /// Each rejection is journalled, as every answer is. The limit keeps the state and the workers of a program from being
    /// flooded; it does not keep the journal from growing.
    ///
    /// - Parameters:
    ///   - count: inputs in each interval, from 1 to a million per second.
    ///   - burst: how many may come at once after a pause; nil for `count`.
    ///   - scope: whose inputs are counted together.
    public static func rateLimit(
        _ count: Int, per interval: Duration, burst: Int? = nil, of scope: RateScope = .session
    ) -> InputGate {
        InputGate("rate limit") {
            var limit = RateLimit(count, per: interval, burst: burst ?? count)
            return { _, _, turn in
                let session: SessionID =
                    if scope == .session, case .client(let session, _) = turn.origin { session } else { .zero }
                return limit.admits(session, now: turn.now) ? nil : "more than \(count) inputs in \(interval)"
            }
        }
    }
}

/// Whose inputs a rate limit counts together.
public enum RateScope: Sendable {
    /// Those of one client session.
    case session
    /// All of them.
    case store
}

/// Token buckets, one for each session.
///
/// A bucket is one number: the time at which it will be full again (the “generic cell rate algorithm” of ATM). Each input moves
/// it by the time that one token takes to come back. A bucket that is full is no different from none, so it is forgotten.
struct RateLimit {
    /// Sessions whose buckets are kept; inputs of others are rejected until a bucket is full.
    static let sessions = 100_000

    private let pause: Int64
    private let depth: Int64
    private var full: [SessionID: Timestamp] = [:]
    /// There is nothing to forget before.
    private var nextPurge = Timestamp(microseconds: .min)

    init(_ count: Int, per interval: Duration, burst: Int) {
        pause = max(1, interval.microseconds / Int64(max(1, count)))
        let (depth, overflow) = pause.multipliedReportingOverflow(by: Int64(max(1, burst)))
        self.depth = overflow ? .max : depth
    }

    mutating func admits(_ session: SessionID, now: Timestamp) -> Bool {
        if full[session] == nil, full.count >= Self.sessions, !purge(now: now) { return false }
        let next = max(full[session] ?? now, now) + .microseconds(pause)
        guard (next - now).microseconds <= depth else { return false }
        full[session] = next
        return true
    }

    /// Forgets buckets that are full; false if there is none.
    private mutating func purge(now: Timestamp) -> Bool {
        guard now >= nextPurge else { return false }
        full = full.filter { $0.value > now }
        nextPurge = full.values.min() ?? now
        return full.count < Self.sessions
    }
}
