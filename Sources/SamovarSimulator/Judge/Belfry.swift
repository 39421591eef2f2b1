import SamovarCore

/// The subscriptions of one timeline, as the judge keeps them: what is wanted, since when, and when it is due. The times of a
/// schedule are computed here once more, by other means than those of the store.
struct Belfry {
    /// One activation of a subscription.
    struct Peal {
        let id: EffectID
        var hung: HungBell
        /// The time of the next ring; nil if there is none.
        var due: Int64?
        /// The time of the newest one.
        var last: Int64?
        /// In which start a moment was heard of.
        var heardIn = 0

        var bell: Bell { hung.bell }
    }

    /// Effects and activations are named after the turn that begins them; the latter come after all that a turn can order.
    static let firstPlace = 1 << 20

    private(set) var peals: [String: Peal] = [:]

    func peal(_ id: EffectID) -> Peal? { peals.values.first { $0.id == id } }

    /// - Returns: how many of what was wanted have ended.
    mutating func want(_ bells: [String: HungBell], turn: Int, now: Timestamp) -> Int {
        guard !bells.isEmpty || !peals.isEmpty else { return 0 }
        let before = peals
        peals = [:]
        for (place, (name, hung)) in bells.sorted(by: { $0.key < $1.key }).enumerated() {
            if var old = before[name], old.hung.isServedAs(hung) {
                old.hung = hung
                peals[name] = old
            } else {
                let id = EffectID(turn: turn, ordinal: Self.firstPlace + place)
                peals[name] = Peal(id: id, hung: hung, due: hung.first(after: now.microseconds))
            }
        }
        return before.filter { peals[$0.key]?.id != $0.value.id }.count
    }

    /// A store came back: what it missed is passed over where the program wants it so.
    mutating func returned(now: Timestamp) {
        for (name, peal) in peals where peal.bell.missed == Missed.none.rawValue {
            guard let due = peal.due, due <= now.microseconds else { continue }
            peals[name]?.due = peal.hung.next(after: now.microseconds, from: due)
        }
    }

    /// For which time the timer has to be served now; nil if it is not due.
    func nominal(of peal: Peal, now: Timestamp) -> Int64? {
        guard let due = peal.due, due <= now.microseconds else { return nil }
        guard peal.bell.missed != Missed.all.rawValue else { return due }
        return peal.hung.latest(until: now.microseconds, from: due)
    }

    mutating func rang(_ id: EffectID, nominal: Int64) {
        guard let name = peals.first(where: { $0.value.id == id })?.key, let hung = peals[name]?.hung else { return }
        peals[name]?.due = hung.next(after: nominal, from: nominal)
        peals[name]?.last = nominal
    }

    mutating func heard(_ id: EffectID, start: Int) {
        guard let name = peals.first(where: { $0.value.id == id })?.key else { return }
        peals[name]?.heardIn = start
    }

    /// The timer that has been due for the longest time.
    var longestDue: (peal: Peal, due: Int64)? {
        peals.values.compactMap { peal in peal.due.map { (peal, $0) } }.min { ($0.1, $0.0.id) < ($1.1, $1.0.id) }
    }
}

extension HungBell {
    private var step: Int64 { Int64(bell.milliseconds) * milliseconds }

    /// A subscription to the same times goes on, whatever it sends.
    fileprivate func isServedAs(_ other: HungBell) -> Bool {
        guard bell.kind == other.bell.kind else { return false }
        if bell.kind.isMoment { return true }
        guard bell.missed == other.bell.missed else { return false }
        return bell.kind == .at ? time == other.time : bell.milliseconds == other.bell.milliseconds
    }

    fileprivate func first(after now: Int64) -> Int64? {
        switch bell.kind {
        case .every: now + step
        case .at: time.microseconds
        case .cron: (now / step + 1) * step
        case .resumed, .draining: nil
        }
    }

    /// The first of its times after `now`, where `one` is one of them.
    fileprivate func next(after now: Int64, from one: Int64) -> Int64? {
        switch bell.kind {
        case .every, .cron: one + ((now - one) / step + 1) * step
        case .at, .resumed, .draining: nil
        }
    }

    /// The last of its times that is not after `now`, where `one` is one of them.
    fileprivate func latest(until now: Int64, from one: Int64) -> Int64 {
        switch bell.kind {
        case .every, .cron: one + (now - one) / step * step
        case .at, .resumed, .draining: one
        }
    }
}
