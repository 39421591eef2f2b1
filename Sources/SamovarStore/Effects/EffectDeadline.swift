import SamovarCore

extension EffectScheduler {
    /// When an effect will have waited or taken too long.
    struct Deadline: Comparable, Hashable {
        let effect: EffectID
        let limit: Limit

        static func < (a: Deadline, b: Deadline) -> Bool { (a.effect, a.limit.rawValue) < (b.effect, b.limit.rawValue) }
    }

    enum Limit: Int {
        /// It waits for a worker.
        case waiting
        /// All attempts together.
        case total
    }
}
