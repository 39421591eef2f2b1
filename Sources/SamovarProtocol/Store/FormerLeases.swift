import SamovarCore

/// Who had an effect last that was taken back from its worker and is not closed.
///
/// The worker may be silent and stream later, from the place that its task told. So no older attempt may move that place meanwhile. What has
/// streamed is on record and keeps every older attempt out (`EffectLedger.streamed`); a task that was handed out is on no record. Memory
/// only, and of this start: of another start, see `OpenEffect.isOver`.
struct FormerLeases {
    private var newest: [EffectID: Lease] = [:]

    mutating func insert(_ lease: Lease, of effect: EffectID) {
        newest[effect] = max(lease, newest[effect] ?? lease)
    }

    /// Whether a newer attempt was handed out.
    func isOutdated(_ lease: Lease, of effect: EffectID) -> Bool {
        newest.isEmpty ? false : newest[effect].map { lease < $0 } ?? false
    }

    mutating func keep(where isKept: (EffectID) -> Bool) {
        if !newest.isEmpty { newest = newest.filter { isKept($0.key) } }
    }
}
