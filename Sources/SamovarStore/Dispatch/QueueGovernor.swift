import SamovarCore

/// What holds a queue back: a pause, and its rules. A class, for all lines of the queue share it.
///
/// With a rule it is handed out for free slots only: jobs that are read ahead begin in heaps, and are out of turn.
final class QueueGovernor {
    private typealias Rate = (rule: QueueRules.Rate, pace: TokenBucket.Pace, bucket: TokenBucket)

    /// A wake-up brings the tokens of about so long.
    private static let patience: Duration = .milliseconds(1)
    /// The most hand-outs in a second.
    private static let most = 100_000
    /// Nobody is kept free for a hand-out that is further away.
    private static let soon: Duration = .seconds(1)

    var isPaused = false
    private(set) var shares: QueueRules.Shares?
    private var limit: Rate?
    /// That of the rule which was taken back last. Its tokens are still away, or who takes it back and sets it again would have all of them.
    private var former: Rate?
    /// A worker is kept free for a suspect of this queue, so a token is, too.
    var keepsOne = false

    /// Whether it holds anything back.
    var isNeeded: Bool { isPaused || limit != nil || shares != nil }

    /// Sets rules in place of the former ones.
    ///
    /// - Parameter isNew: false after a restart. Then all tokens are away, or each restart would give them once more.
    func rule(_ rules: QueueRules, isNew: Bool, now: Timestamp) {
        shares = rules.shares
        guard let rule = rules.rate else {
            if let limit { former = limit }
            limit = nil
            return
        }
        let pace = TokenBucket.Pace(rule.count, per: rule.interval, burst: rule.burst, most: Self.most)
        var bucket = isNew ? TokenBucket() : TokenBucket(emptyAt: now, pace)
        if let former = limit ?? former {
            bucket = former.bucket
            bucket.change(from: former.pace, to: pace, now: now)
        }
        limit = (rule, pace, bucket)
    }

    /// Whether there is nothing to remember.
    var isBlank: Bool { !isNeeded && former == nil }

    /// The same, if a former rate has nothing to remember either.
    func isOver(at now: Timestamp) -> Bool {
        !isNeeded && former.map { $0.bucket.timeWhenFull <= now } ?? true
    }

    /// When something may be handed out; nil if it may now.
    func pause(now: Timestamp, forSuspect: Bool = false) -> Timestamp? {
        guard let limit else { return nil }
        // Where there is room for one, nothing would leave while it is kept; and a suspect is looked at first.
        let isKept = keepsOne && !forSuspect && limit.rule.burst > 1
        let next = limit.bucket.next(isKept ? 2 : 1, limit.pace)
        return next <= now ? nil : next
    }

    /// Whether a suspect may be handed out soon, so that it pays to have a worker free.
    func isReadySoon(now: Timestamp) -> Bool {
        !isPaused && pause(now: now, forSuspect: true).map { $0 <= now + Self.soon } ?? true
    }

    /// When to look again, `pause` being over at that time. A little later there are more tokens, and fewer wake-ups; the bucket
    /// must not be full by then, or some would be lost.
    func wakeUp(at next: Timestamp, now: Timestamp) -> Timestamp {
        guard let limit else { return next }
        return max(next, min(now + Self.patience, limit.bucket.timeWhenHalfFull(limit.pace)))
    }

    /// One was handed out, as `pause` allowed.
    func handOut(now: Timestamp) {
        if let pace = limit?.pace { _ = limit?.bucket.take(pace, now: now) }
    }
}
