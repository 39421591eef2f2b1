import CrashPoints
import Foundation
import Journal
import JournalChain
import Logging
import SamovarCore
import SamovarStore
import SamovarWire
import ZeroMQ

/// The loop of a store: waits for sockets, journal and time, hands them to the machine, and carries out what it says.
///
/// It decides nothing: there is no `if` here about peers, turns or effects.
final class StoreLoop: Sendable {
    enum Event: Sendable {
        case journal(JournalWriter.Event)
        case journalEnded
        case maintenance(MaintenanceThread.Event)
        case history(HistoryReply.Content)
        case drain(within: Duration)
        case workerDied(WorkerID, String)
        case readKeys
        case processMeasured
        case lease(LeaseThread.Event)
    }

    /// What a store does beside the loop.
    private struct Threads {
        let journal: JournalThread
        let maintenance: MaintenanceThread
        let history: HistoryThread
    }

    let configuration: StoreConfiguration
    let logger: Logger
    let mailbox: Mailbox<Event>

    init(_ configuration: StoreConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        mailbox = try Mailbox()
    }

    func drain(within limit: Duration) { mailbox.post(.drain(within: limit)) }

    func workerDied(_ id: WorkerID, _ evidence: String) { mailbox.post(.workerDied(id, evidence)) }

    func readKeys() { mailbox.post(.readKeys) }

    // MARK: Start

    /// Runs the store on this thread until it has stopped.
    func run(_ schema: Schema, seed: [UInt8]?, engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine) throws {
        let endpoint = configuration.endpoint
        try configuration.requireSafeEndpoint()
        let keys = try configuration.keys()
        if endpoint.isInsecure, keys == nil {
            logger.warning("\(endpoint) has no keys: every user of this machine can send inputs, run effects and see views there")
        }
        if let exposure = configuration.journal.exposure { logger.warning("\(exposure)") }
        var isFresh = configuration.isFresh
        var pause = 0
        while true {
            guard let opened = try open(isFresh: &isFresh, after: pause) else { return }
            try opened.requireProgram(of: engine(opened.secret, configuration.settings.group))
            try opened.requireSeed(seed)
            do {
                let (isQuiet, end) = try EndpointLock.hold(endpoint) { try run(opened, keys, seed: seed, engine: engine) }
                // Nobody else may have the folder while a snapshot may still appear in it; the end of the process lets it go.
                if isQuiet { opened.letGo() }
                return try end.get()
            } catch let error as EndpointError {
                throw StoreError(.configuration, "\(error)")
            } catch let outdated as Standby.IsOutdated {
                opened.close()
                opened.letGo()
                pause = outdated.pause
            }
        }
    }

    /// - Returns: how it ended, and whether nothing works on the data folder any more.
    private func run(
        _ opened: OpenedJournal, _ keys: StoreKeys?, seed: [UInt8]?,
        engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine
    ) throws -> (isQuiet: Bool, end: Result<Void, any Error>) {
        let limit = try raiseDescriptorLimit()
        var settings = configuration.settings
        settings.clients = settings.clients ?? DescriptorPolicy.clients(limit: limit)
        let page = TrapPage(in: configuration.journal.dataFolder) { logger.warning("\($0)") }
        defer { page.end() }
        let pulse = WatchdogPulse()
        let watch = try WatchdogThread(pulse, limit: configuration.settings.slowCall, logger: logger)
        defer { watch.end() }
        let marker = TrapMarker(page.memory, pulse: pulse)
        for warning in opened.journal.warnings { logger.warning("\(warning)") }
        var accepted = AcceptedDivergences(requested: configuration.acceptedDivergences)
        var machine: StoreMachine
        do {
            machine = try page.restoring {
                try opened.recover(accepting: &accepted) {
                    StoreMachine(
                        settings: settings, engine: engine(opened.secret, settings.group),
                        timeline: opened.timeline, secret: opened.secret, build: configuration.build, marker: marker,
                        durability: "\(opened.journal.durability)", isFenced: opened.journal is any SharedJournal)
                } note: {
                    logger.warning("\($0)")
                }
            }
        } catch let error as StoreError where error.isTransient {
            logger.warning("the journal is opened again: \(error)")
            throw Standby.IsOutdated(pause: 1_000)
        }
        var hasThread = false
        // Without the witnesses of its end on disk the log must not go, whatever keeps the store from serving.
        defer { if !hasThread { opened.close() } }
        // The journal is one that can be served: from here on it is written.
        guard var begun = try begin(opened, &machine, accepted, page, HostClock()) else { return (true, .success(())) }
        let clock = begun.clock
        defer { opened.journal.mark(in: nil) }
        // Also if it never serves: the thread of the lease would keep the session that shows that this store lives.
        defer { giveUp(&begun.lease) }
        for turn in accepted.unused.sorted() { logger.notice("there is nothing to accept at turn \(turn): see `verify`") }
        machine.journalTrimmed(through: opened.journal.first - 1)
        let keys = keysAtStart(keys, &machine, now: clock.now())
        let isNew = machine.head == 0
        let begin = try opened.start(&machine, seed: seed, accepting: accepted.fresh, number: begun.number, now: clock.now())

        let context = try Context.shared()
        var poller = Poller()
        let wakeup = poller.add(mailbox.wakeup)
        var sockets = try bind(context, keys, clock.ahead(by: machine.lead), &poller)
        try sockets.tryDoors()
        // Behind all that may keep it from serving, and before the first turn: what a start wrote that fails would forbid an older build.
        if isNew { try opened.establish(machine.schema, seed: begin) } else { try opened.adopt(machine.schema) }
        let journal = try JournalThread(opened.journal) { [mailbox] in mailbox.post($0) }
        hasThread = true
        // Also if there is no thread for maintenance.
        defer { journal.end() }
        // Without the marker, which tells of calls on this thread. What the program does not survive there is left alone.
        let retain = machine.maintenanceIsOff == nil ? configuration.retain : nil
        let maintenance = try MaintenanceThread(opened, retain: retain, mark: MaintenanceMark(page.memory)) { [configuration] in
            opened.machine(
                engine(opened.secret, configuration.settings.group), settings: configuration.settings, build: configuration.build)
        } report: { [mailbox] in
            mailbox.post(.maintenance($0))
        }
        let history = HistoryThread(opened.journal, schema: machine.schema, secret: opened.secret) { [mailbox] in
            mailbox.post(.history($0))
        }
        let threads = Threads(journal: journal, maintenance: maintenance, history: history)
        logger.info(
            "serving",
            metadata: [
                "endpoint": "\(configuration.endpoint)", "journal": "\(configuration.journal)", "turn": "\(machine.head)",
                "start": "\(machine.starts)",
            ])
        var descriptors = DescriptorGuard(limit)
        StartMemory.giveBack()
        let end = Result { try serve(&machine, threads, &begun.lease, &sockets, &descriptors, &poller, wakeup, clock) }
        let ended = clock.now()
        // Nobody shall wait at a socket that nobody reads.
        configuration.endpoint.removeFiles()
        let ends = [history.end(), maintenance.end()]
        let isQuiet = ends.allSatisfy { $0 }
        if !isQuiet { page.keep() }
        journal.end()
        waitForEnd(of: journal, &poller)
        giveUp(&begun.lease)
        guard case .success = end else { return (isQuiet, end) }
        part(&sockets, &machine.viewTopics, &poller, until: ended + configuration.goodbye, clock)
        guard begun.lease?.shallFollow == true else { return (isQuiet, end) }
        return (isQuiet, .failure(StoreError(.again, "the journal was handed over: started again, this one follows it")))
    }

    private func bind(
        _ context: Context, _ keys: StoreKeys?, _ clock: HostClock, _ poller: inout Poller
    ) throws -> StoreSockets {
        do {
            return try StoreSockets(
                context, at: configuration.endpoint, keys: keys, clock: clock, poller: &poller
            ) { [logger] in
                logger.warning("\($0)")
            }
        } catch let error as ZeroMQError {
            let what = "cannot listen at \(configuration.endpoint): \(error)"
            guard error.code == .addressInUse else { throw StoreError(.configuration, what) }
            // Whoever has the address may leave it again.
            throw StoreError(.busy, "\(what), by another store or program: name another endpoint for this one, or end the other")
        }
    }

    // MARK: Service

    private func serve(
        _ machine: inout StoreMachine, _ threads: Threads, _ lease: inout LeaseKeeper?, _ sockets: inout StoreSockets,
        _ descriptors: inout DescriptorGuard, _ poller: inout Poller, _ wakeup: Poller.Slot, _ clock: HostClock
    ) throws {
        var mayHaveMore = false
        var round: Timestamp?
        while true {
            let isBusy = mayHaveMore || machine.hasWork
            var timeout: Int? = 0
            if !isBusy {
                let now = clock.now()
                if let begun = round.take() { machine.roundTook(now - begun) }
                timeout = clock.milliseconds(until: wakeUp(machine, lease, now: now))
            }
            if sockets.isIncomplete {
                try sockets.reopen(&poller)
                timeout = min(timeout ?? 20, 20)
            }
            try poller.wait(timeoutMilliseconds: timeout)
            if let listeners = descriptors.look(clock) { try shed(listeners, descriptors.policy.limit, &sockets) }
            let now = clock.now()
            // A busy loop does not wait in between, and its next round begins where this one ends.
            if let begun = round { machine.roundTook(now - begun) }
            round = now
            // Before anything else: this process may have stood still, and another store may have taken over.
            lease?.tend(&machine, now: now)
            if poller.isReadable(wakeup) {
                try takeNews(&machine, &lease, &sockets, now)
                // The journal shall not rest, and what waited for it shall not wait for a whole round.
                for action in machine.takeActions() {
                    guard try perform(action, threads, &lease, &sockets, &machine.viewTopics, now) else { return }
                }
            }
            mayHaveMore = try sockets.receive(poller) { route, identity, frames, isTruncated in
                if isTruncated {
                    machine.receivedNoise("more than two frames", from: route, by: identity, now: now)
                } else {
                    machine.received(frames, from: route, by: identity, now: now)
                    CrashPoint.pass(.storeAfterReceive)
                }
            }
            let head = machine.head
            machine.advance(now: now)
            CrashPoint.pass(.storeAfterUpdate, if: machine.head > head)
            if machine.digestIsDue(now: now) {
                let begun = clock.now()
                machine.writeDigest(now: now)
                machine.digestTook(clock.now() - begun)
            }
            if machine.viewIsDue(now: now) {
                let begun = clock.now()
                machine.publishView(now: now)
                machine.viewTook(clock.now() - begun)
            }
            machine.flush(now: now)
            for action in machine.takeActions() {
                guard try perform(action, threads, &lease, &sockets, &machine.viewTopics, now) else { return }
            }
            if try sockets.count(&machine.viewTopics) {
                logger.warning(
                    "subscribers have asked for more than \(machine.viewTopics.limit) topics: all of them lose their connection, and may come again"
                )
            }
            if sockets.mayHaveReports { mayHaveMore = true }
        }
    }

    private func shed(_ listeners: DescriptorPolicy.Listeners, _ limit: Int, _ sockets: inout StoreSockets) throws {
        try sockets.open(listeners)
        switch listeners {
        case .open: logger.info("there are file descriptors again: all are taken")
        case .workersOnly: logger.warning("most of the \(limit) file descriptors are in use: no further clients until some leave")
        case .closed: logger.error("nearly all of the \(limit) file descriptors are in use: nobody else is taken until some leave")
        }
    }

    private func takeNews(
        _ machine: inout StoreMachine, _ lease: inout LeaseKeeper?, _ sockets: inout StoreSockets, _ now: Timestamp
    ) throws {
        for event in mailbox.takeAll() {
            switch event {
            case .drain(let limit):
                lease?.end()
                machine.drain(within: limit, now: now)
            case .readKeys: try readKeys(&machine, &sockets, now: now)
            case .processMeasured: machine.processMeasured(ownProcess(now: now), now: now)
            case .workerDied(let id, let evidence): machine.workerDied(id, evidence, now: now)
            case .journal(.committed(let turn)):
                machine.committed(through: turn, now: now)
                CrashPoint.pass(.storeAfterCommit)
            case .journal(.full(let error)):
                logger.error("\(error)")
                machine.journalIsFull(true, isAway: error.isAway, now: now)
            case .journal(.freed): machine.journalIsFull(false, now: now)
            case .journal(.failed(let error)): throw StoreError(error)
            case .journalEnded: break
            case .lease(let event): try take(event, &lease, &machine, now)
            case .maintenance(let event): try take(event, &machine)
            case .history(let answer): machine.historyRead(answer)
            }
        }
    }

    private func take(_ event: MaintenanceThread.Event, _ machine: inout StoreMachine) throws {
        switch event {
        case .maintained(.saved(let bytes)): machine.snapshotSaved(bytes: bytes)
        case .maintained(.notSaved(let reason)):
            logger.error("no snapshot: \(reason)")
            machine.snapshotSaved(bytes: nil)
        case .maintained(.trimmed(let turn)):
            logger.info("trimmed the journal up to turn \(turn)")
            machine.journalTrimmed(through: turn)
        case .maintained(.notTrimmed(let reason)): logger.error("the journal is not trimmed: \(reason)")
        case .copied(let turn): machine.exportCopied(through: turn)
        case .exported(let problem):
            if let problem { logger.error("no backup: \(problem)") }
            machine.exportEnded(problem)
        case .sound(let turn): logger.debug("the journal is sound up to turn \(turn)")
        case .damaged(let reason):
            logger.error(
                """
                the journal is damaged behind a snapshot: \(reason) The state does not come from there, and the store goes on. `journal \
                verify` tells what is left, and `journal salvage` goes on with the snapshot and what follows it
                """)
        case .maintained(.failed(let error)): throw StoreError(error)
        }
    }

    /// False at the end.
    private func perform(
        _ action: StoreAction, _ threads: Threads, _ lease: inout LeaseKeeper?, _ sockets: inout StoreSockets,
        _ topics: inout ViewTopics, _ now: Timestamp
    ) throws -> Bool {
        switch action {
        case .send(let envelope, let route):
            CrashPoint.pass(.storeBeforeTask, if: envelope.kind == .task)
            try sockets.send(envelope, to: route)
            CrashPoint.pass(.storeAfterReceipt, if: envelope.kind == .receipt)
        case .publish(let envelope, let instance):
            CrashPoint.pass(.storeBeforeView, if: envelope.kind == .view)
            try sockets.publish(envelope, of: instance)
        case .append(let first, let last, let bytes): threads.journal.append(Batch(first: first, last: last, bytes: bytes))
        case .save(let turn, let bytes): threads.maintenance.post(.maintain(.save(Snapshot(turn: turn, bytes: bytes))))
        case .snapshot(let turn): threads.maintenance.post(.maintain(.snapshot(through: turn)))
        case .export(let turn, let folder, let withSnapshot):
            threads.maintenance.post(.export(through: turn, folder: folder, withSnapshot: withSnapshot))
        case .readHistory(let turn, let last): threads.history.read(after: turn, through: last)
        case .backlog(let queues): configuration.backlogObserver?.deliver(queues)
        case .reopenViews: try sockets.closeRemoteViews(&topics)
        case .readKeys: readKeys()
        case .measureProcess: mailbox.post(.processMeasured)
        case .renewLease: lease?.hurry(now: now)
        case .note(let note): logger.log(level: note.loggerLevel, "\(note.text)")
        case .stop(.drained):
            logger.info("stopped")
            return false
        case .stop(let reason) where reason.isCuredByRestart: throw StoreError(.again, "\(reason)")
        case .stop(let reason): throw StoreError(.program, "\(reason)")
        }
        return true
    }

    /// Keeps the connections until those to whom GOODBYE was said have closed theirs.
    ///
    /// When a connection breaks, libzmq throws away at the connecting side what has arrived and was not received. So a store that
    /// closed first would take from its peers what it has just told them. Nor may it unbind before: libzmq closes with an address the
    /// connections that came in there.
    private func part(
        _ sockets: inout StoreSockets, _ topics: inout ViewTopics, _ poller: inout Poller, until end: Timestamp, _ clock: HostClock
    ) {
        var pause = 0.005
        while clock.now() < end {
            Thread.sleep(forTimeInterval: pause)
            pause = min(2 * pause, 0.1)
            do {
                try poller.wait(timeoutMilliseconds: 0)
                if try sockets.part(poller, &topics) { return }
            } catch {
                return logger.debug("\(error)")
            }
        }
    }

    private func waitForEnd(of journal: JournalThread, _ poller: inout Poller) {
        while true {
            for event in mailbox.takeAll() {
                switch event {
                case .journalEnded: return
                case .journal(.failed(let error)), .maintenance(.maintained(.failed(let error))):
                    logger.error("the journal failed at the end: \(error)")
                case .maintenance(.maintained(.notSaved(let reason))): logger.error("no snapshot: \(reason)")
                default: break
                }
            }
            // A poller that fails is no reason to leave the journal unfinished.
            do { try poller.wait(timeoutMilliseconds: 20) } catch { logger.debug("\(error)") }
        }
    }
}

extension Note {
    var loggerLevel: Logger.Level {
        switch level {
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
