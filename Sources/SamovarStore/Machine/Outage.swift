import SamovarCore

/// Why a store takes nothing for a while: clients are told to come later, and nothing that was taken is lost.
enum Outage: Equatable {
    /// The journal has no space.
    case diskFull
    /// What keeps the journal is not reached, or confirms nothing.
    case databaseAway
    /// Another store may have the journal by now. Unlike with the others, nothing is told to anybody either.
    case leaseInDoubt

    /// What is the matter, for whoever is refused; until when, as the end of a sentence; the phase in `status`, and its field that
    /// says since when; and what is noted when it begins and when it ends.
    var words: (text: String, end: String, phase: String, field: String, beginning: String, ending: String) {
        switch self {
        case .diskFull:
            (
                "the disk of the store is full", "until there is space", "disk full", "diskFull",
                "the disk is full: nothing is taken until there is space", "there is space again: the store goes on"
            )
        case .databaseAway:
            (
                "the database of the store is away", "until it is back", "database away", "databaseAway",
                "the database is away: nothing is taken until it is back", "the database is back: the store goes on"
            )
        case .leaseInDoubt:
            (
                "another store may have the journal", "until the lease shows that none has", "lease in doubt", "leaseInDoubt",
                "the lease could not be renewed: until it is, nothing is taken or told, for another store may serve",
                "the lease is renewed again: the store goes on"
            )
        }
    }

    /// What to tell of an outage that began or ended.
    func note(began: Bool) -> Note { began ? Note(.error, words.beginning) : Note(.info, words.ending) }
}

/// Outages of a journal, of which there may be two at once: its commits wait, and its lease is in doubt.
struct Outages {
    private var journal: (outage: Outage, since: Timestamp)?
    private var doubt: Timestamp?

    /// The one that holds up more; nil if there is none.
    var current: (outage: Outage, since: Timestamp)? {
        if let doubt { (.leaseInDoubt, doubt) } else { journal }
    }

    /// The journal cannot commit for this reason, or can again.
    ///
    /// - Returns: what to tell of it; nil if it is known.
    mutating func journal(_ outage: Outage?, now: Timestamp) -> Note? {
        guard outage != journal?.outage else { return nil }
        let former = journal
        journal = outage.map { ($0, former?.since ?? now) }
        return outage?.note(began: true) ?? former?.outage.note(began: false)
    }

    /// The lease is in doubt, or is not any more; the same.
    mutating func doubt(_ isInDoubt: Bool, now: Timestamp) -> Note? {
        guard isInDoubt != (doubt != nil) else { return nil }
        doubt = isInDoubt ? now : nil
        return Outage.leaseInDoubt.note(began: isInDoubt)
    }
}
