/// What a store with `--retain` may remove from its journal.
package enum Retention {
    /// The last turn that may go.
    ///
    /// - Parameters:
    ///   - turns: how many of the newest turns are kept at least.
    ///   - verified: the turns of the snapshots that were read back and understood, newest first. Two are asked for: should the
    ///     newer one be found damaged one day, the older one and the batches after it still tell everything.
    /// - Returns: nil if nothing may go.
    package static func limit(last: Int, keeping turns: Int, verified: [Int]) -> Int? {
        guard verified.count >= 2 else { return nil }
        let limit = min(last - turns, verified[1])
        return limit > 0 ? limit : nil
    }
}
