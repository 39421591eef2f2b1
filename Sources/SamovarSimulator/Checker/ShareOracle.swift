import SamovarCore

/// The shares of one queue, as the checker keeps them: of two labels that both have effects waiting all the time, each is handed out as
/// often as its weight says, but for a few.
///
/// What waits inside of the store is not seen. So a label counts as waiting only while there is an effect that must have been in line, the
/// witness, whenever one of those that leave now was handed out: it was there before the store heard of the commit before, and has
/// not left yet. And how often labels were served is compared only over times in which neither was without one. What was handed out and
/// has never left, because its worker was gone when its turn was on disk, may have been of any label, and is counted for whichever had less.
struct ShareOracle {
    /// How often a label was served. An attempt after another may have been one of those that are offered alone, out of turn.
    private struct Served {
        var surely = 0
        var perhaps = 0
    }

    private struct Pair: Hashable {
        let a: Label?
        let b: Label?
    }

    private let shares: QueueRules.Shares
    /// The turn with which the shares were set.
    let since: Int
    private var served: [Label?: Served] = [:]
    private var witnesses: [Label?: EffectID] = [:]
    /// What two labels had when both began to wait, and how much had never left by then.
    private var beginnings: [Pair: (a: Served, b: Served, unseen: Int)] = [:]
    /// How much was handed out and has never left.
    var unseen = 0
    /// The most turns that two labels have had together without a pause of either.
    private(set) var longest = 0

    /// By how many turns of each the two may be apart.
    private static let slack = 2.0

    init(_ shares: QueueRules.Shares, since turn: Int) {
        self.shares = shares
        since = turn
    }

    /// Two labels of which one had too much.
    struct Unfair: Equatable {
        let label: Label?
        let other: Label?
        let count: Int
        let otherCount: Int
    }

    /// A store begins to serve: all labels are new.
    mutating func restart() { self = ShareOracle(shares, since: since) }

    /// These left in one round of the store.
    ///
    /// - Parameters:
    ///   - waiting: the newest witness of each label.
    ///   - stillWaited: whether a witness of before has waited until now, or until it left.
    mutating func round(
        _ tasks: [(label: Label?, isFirst: Bool)], waiting: [Label?: EffectID], stillWaited: (EffectID) -> Bool
    ) -> Unfair? {
        for task in tasks {
            if task.isFirst {
                served[task.label, default: Served()].surely += 1
            } else {
                served[task.label, default: Served()].perhaps += 1
            }
        }
        let lasting = waiting.keys.filter { label in witnesses[label].map(stillWaited) ?? false }
        witnesses = waiting
        let before = beginnings
        beginnings = [:]
        var unfair: Unfair?
        for a in waiting.keys {
            for b in waiting.keys where a != b {
                let now = (a: served[a] ?? Served(), b: served[b] ?? Served(), unseen: unseen)
                guard lasting.contains(a), lasting.contains(b), let then = before[Pair(a: a, b: b)] else {
                    beginnings[Pair(a: a, b: b)] = now
                    continue
                }
                beginnings[Pair(a: a, b: b)] = then
                let (wa, wb) = (Double(shares.weight(of: a)), Double(shares.weight(of: b)))
                let most = Double(now.a.surely - then.a.surely)
                let least = Double(now.b.surely - then.b.surely + now.b.perhaps - then.b.perhaps + now.unseen - then.unseen)
                longest = max(longest, Int(most + least))
                if most / wa - least / wb > Self.slack * (1 / wa + 1 / wb) {
                    unfair = Unfair(label: a, other: b, count: Int(most), otherCount: Int(least))
                }
            }
        }
        return unfair
    }
}
