import SamovarCore

/// Attempts of which a streamed message came when it was not believed any more: an answer of theirs would lack it.
struct RejectedStreams {
    /// The newest such attempt of each effect.
    private var leases: [EffectID: Lease] = [:]

    var isEmpty: Bool { leases.isEmpty }

    mutating func reject(_ effect: EffectID, _ lease: Lease) { leases[effect] = max(lease, leases[effect] ?? lease) }

    /// Whether an answer under this lease comes after messages that were not applied.
    func lacksMessages(_ effect: EffectID, _ lease: Lease) -> Bool { leases[effect].map { lease <= $0 } ?? false }

    mutating func forget(_ isOver: (EffectID) -> Bool) {
        if !leases.isEmpty { leases = leases.filter { !isOver($0.key) } }
    }
}
