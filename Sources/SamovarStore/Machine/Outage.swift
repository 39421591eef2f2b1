import SamovarCore

/// Why a store takes nothing for a while: clients are told to come later, and nothing that was taken is lost.
enum Outage: Equatable {
    /// The journal has no space.
    case diskFull
    /// What keeps the journal is not reached, or confirms nothing.
    case databaseAway
    /// Another store may have the journal by now. Unlike with the others, nothing is told to anybody either.
    case leaseInDoubt

    /// What is the matter, for whoever is refused.
    var text: String {
        switch self {
        case .diskFull: "the disk of the store is full"
        case .databaseAway: "the database of the store is away"
        case .leaseInDoubt: "another store may have the journal"
        }
    }

    /// Until when, as the end of a sentence.
    var end: String {
        switch self {
        case .diskFull: "until there is space"
        case .databaseAway: "until it is back"
        case .leaseInDoubt: "until the lease shows that none has"
        }
    }

    /// The phase in `status`.
    var phase: String {
        switch self {
        case .diskFull: "disk full"
        case .databaseAway: "database away"
        case .leaseInDoubt: "lease in doubt"
        }
    }

    /// The field of `status` that says since when.
    var field: String {
        switch self {
        case .diskFull: "diskFull"
        case .databaseAway: "databaseAway"
        case .leaseInDoubt: "leaseInDoubt"
        }
    }

    var beginning: Note {
        switch self {
        case .diskFull: Note(.error, "the disk is full: nothing is taken until there is space")
        case .databaseAway: Note(.error, "the database is away: nothing is taken until it is back")
        case .leaseInDoubt:
            Note(.error, "the lease could not be renewed: until it is, nothing is taken or told, for another store may serve")
        }
    }

    var ending: Note {
        switch self {
        case .diskFull: Note(.info, "there is space again: the store goes on")
        case .databaseAway: Note(.info, "the database is back: the store goes on")
        case .leaseInDoubt: Note(.info, "the lease is renewed again: the store goes on")
        }
    }
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
        return outage?.beginning ?? former?.outage.ending
    }

    /// The lease is in doubt, or is not any more; the same.
    mutating func doubt(_ isInDoubt: Bool, now: Timestamp) -> Note? {
        guard isInDoubt != (doubt != nil) else { return nil }
        doubt = isInDoubt ? now : nil
        return isInDoubt ? Outage.leaseInDoubt.beginning : Outage.leaseInDoubt.ending
    }
}
