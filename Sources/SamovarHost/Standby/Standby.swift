import Journal
import JournalChain
import Logging
import SamovarCore
import SamovarStore
import ZeroMQ

/// The start of a store on a journal that several stores reach: interprets what the ``StandbyMachine`` says, on the thread of the loop,
/// until the journal is this store's.
struct Standby: ~Copyable {
    /// The journal has to be opened again: another store has begun its timeline since, or has trimmed what was not followed yet; or another
    /// one is in its place; or it was not reached while it was read.
    struct IsOutdated: Error {
        /// Milliseconds to wait before.
        var pause = 0
    }

    let opened: OpenedJournal
    let journal: any SharedJournal
    let lease: any JournalLease
    let settings: LeaseSettings
    let clock: HostClock
    let logger: Logger
    private var accepted: AcceptedDivergences
    private var lag: StandbyLag
    /// Of the last look.
    private var epoch = 0
    /// The owner was asked for the journal.
    private var hasAsked = false
    /// Turns of another owner were followed.
    private var hasFollowed = false
    /// When the journal was asked for: from then on the lease counts.
    private(set) var taken: Timestamp

    init(
        _ opened: OpenedJournal, _ journal: any SharedJournal, _ lease: any JournalLease, _ settings: LeaseSettings,
        accepted: AcceptedDivergences, clock: HostClock, logger: Logger
    ) {
        (self.opened, self.journal, self.lease, self.settings) = (opened, journal, lease, settings)
        (self.accepted, self.clock, self.logger) = (accepted, clock, logger)
        taken = clock.now()
        lag = StandbyLag(now: taken)
    }

    /// - Parameters:
    ///   - machine: recovering, with what the journal had when it was opened.
    ///   - isAsking: asks who has the journal for it.
    ///   - wait: waits up to so many milliseconds; false if this process shall end.
    /// - Returns: the number of the start; nil if it shall end.
    /// - Throws: ``IsOutdated``; `StoreError`.
    mutating func run(
        _ machine: inout StoreMachine, mayBegin: Bool, isAsking: Bool, page: TrapPage, wait: (_ milliseconds: Int?) throws -> Bool
    ) throws -> Int? {
        var standby = StandbyMachine(
            settings, of: journal.identity, epoch: journal.epoch, followed: machine.head, mayBegin: mayBegin, now: clock.now())
        var actions = isAsking ? standby.handOverRequested(now: clock.now()) : []
        defer {
            tell(lag.takeRest(), through: machine.head)
            if hasAsked { withdraw() }
        }
        while true {
            while !actions.isEmpty {
                switch actions.removeFirst() {
                case .serve(let epoch):
                    try opened.requireWhole(machine)
                    // Who has taken the journal has what it asked for.
                    hasAsked = false
                    return epoch
                case .note(let note): logger.log(level: note.loggerLevel, "\(note.text)")
                case .openAgain: throw IsOutdated()
                case .lostTail(let why): throw StoreError(.damaged, "the journal in \(opened.name) has lost its end: \(why)")
                case .look: actions += try look(&standby)
                case .follow(let turn): actions += try follow(&standby, &machine, after: turn)
                case .want: try want()
                case .take: actions += try take(&standby, machine.starts, page, mayWait: !mayBegin || hasFollowed)
                }
            }
            tell(lag.report(now: clock.now()), through: machine.head)
            guard try wait(clock.milliseconds(until: standby.deadline)) else { return nil }
            actions = standby.ticked(now: clock.now())
        }
    }

    private mutating func look(_ standby: inout StandbyMachine) throws -> [StandbyAction] {
        do throws(JournalError) {
            let found = try lease.look()
            epoch = found.epoch
            return standby.looked(found, now: clock.now())
        } catch {
            return try failed(&standby, error)
        }
    }

    private mutating func follow(
        _ standby: inout StandbyMachine, _ machine: inout StoreMachine, after turn: Int
    ) throws -> [StandbyAction] {
        guard !opened.isNew else { throw IsOutdated() }
        hasFollowed = true
        do {
            try journal.refresh()
            try opened.follow(&machine, &accepted, noting: &lag, by: clock)
            return standby.followed(through: machine.head, digest: journal.end.digest, now: clock.now())
        } catch let error as JournalError {
            return try failed(&standby, following: error)
        }
    }

    private func tell(_ lag: StandbyLag.Summary?, through turn: Int) {
        guard let lag else { return }
        logger.info(
            "followed",
            metadata: [
                "turn": "\(turn)", "batches": "\(lag.batches)", "lag-p50": "\(lag.p50)ms", "lag-p99": "\(lag.p99)ms",
                "lag-max": "\(lag.longest)ms",
            ])
    }

    private mutating func want() throws {
        hasAsked = true
        do throws(JournalError) {
            try lease.want(from: epoch)
        } catch {
            // The next look shows that nobody was asked.
            guard error.isAway else { throw StoreError(error) }
        }
    }

    /// Nobody shall give the journal up for one that ends.
    private func withdraw() {
        do throws(JournalError) { try lease.withdraw() } catch { logger.debug("the journal is still asked for: \(error)") }
    }

    /// - Parameter mayWait: until a person lets this store write. One that only starts ends, and says why.
    private mutating func take(
        _ standby: inout StandbyMachine, _ starts: Int, _ page: TrapPage, mayWait: Bool
    ) throws -> [StandbyAction] {
        do throws(JournalError) {
            let begun = clock.now()
            // First the lease: no other standby shall take the journal for one that nobody has.
            _ = try lease.renew(for: settings.lease)
            try StoreError.requireEnd(of: journal, in: opened.name, page)
            let epoch = try journal.beginWriting(beyond: starts)
            taken = begun
            journal.mark(in: page.memory)
            return standby.taken(epoch: epoch)
        } catch {
            guard mayWait || error.code != .denied else { throw StoreError(error) }
            guard error.code == .busy else { return try failed(&standby, error) }
            do throws(JournalError) { try journal.refresh() } catch { return try failed(&standby, following: error) }
            return standby.notTaken(now: clock.now())
        }
    }

    /// What was trimmed is in a snapshot, with which a start begins.
    private func failed(_ standby: inout StandbyMachine, following error: JournalError) throws -> [StandbyAction] {
        guard error.code != .missing else { throw IsOutdated() }
        return try failed(&standby, error)
    }

    /// A database that does not answer is waited for.
    private func failed(_ standby: inout StandbyMachine, _ error: JournalError) throws -> [StandbyAction] {
        guard error.isAway else { throw StoreError(error) }
        return standby.failed("\(error)", isDenied: error.code == .denied, now: clock.now())
    }
}
