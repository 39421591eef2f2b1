import SamovarCore

/// The newest lease of each effect among some attempts: a lease that never repeats stands for all attempts before it, too. Memory only,
/// and of this start: of another start, see `OpenEffect.isOver`.
struct NewestLeases {
    private var newest: [EffectID: Lease] = [:]

    var isEmpty: Bool { newest.isEmpty }

    mutating func insert(_ lease: Lease, of effect: EffectID) { newest[effect] = max(lease, newest[effect] ?? lease) }

    /// The newest of an effect; nil if there is none.
    subscript(effect: EffectID) -> Lease? { newest.isEmpty ? nil : newest[effect] }

    /// Whether this attempt is one of them.
    func contains(_ lease: Lease, of effect: EffectID) -> Bool { self[effect].map { lease <= $0 } ?? false }

    mutating func keep(where isKept: (EffectID) -> Bool) {
        if !newest.isEmpty { newest = newest.filter { isKept($0.key) } }
    }
}
