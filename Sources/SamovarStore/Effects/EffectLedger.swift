import SamovarCore
import SamovarWire

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
        var cancelled: [Closed] = []
        /// Of queues and labels.
        var controls: [Control] = []
    }

    /// An effect that nobody shall do any more.
    struct Closed: Equatable, Sendable {
        let id: EffectID
        let queue: Queue
    }

    /// An effect that may be handed out now, as far as its label goes.
    struct Opened: Equatable, Sendable {
        let id: EffectID
        /// It has no options and no label, so no policy and no cancellation can have closed it since: nothing more has to be known of it.
        let isUsual: Bool
        /// It was opened, or opened again, and is not one that has waited for others with its label.
        var isNew = true
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
    /// Dead effects by their label.
    private var deadByLabel: [Label: Set<EffectID>] = [:]
    private var deadByRoot: [Int: Set<EffectID>] = [:]
    /// A cancellation reaches the dead. In turns of builds before this one it did not, and an operator may have requeued them.
    var cancelsDead = true
    private(set) var controls = QueueControls()
    private(set) var changes = Changes()

    /// Opens an effect, as far as its policy allows.
    mutating func order(_ effect: consuming OpenEffect) {
        guard let label = effect.label else { return open(effect) }
        let policy = effect.options.policy
        if case .latest = policy { cancelDead(label) }
        switch labels.admission(of: label, policy) {
        case .opened: open(effect)
        case .replacing:
            cancelOpen(label)
            open(effect)
        case .passedOver: break
        case .crowded:
            effect.history.isCrowded = true
            open(effect)
        }
    }

    /// - Parameter hasPlace: it is among those with its label already.
    mutating func open(_ effect: consuming OpenEffect, hasPlace: Bool = false) {
        let id = effect.id
        count(root(effect.root))
        if !hasPlace, let label = effect.label, !effect.isCrowded { labels.insert(id, label, effect.options.policy) }
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
        guard let effect = take(id) else { return nil }
        if let label = effect.label { release(labels.remove(id, label)) }
        return effect
    }

    /// The same, but for its place among those with its label.
    private mutating func take(_ id: EffectID) -> OpenEffect? {
        guard let effect = open.removeValue(forKey: id) else { return nil }
        if let place = openByRoot.place(of: root(effect.root)) {
            let left = openByRoot.change(at: place) { left in
                left -= 1
                return left
            }
            if left == 0 { openByRoot.remove(at: place) }
        }
        return effect
    }

    /// These need not wait for others with their label any more.
    private mutating func release(_ effects: [EffectID]) {
        for id in effects { changes.opened.append(Opened(id: id, isUsual: false, isNew: false)) }
    }

    /// Whether an effect has to wait until others with its label are closed.
    func isBehindAnother(_ effect: OpenEffect) -> Bool {
        labels.isBehindAnother(effect.id, effect.options)
    }

    /// Whether an effect with its label is not to be handed out now.
    func isBlocked(_ effect: OpenEffect) -> Bool {
        guard let label = effect.label else { return false }
        return isBehindAnother(effect) || controls.isPaused(label)
    }

    /// Closes all effects with this label, the dead ones included.
    mutating func cancel(_ label: Label) {
        cancelOpen(label)
        cancelDead(label)
    }

    /// All at once: to take one after the other off the list of its label takes a time that grows with the square of their number.
    private mutating func cancelOpen(_ label: Label) {
        for effect in labels.removeOpen(label).compactMap({ take($0) }) { noteClosed(effect) }
    }

    mutating func cancel(_ id: EffectID) {
        if let effect = close(id) { noteClosed(effect) }
    }

    private mutating func noteClosed(_ effect: OpenEffect) {
        changes.cancelled.append(Closed(id: effect.id, queue: effect.queue))
        noteCancelled(effect)
    }

    private mutating func cancelDead(_ label: Label) {
        guard cancelsDead else { return }
        for id in deadByLabel[label]?.sorted() ?? [] {
            if let dead = exhume(id) { noteCancelled(dead.effect) }
        }
    }

    private mutating func noteCancelled(_ effect: OpenEffect) {
        guard let label = effect.label else { return }
        cancelled.append(Cancelled(id: effect.id, root: effect.root, label: label))
        cancelled.removeFirst(max(0, cancelled.count - Self.cancelledLimit))
    }

    // MARK: Queues and labels

    /// What `update` or an operator wants of dead effects, queues and labels.
    mutating func take(_ control: Control, at order: EffectID, now: Timestamp) {
        switch control {
        case .requeue(let effects): for id in deadEffects(effects) { requeue(id, by: order, now: now) }
        case .drop(let effects): for id in deadEffects(effects) { drop(id) }
        case .pause, .resume, .rule:
            guard controls.take(control) else { return }
            changes.controls.append(control)
            if case .resume(.label(let label)) = control { release(labels[label]) }
        }
    }

    private func deadEffects(_ effects: DeadEffects) -> [EffectID] {
        switch effects {
        case .effect(let id): dead[id] == nil ? [] : [id]
        case .label(let label): deadByLabel[label]?.sorted() ?? []
        case .queue(let queue): dead.values.filter { $0.effect.queue == queue }.map(\.effect.id).sorted()
        }
    }

    /// Open effects with this label, but for those that are one too many.
    func openEffects(_ label: Label) -> [EffectID] { labels[label] }

    mutating func restore(_ controls: QueueControls) { self.controls = controls }

    mutating func restore(cancelled: [Cancelled]) { self.cancelled = cancelled }

    mutating func forgetChanges() {
        // Nearly always there is one, which is faster taken off than an array is emptied.
        if changes.opened.popLast() != nil, !changes.opened.isEmpty { changes.opened.removeAll(keepingCapacity: true) }
        if !changes.cancelled.isEmpty { changes.cancelled.removeAll(keepingCapacity: true) }
        if !changes.controls.isEmpty { changes.controls.removeAll() }
    }

    /// - Parameter lease: that of the attempt which has said so, or ran out of time: nothing it says makes the effect fail again. Nil if its
    ///   worker died or fell silent, for then it may still come back and answer.
    mutating func bury(_ id: EffectID, _ failure: Failure, lease: Lease? = nil) {
        guard var effect = take(id) else { return }
        if let lease { effect.history.failed = max(lease, effect.failed ?? lease) }
        dead[id] = Dead(effect: effect, failure: failure)
        deadByRoot[effect.root, default: []].insert(id)
        guard let label = effect.label else { return }
        deadByLabel[label, default: []].insert(id)
        release(effect.isCrowded ? [] : labels.die(id, label, effect.options.policy))
    }

    /// Takes an effect off the list of dead ones; nil if it is not dead. It may still have its place among those with its label.
    private mutating func exhume(_ id: EffectID, keepingPlace: Bool = false) -> Dead? {
        guard let former = dead.removeValue(forKey: id) else { return nil }
        deadByRoot[former.effect.root]?.remove(id)
        if deadByRoot[former.effect.root]?.isEmpty == true { deadByRoot[former.effect.root] = nil }
        guard let label = former.effect.label else { return former }
        deadByLabel[label]?.remove(id)
        if deadByLabel[label]?.isEmpty == true { deadByLabel[label] = nil }
        if !keepingPlace { release(labels.remove(id, label)) }
        return former
    }

    /// Leaves what a turn has ordered and is still open to an operator: nobody else knows whether it is the effect that it was.
    mutating func park(orderedBy turn: Int, _ why: String) {
        for effect in open.values.filter({ $0.id.turn == turn }).sorted(by: { $0.id < $1.id }) {
            bury(effect.id, Failure(reason: .diverged, text: why, attempts: effect.failures + effect.deaths))
        }
    }

    /// Opens a dead effect again, with all its attempts before it: in its place, if its lane has stopped there, else behind the others with
    /// its label.
    mutating func requeue(_ id: EffectID, by order: EffectID, now: Timestamp) {
        guard var effect = exhume(id, keepingPlace: true)?.effect else { return }
        let hasPlace = effect.label.map { labels.revive(id, $0) } ?? false
        effect.history = effect.history.reopened(
            by: hasPlace ? effect.opened : order, at: now, ordered: effect.ordered,
            expiry: effect.options.limits.total.map { now + $0 })
        open(effect, hasPlace: hasPlace)
    }

    /// Whether it may be handed out, now or after a request of an operator.
    func isKept(_ id: EffectID) -> Bool { open[id] != nil || dead[id] != nil }

    /// The same as a former build has it in a snapshot, which knew neither attempts that stream beyond a restart nor when an effect was ordered,
    /// nor with which attempt it died.
    ///
    /// - Parameters:
    ///   - other: what it is compared with. Only one of the two may know that an effect was requeued.
    ///   - encoded: an effect as such a build encoded it.
    func asFormerly(beside other: EffectLedger, _ encoded: ([UInt8]) -> [UInt8]) -> EffectLedger {
        func former(_ effect: OpenEffect) -> OpenEffect {
            var effect = effect.with(payload: encoded(effect.payload))
            var history = effect.history
            if hasDied(effect.id) || other.hasDied(effect.id) { history.failed = nil }
            (history.adoptedStream, history.ordered, history.requeued) = (nil, nil, nil)
            effect.history = history
            return effect
        }
        var ledger = self
        for effect in open.values { ledger.open[effect.id] = former(effect) }
        for (id, dead) in dead { ledger.dead[id]?.effect = former(dead.effect) }
        return ledger
    }

    /// Whether an effect is dead, or was requeued since, as far as is known.
    private func hasDied(_ id: EffectID) -> Bool { dead[id] != nil || open[id]?.history.requeued != nil }

    /// The same without what is named after activations. None of it is among the cancelled: a source has no label.
    var withoutSources: EffectLedger {
        var ledger = self
        for effect in open.values where effect.isSource { ledger.close(effect.id) }
        for id in dead.keys where id.isOfSource { ledger.drop(id) }
        return ledger
    }

    mutating func drop(_ id: EffectID) {
        close(id)
        _ = exhume(id)
    }

    /// - Parameter lease: that of the attempt; nil if its worker died, because then it may still come back and answer.
    mutating func attemptFailed(_ id: EffectID, _ reason: Failure.Reason, lease: Lease?, notBefore: Timestamp) {
        guard let effect = open[id] else { return }
        var history = effect.history
        if reason == .workerDied, !effect.isSource { history.deaths += 1 } else { history.failures += 1 }
        if let lease { history.failed = lease }
        history.wait(until: notBefore)
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

    func openCount(of root: Int) -> Int { openByRoot[self.root(root)] ?? 0 }

    func isSettled(_ root: Int) -> Bool { openByRoot[self.root(root)] == nil }

    private func root(_ turn: Int) -> EffectID { EffectID(turn: turn, ordinal: 0) }

    /// The dead and the cancelled effects of a root in words, for a receipt; the oldest, if there are many.
    func report(of root: Int) -> [String] {
        let dead = (deadByRoot[root] ?? []).compactMap { self.dead[$0] }
            .map { (id: $0.effect.id, text: "effect \($0.effect.id) in queue \($0.effect.queue) \($0.failure)") }
        let cancelled = cancelled.filter { $0.root == root }
            .map { (id: $0.id, text: "effect \($0.id), “\($0.label)”, was cancelled") }
        let all = dead + cancelled
        let told = all.sorted { $0.id < $1.id }.prefix(Self.reportLimit).map { $0.text.bounded() }
        return told + (all.count > told.count ? ["and \(all.count - told.count) more"] : [])
    }
}
