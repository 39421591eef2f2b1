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

/// Token buckets, one for each session. One that is full is no different from none, so it is forgotten.
struct RateLimit {
    /// Sessions whose buckets are kept; inputs of others are rejected until a bucket is full.
    static let sessions = 100_000

    private let pace: TokenBucket.Pace
    private var buckets: [SessionID: TokenBucket] = [:]
    /// There is nothing to forget before.
    private var nextPurge = Timestamp(microseconds: .min)

    init(_ count: Int, per interval: Duration, burst: Int) {
        pace = TokenBucket.Pace(count, per: interval, burst: burst, most: 1_000_000)
    }

    mutating func admits(_ session: SessionID, now: Timestamp) -> Bool {
        if buckets[session] == nil, buckets.count >= Self.sessions, !purge(now: now) { return false }
        return buckets[session, default: TokenBucket()].take(pace, now: now)
    }

    /// Forgets buckets that are full; false if there is none.
    private mutating func purge(now: Timestamp) -> Bool {
        guard now >= nextPurge else { return false }
        buckets = buckets.filter { $0.value.timeWhenFull > now }
        nextPurge = buckets.values.map(\.timeWhenFull).min() ?? now
        return buckets.count < Self.sessions
    }
}
