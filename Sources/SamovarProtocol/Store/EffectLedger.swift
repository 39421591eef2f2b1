import SamovarCore

/// The effects that are open and those that are dead: state that the journal determines, the same after every replay.
///
/// It knows nothing of workers and leases; those live in the `Dispatcher` and die with the process.
struct EffectLedger: Equatable, Sendable {
    struct Dead: Equatable, Sendable {
        var effect: OpenEffect
        var failure: Failure
    }

    private(set) var open: [EffectID: OpenEffect] = [:]
    private(set) var dead: [EffectID: Dead] = [:]
    /// How many effects are open under each root; a root without any is settled.
    private(set) var openByRoot: [Int: Int] = [:]

    mutating func open(_ effect: OpenEffect) {
        open[effect.id] = effect
        openByRoot[effect.root, default: 0] += 1
    }

    /// Takes an effect off the list of open ones; nil if it is not open.
    @discardableResult
    mutating func close(_ id: EffectID) -> OpenEffect? {
        guard let effect = open.removeValue(forKey: id) else { return nil }
        let count = openByRoot[effect.root, default: 1] - 1
        openByRoot[effect.root] = count > 0 ? count : nil
        return effect
    }

    mutating func bury(_ id: EffectID, _ failure: Failure) {
        guard let effect = close(id) else { return }
        dead[id] = Dead(effect: effect, failure: failure)
    }

    /// Opens a dead effect again, with all its attempts before it.
    mutating func requeue(_ id: EffectID, now: Timestamp) {
        guard var effect = dead.removeValue(forKey: id)?.effect else { return }
        effect.failures = 0
        effect.deaths = 0
        effect.notBefore = now
        open(effect)
    }

    mutating func drop(_ id: EffectID) {
        close(id)
        dead[id] = nil
    }

    /// - Parameter lease: that of the attempt; nil if its worker died, for then it may still come back and answer.
    mutating func attemptFailed(_ id: EffectID, _ reason: Failure.Reason, lease: Lease?, notBefore: Timestamp) {
        if reason == .workerDied { open[id]?.deaths += 1 } else { open[id]?.failures += 1 }
        if let lease { open[id]?.failed = lease }
        open[id]?.notBefore = notBefore
    }

    func isSettled(_ root: Int) -> Bool { openByRoot[root] == nil }

    /// The dead effects of a root in words, for a receipt.
    func deadReport(of root: Int) -> [String] {
        dead.values.filter { $0.effect.root == root }
            .sorted { $0.effect.id < $1.effect.id }
            .map { "effect \($0.effect.id) in queue \($0.effect.queue) \($0.failure)" }
    }
}
