import SamovarCore

/// How often the workers of open effects fell silent. It says little, because a network may break; but again and again it does.
struct WorkerLosses {
    /// `alone` counts those that ran nothing else.
    private var losses: [EffectID: (all: Int, alone: Int)] = [:]

    var isEmpty: Bool { losses.isEmpty }

    func count(of effect: EffectID) -> Int { losses[effect]?.all ?? 0 }

    /// Counts one; returns how often it was one that had nothing else.
    mutating func add(_ effect: EffectID, isIsolated: Bool) -> Int {
        let before = losses[effect] ?? (0, 0)
        let counted = (all: before.all + 1, alone: before.alone + (isIsolated ? 1 : 0))
        losses[effect] = counted
        return counted.alone
    }

    mutating func keep(where isOpen: (EffectID) -> Bool) {
        losses = losses.filter { isOpen($0.key) }
    }
}
