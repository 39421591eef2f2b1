import SamovarCore

/// The effects that are open and those that are dead: state that the journal determines, the same after every replay.
///
/// It knows nothing of workers and leases; those live in the `Dispatcher` and die with the process. What happens to effects
/// here without anybody naming them, by a policy or by `cancel`, is told by `changes`.
struct EffectLedger: Equatable, Sendable {
    struct Dead: Equatable, Sendable {
        var effect: OpenEffect
        var failure: Failure
    }

    /// An effect that was cancelled, for receipts.
    struct Cancelled: Equatable, Sendable {
        var id: EffectID
        var root: Int
        var label: Label
    }

    /// What the dispatcher has to follow, since the last time that it did.
    struct Changes: Equatable, Sendable {
        /// Open now, or no longer behind another with its label.
        var opened: [Opened] = []
        var cancelled: [EffectID] = []
    }

    /// An effect that may be handed out now, as far as its label goes.
    struct Opened: Equatable, Sendable {
        let id: EffectID
        /// It has no options and no label, so no policy and no cancellation can have closed it since: nothing more has to be known of it.
        let isUsual: Bool
    }

    /// Cancelled effects that are remembered, the newest.
    static let cancelledLimit = 1_000
    /// Effects of a root that are told one by one.
    static let reportLimit = 100

    private(set) var open: EffectMap<OpenEffect> = EffectMap()
    private(set) var dead: [EffectID: Dead] = [:]
    private(set) var cancelled: [Cancelled] = []
    /// How many effects are open under each root; a root without any is settled. A root stands for itself as the identity of its
    /// first order, whose hash is cheap.
    private var openByRoot = EffectMap<Int>()
    private var labels = OpenLabels()
    private(set) var changes = Changes()

    /// Opens an effect, as far as its policy allows.
    mutating func order(_ effect: consuming OpenEffect) {
        guard let label = effect.label else { return open(effect) }
        switch labels.admission(of: label, effect.options.policy) {
        case .opened: open(effect)
        case .replaces(let others):
            for other in others { cancel(other) }
            open(effect)
        case .passedOver: break
        case .crowded:
            effect.history.isCrowded = true
            open(effect)
        }
    }

    mutating func open(_ effect: consuming OpenEffect) {
        let id = effect.id
        count(root(effect.root))
        if let label = effect.label, !effect.isCrowded { labels.insert(id, label) }
        changes.opened.append(Opened(id: id, isUsual: effect.isUsual && !effect.isSource))
        open.set(effect, for: id)
    }

    /// One more effect of a root. Nearly always there are others, and then nothing is entered.
    private mutating func count(_ root: EffectID) {
        if let place = openByRoot.place(of: root) { openByRoot.change(at: place) { $0 += 1 } } else { openByRoot[root] = 1 }
    }

    /// Takes an effect off the list of open ones; nil if it is not open.
    @discardableResult
    mutating func close(_ id: EffectID) -> OpenEffect? {
        guard let effect = open.removeValue(forKey: id) else { return nil }
        if let place = openByRoot.place(of: root(effect.root)) {
            let left = openByRoot.change(at: place) { left in
                left -= 1
                return left
            }
            if left == 0 { openByRoot.remove(at: place) }
        }
        if let label = effect.label, let next = labels.remove(id, label) {
            changes.opened.append(Opened(id: next, isUsual: false))
        }
        return effect
    }

    /// Whether an effect has to wait until another with its label is closed.
    func isBehindAnother(_ effect: OpenEffect) -> Bool {
        labels.isBehindAnother(effect.id, effect.options)
    }

    /// Closes all effects with this label.
    mutating func cancel(_ label: Label) {
        for id in labels[label] { cancel(id) }
    }

    mutating func cancel(_ id: EffectID) {
        guard let effect = close(id) else { return }
        changes.cancelled.append(id)
        guard let label = effect.label else { return }
        cancelled.append(Cancelled(id: id, root: effect.root, label: label))
        if cancelled.count > Self.cancelledLimit { cancelled.removeFirst(cancelled.count - Self.cancelledLimit) }
    }

    mutating func restore(cancelled: [Cancelled]) { self.cancelled = cancelled }

    /// What has changed was followed.
    mutating func forgetChanges() {
        // Nearly always there is one, which is faster taken off than an array is emptied.
        if changes.opened.popLast() != nil, !changes.opened.isEmpty { changes.opened.removeAll(keepingCapacity: true) }
        if !changes.cancelled.isEmpty { changes.cancelled.removeAll(keepingCapacity: true) }
    }

    mutating func bury(_ id: EffectID, _ failure: Failure) {
        guard let effect = close(id) else { return }
        dead[id] = Dead(effect: effect, failure: failure)
    }

    /// Leaves what a turn has ordered and is still open to an operator: nobody else knows whether it is the effect that it was.
    mutating func park(orderedBy turn: Int, _ why: String) {
        for effect in open.values.filter({ $0.id.turn == turn }).sorted(by: { $0.id < $1.id }) {
            bury(effect.id, Failure(reason: .diverged, text: why, attempts: effect.failures + effect.deaths))
        }
    }

    /// Opens a dead effect again, with all its attempts before it.
    mutating func requeue(_ id: EffectID, now: Timestamp) {
        guard var effect = dead.removeValue(forKey: id)?.effect else { return }
        effect.history = OpenEffect.History(
            failed: effect.failed, notBefore: now, expiry: effect.options.limits.total.map { now + $0 }, place: effect.place,
            adoptedStream: effect.history.adoptedStream)
        open(effect)
    }

    /// Whether it may be handed out, now or after a request of an operator.
    func isKept(_ id: EffectID) -> Bool { open[id] != nil || dead[id] != nil }

    /// The same as a former build has it in a snapshot, which did not know of attempts that stream beyond a restart.
    var withoutAdoptedStreams: EffectLedger {
        var ledger = self
        for effect in open.values where effect.history.adoptedStream != nil { ledger.open[effect.id]?.history.adoptedStream = nil }
        for id in dead.keys { ledger.dead[id]?.effect.history.adoptedStream = nil }
        return ledger
    }

    mutating func drop(_ id: EffectID) {
        close(id)
        dead[id] = nil
    }

    /// - Parameter lease: that of the attempt; nil if its worker died, because then it may still come back and answer.
    mutating func attemptFailed(_ id: EffectID, _ reason: Failure.Reason, lease: Lease?, notBefore: Timestamp) {
        guard let effect = open[id] else { return }
        var history = effect.history
        if reason == .workerDied, !effect.isSource { history.deaths += 1 } else { history.failures += 1 }
        if let lease { history.failed = lease }
        history.notBefore = notBefore
        open[id]?.history = history
    }

    /// Notes a streamed message. One with a checkpoint is progress: what failed before it does not count any more.
    ///
    /// Attempts before this one are over with it, whether they have failed or not: they may come back, and would go on with numbers
    /// that mean other messages now.
    ///
    /// - Parameter start: the number of the start in which it was applied.
    mutating func streamed(_ id: EffectID, lease: Lease, index: Int, checkpoint: [UInt8]?, start: Int) {
        guard var history = open[id]?.history else { return }
        let before = Lease(start: lease.start, counter: max(0, lease.counter - 1))
        history.failed = max(before, history.failed ?? before)
        history.place = StreamPlace(index: index, checkpoint: checkpoint ?? history.place?.checkpoint)
        history.adoptedStream = lease.start < start ? OpenEffect.AdoptedStream(lease: lease, start: start) : nil
        if checkpoint != nil {
            history.failures = 0
            history.deaths = 0
        }
        open[id]?.history = history
    }

    /// How many effects of a root are open.
    func openCount(of root: Int) -> Int { openByRoot[self.root(root)] ?? 0 }

    func isSettled(_ root: Int) -> Bool { openByRoot[self.root(root)] == nil }

    private func root(_ turn: Int) -> EffectID { EffectID(turn: turn, ordinal: 0) }

    /// The dead and the cancelled effects of a root in words, for a receipt; the oldest, if there are many.
    func report(of root: Int) -> [String] {
        let dead = dead.values.filter { $0.effect.root == root }
            .map { (id: $0.effect.id, text: "effect \($0.effect.id) in queue \($0.effect.queue) \($0.failure)") }
        let cancelled = cancelled.filter { $0.root == root }
            .map { (id: $0.id, text: "effect \($0.id), “\($0.label)”, was cancelled") }
        let all = dead + cancelled
        let told = all.sorted { $0.id < $1.id }.prefix(Self.reportLimit).map { $0.text.bounded() }
        return told + (all.count > told.count ? ["and \(all.count - told.count) more"] : [])
    }
}
