import Journal
import JournalChain
import Logging
import SamovarCore
import SamovarStore
import ZeroMQ

// Taking a journal, and keeping it where several stores reach it.
extension StoreLoop {
    /// What is kept for a store that does not serve yet: that its keys are to be read, once, and the newest deaths of workers.
    static let newsLimit = 256

    /// A journal that is this store's.
    struct Begun: ~Copyable {
        /// Of the start; nil for the next one.
        let number: Int?
        /// Of the service. It begins here, since the machine's clock may have been set while another store was followed.
        let clock: HostClock
        /// Nil for a journal that nobody else reaches.
        var lease: LeaseKeeper?
    }

    /// Opens the journal. A database that does not answer is waited for: whatever starts this store again would give up sooner.
    /// One that lets nobody in is a configuration that a person has to mend.
    ///
    /// - Parameters:
    ///   - isFresh: whether to archive what is there; false once that is done.
    ///   - pause: how long to wait before.
    /// - Returns: nil if the process was told to end before.
    func open(isFresh: inout Bool, after pause: Int) throws -> OpenedJournal? {
        var poller = Poller()
        _ = poller.add(mailbox.wakeup)
        var news: [Event] = []
        defer { for event in news { mailbox.post(event) } }
        var isTold = false
        if pause > 0, try !rest(&poller, milliseconds: pause, &news) { return nil }
        while true {
            do throws(StoreError) {
                return try OpenedJournal(serving: configuration.journal, isFresh: &isFresh) { logger.notice("\($0)") }
            } catch {
                guard error.isTransient else { throw error }
                if !isTold { logger.error("the journal is waited for: \(error)") }
                isTold = true
            }
            guard try rest(&poller, milliseconds: 1_000, &news) else { return nil }
        }
    }

    /// Waits, and keeps what a store is told that serves.
    ///
    /// - Returns: false if the process was told to end.
    private func rest(_ poller: inout Poller, milliseconds: Int?, _ news: inout [Event]) throws -> Bool {
        try poller.wait(timeoutMilliseconds: milliseconds)
        for event in mailbox.takeAll() {
            if case .drain = event { return false }
            Self.keep(event, in: &news)
        }
        return true
    }

    private static func keep(_ event: Event, in news: inout [Event]) {
        if case .readKeys = event { news.removeAll { if case .readKeys = $0 { true } else { false } } }
        news.append(event)
        let isDeath: (Event) -> Bool = { if case .workerDied = $0 { true } else { false } }
        if news.count > newsLimit, let oldest = news.firstIndex(where: isDeath) { news.remove(at: oldest) }
    }

    /// Waits until the journal is this store's.
    ///
    /// - Parameter clock: by which it waits.
    /// - Returns: nil if the process was told to end before.
    func begin(
        _ opened: OpenedJournal, _ machine: inout StoreMachine, _ accepted: AcceptedDivergences, _ page: TrapPage,
        _ clock: HostClock
    ) throws -> Begun? {
        guard let journal = opened.journal as? any SharedJournal else {
            try opened.beginWriting(page)
            return Begun(number: nil, clock: HostClock(), lease: nil)
        }
        let settings = configuration.lease
        let lease = journal.lease(address: "\(configuration.endpoint)")
        var poller = Poller()
        _ = poller.add(mailbox.wakeup)
        var news: [Event] = []
        // What a store is told that serves, be it after the journal was opened again.
        defer { for event in news { mailbox.post(event) } }
        var standby = Standby(opened, journal, lease, settings, accepted: accepted, clock: clock, logger: logger)
        let number = try standby.run(
            &machine, mayBegin: !configuration.isStandby, isAsking: configuration.isHandOver, page: page
        ) { milliseconds in
            try rest(&poller, milliseconds: milliseconds, &news)
        }
        guard let number else { return nil }
        do {
            // While this store replayed it, or could not reach it, it may have been moved elsewhere, or another store may have begun
            // its timeline and be gone. From now on neither can be.
            try opened.requireNotMoved(configuration.journal)
            guard try !opened.isOfAnotherTimeline() else { throw Standby.IsOutdated() }
        } catch {
            // One that is not given up is lost with its lease.
            try? lease.release()
            throw error
        }
        let thread = try LeaseThread(lease, settings) { [mailbox] in mailbox.post(.lease($0)) }
        let present = HostClock()
        // The lease is as old by the one clock as by the other.
        let taken = present.now() + (standby.taken - clock.now())
        return Begun(number: number, clock: present, lease: LeaseKeeper(thread, settings, epoch: number, taken: taken))
    }

    /// For the next store, which need not wait then until the lease runs out.
    func giveUp(_ lease: inout LeaseKeeper?) {
        if let why = lease?.release() { logger.warning("the journal is not given up, and its lease runs out: \(why)") }
    }

    func wakeUp(_ machine: borrowing StoreMachine, _ lease: borrowing LeaseKeeper?, now: Timestamp) -> Timestamp {
        let time = machine.wakeUp(now: now)
        return lease?.deadline(now: now).map { min(time, $0) } ?? time
    }

    func take(
        _ event: LeaseThread.Event, _ lease: inout LeaseKeeper?, _ machine: inout StoreMachine, _ now: Timestamp
    ) throws {
        guard let (action, problem) = lease?.take(event, now: now) else { return }
        if let problem { logger.warning("\(problem)") }
        if case .renewed(_, let durability) = event {
            machine.journalOutlives("\(durability)")
            // Before it says anything or hands over: a store that has been told of a lost tail knows now that it is its own.
            if action == nil || action == .handOver { machine.leaseIsRenewed() }
        }
        lease?.tend(&machine, now: now)
        switch action {
        case .handOver:
            logger.notice("another store wants the journal: it is handed over")
            // Running jobs go on: their workers say HELLO to the other store.
            machine.drain(within: .zero, now: now)
        case .fenced(let why): throw StoreError(.again, "\(why): started again, this one follows it")
        case .lostTail(let why): throw StoreError(.damaged, "the journal in \(configuration.journal) has lost its end: \(why)")
        case .renew, nil: break
        }
    }
}
