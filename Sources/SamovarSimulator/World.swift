import Journal
import SamovarCore
import SamovarWire

/// One store, its workers and clients, the network between them and the disk under the store, all from one seed.
///
/// Two phases: for the given time things go wrong and promises must hold; then everything heals and all work must end. The
/// world carries things out; what happens by itself is planned in `World+Faults`, and what must hold is checked by `InvariantChecker`.
final class World {
    let seed: UInt64
    let swarm: Swarm
    /// Faults end then.
    let faultsEnd: Instant
    /// Kill one process at one step, and nothing else goes wrong.
    let crash: CrashPlan?

    private(set) var now: Instant = 0
    private var queue: EventQueue
    var trace: Trace
    var random: SeededRandom

    let disk: Disk
    private(set) lazy var network = Network(self)
    private(set) lazy var checker = InvariantChecker(
        self, reference: ReferenceModel(timeline: disk.timeline, secret: disk.secret, viewBytes: swarm.viewBytes))
    /// One, or where they share a database, two.
    private(set) lazy var stores = (0..<(swarm.hasStandby ? 2 : 1)).map { StoreProcess(self, $0) }
    /// The store that has written the newest turn.
    var store: StoreProcess { stores[writer] }
    private var writer = 0
    /// Where the journal is, if stores share it.
    private(set) lazy var database: Database? = swarm.hasStandby ? makeDatabase() : nil
    var databaseRandom: SeededRandom
    /// What the database has lost of what it had confirmed, until somebody brings it back.
    var lost: Database.Contents?
    var lostSince: Instant = 0
    /// When it was brought back.
    var restored: Instant = -1
    private(set) lazy var workers = (0..<swarm.workers).map { WorkerProcess(self, $0) }
    /// Only where the program has something for one.
    private(set) lazy var operatorProcess = swarm.traits.contains(.controls) ? OperatorProcess(self) : nil
    private(set) lazy var clients = (0..<swarm.clients).map { ClientProcess(self, $0) }
    private(set) lazy var keyKeeper = swarm.traits.contains(.keys) ? KeyKeeper(self) : nil
    private(set) lazy var intruder = swarm.traits.contains(.keys) && swarm.inputs == nil ? IntruderProcess(self) : nil

    var knownWorkers: Set<WorkerID> = []
    /// Sessions that their users have left.
    var leavers: Set<SessionID> = []
    private var inputID: UInt64 = 1

    /// Faults still happen, and clients still send.
    var isFaulty = true

    // What a fault has changed for a while.
    var diskDelay: Instant = 0
    /// The store dies after so many steps.
    var storeFuse: Int?
    /// What its unconfirmed write comes to; drawn if nil.
    var unconfirmed: CrashPlan.Fate?
    /// Steps that processes have taken, where one may die.
    private(set) var steps = Steps()

    /// What is counted on the way.
    var report = Report()

    struct Steps: Equatable, Sendable {
        var store = 0
        var worker = 0
    }

    init(seed: UInt64, swarm: Swarm, duration: Instant, crash: CrashPlan? = nil, trace: Simulation.Tracing) {
        self.seed = seed
        self.swarm = swarm
        self.crash = crash
        faultsEnd = duration
        patienceEnds = duration + Self.patience
        queue = EventQueue(random: SeededRandom(seed: seed, "agenda"))
        self.trace = Trace(trace)
        random = SeededRandom(seed: seed, "world")
        databaseRandom = SeededRandom(seed: seed, "database")
        disk = Disk(timeline: random.id(), secret: Secret(high: random.word(), low: random.word()))
    }

    // MARK: Running

    /// After the faults have ended, everything has so long, and anew with each input that is answered: a store that may hold few open
    /// effects takes the inputs of its clients as slowly as its workers work.
    static let patience = 60 * seconds
    private var patienceEnds: Instant
    private var unanswered = Int.max
    /// Timers of whole seconds go on for ever, and between two of them is rest. No divisor of a second, so that in a minute each of its
    /// hundredths is looked at.
    private static let inspectionInterval = seconds * 21 / 100

    func run() throws(Violation) {
        for store in stores { planStart(of: store, at: 0) }
        for worker in workers { planStart(of: worker, at: random.time(0...seconds)) }
        for client in clients { planStart(of: client, at: random.time(0...seconds)) }
        if let operatorProcess { planStart(of: operatorProcess, at: seconds / 2) }
        if let keyKeeper { planStart(of: keyKeeper, at: seconds / 2) }
        if let intruder { planStart(of: intruder, at: seconds) }
        planFaults()
        planInspection(at: seconds)
        while let (time, event) = queue.next() {
            now = time
            if isFaulty, now >= faultsEnd { try heal() }
            report.events += 1
            try handle(event)
            if let deferred { throw deferred }
            if isAtRest { return try requireEnd() }
        }
    }

    private var isAtRest = false

    private func handle(_ event: Event) throws(Violation) {
        switch event {
        case .round(let process, let incarnation):
            trace.note(now, 1, process.incarnation) { "\(process.name): round" }
            if process.incarnation == incarnation { try process.roundIsDue() }
        case .connected(let link): connected(link)
        case .broke(let link): broke(link)
        case .arrive(let link, let direction): arrive(link, direction)
        case .happen(let body): try body()
        }
    }

    private func planInspection(at time: Instant) {
        plan(.happen { [unowned self] () throws(Violation) in try inspect() }, at: time)
    }

    private func inspect() throws(Violation) {
        for store in stores { try store.compare() }
        try requireOneOwner()
        guard !isFaulty else { return planInspection(at: now + 5 * seconds) }
        do throws(Violation) {
            try checker.requireRest()
            isAtRest = true
        } catch {
            let waiting = clients.reduce(0) { $0 + $1.unanswered }
            if waiting < unanswered { patienceEnds = max(patienceEnds, now + Self.patience) }
            unanswered = waiting
            if now >= patienceEnds { throw error }
            planInspection(at: now + Self.inspectionInterval)
        }
    }

    /// Live, restored and replayed from the first turn: all the same.
    private func requireEnd() throws(Violation) {
        for store in stores { try store.compare() }
        guard !swarm.hasStandby else {
            // One that only follows has no journal to read.
            if let journal = store.succession?.journal { try checker.requirePast(journal) }
            return try store.requireSameReplay()
        }
        try storeDied(store, "the end", isOrderly: true)
        try store.start(drift: 0, wall: wall)
        try storeDied(store, "the end", isOrderly: true)
        try checker.requirePast(disk)
        // What was trimmed cannot be replayed.
        guard disk.first == 1 else { return }
        try store.requireSameReplay()
        try store.start(drift: 0, wall: wall)
    }

    // MARK: Plans and notes

    func plan(_ event: Event, at time: Instant) { queue.add(event, at: time) }

    /// What a process does then, unless it has ended meanwhile.
    func plan(for process: Process, at time: Instant, _ body: @escaping () throws(Violation) -> Void) {
        let incarnation = process.incarnation
        let unlessEnded = { () throws(Violation) -> Void in
            guard process.incarnation == incarnation else { return }
            try body()
        }
        plan(.happen(unlessEnded), at: time)
    }

    func planStart(of process: Process, at time: Instant) {
        plan(for: process, at: time) { [unowned self] () throws(Violation) in try start(process) }
    }

    func note(_ text: @autoclosure () -> String) { trace.note(now, 0, 0, text) }

    func count(_ fault: Fault) { report.faults[fault.rawValue] += 1 }

    /// A batch is confirmed, by this store.
    func durable(_ batch: Batch, epoch: Int, by store: Int) {
        writer = store
        note("database: confirmed \(batch.first) to \(batch.last) of epoch \(epoch)")
        do throws(Violation) {
            try requireWhole(batch)
            try checker.durable(batch, epoch: epoch)
        } catch { deferred = error }
    }

    func nextInputID() -> UInt64 {
        inputID += 1
        return inputID
    }

    /// As much waits for slots as can be done in the time after the faults.
    var isLoaded: Bool { checker.reference.open.count >= 5 + 5 * swarm.slots }

    /// What a commit takes now.
    func syncTime() -> Instant {
        random.about(isFaulty ? swarm.syncTime : milliseconds) + (diskDelay > 0 ? random.about(diskDelay) : 0)
    }

    // MARK: The network

    private func connected(_ link: Link) {
        guard network.connected(link) else { return }
        trace.note(now, 2, link.id) { "link \(link.id) of \(link.peer.name) is open" }
        link.peer.connected(link)
    }

    private func broke(_ link: Link) {
        guard link.peer.incarnation == link.incarnation else { return }
        trace.note(now, 3, link.id) { "\(link.peer.name) notices that link \(link.id) broke" }
        link.peer.broke(link)
    }

    private func arrive(_ link: Link, _ direction: Direction) {
        guard let parts = network.arrive(link, direction) else { return }
        trace.note(now, 4, link.id, content: parts) { frameText(parts, link, direction) }
        (direction == .toStore ? link.store : link.peer).arrive(parts, on: link)
    }

    // MARK: Steps

    /// A process is about to do one thing; false if it dies before it.
    func survives(_ process: Process) -> Bool {
        if let store = process as? StoreProcess {
            steps.store += 1
            if let crash, crash.victim == .store, crash.step == steps.store { return kill(store, crash.fate) }
            guard let fuse = storeFuse else { return true }
            storeFuse = fuse - 1
            guard fuse <= 0 else { return true }
            storeFuse = nil
            return kill(store, nil)
        }
        steps.worker += 1
        guard let crash, crash.victim == .worker, crash.step == steps.worker, let worker = process as? WorkerProcess else {
            return true
        }
        workerDied(worker, "killed")
        return false
    }

    // MARK: Deaths and starts

    private func start(_ process: Process) throws(Violation) {
        guard !process.isUp else { return }
        var drift: Instant = 0
        if swarm.has(.drift), isFaulty, crash == nil {
            drift = random.time(-200...200)
            count(.drift)
        }
        if swarm.has(.wallJump), isFaulty, crash == nil, random.chance(0.3) {
            wallOffset = random.time(-3_600...3_600) * seconds
            count(.wallJump)
        }
        try process.start(drift: drift, wall: wall)
    }

    /// What the wall clock says: some day in 2026.
    private var wall: Instant { 1_790_000_000 * seconds + now + wallOffset }
    private var wallOffset: Instant = 0

    /// Kills the store, which does not survive; the disk decides what its unconfirmed write comes to.
    private func kill(_ store: StoreProcess, _ fate: CrashPlan.Fate?) -> Bool {
        unconfirmed = fate
        do throws(Violation) { try storeDied(store, "killed") } catch { deferred = error }
        return false
    }

    /// Found where nothing can be thrown.
    var deferred: Violation?

    func storeDied(_ store: StoreProcess, _ reason: String, isOrderly: Bool = false) throws(Violation) {
        guard store.isUp else { return }
        if let succession = store.succession { return try died(store, succession, reason) }
        if !isOrderly, store.isAppending { try finishWrite() }
        unconfirmed = nil
        storeFuse = nil
        store.die(reason)
        network.ended(store)
        report.restarts += 1
        if let deferred { throw deferred }
        planStart(of: store, at: now + (crash == nil ? random.time(1...500) : 100) * milliseconds)
    }

    func forgetFuse() { (storeFuse, unconfirmed) = (nil, nil) }

    private func finishWrite() throws(Violation) {
        switch unconfirmed ?? drawFate() {
        case .lost: count(.unconfirmedLost)
        case .torn: count(.tornWrite)
        case .kept:
            try store.writeUnconfirmed()
            count(.unconfirmedKept)
        }
    }

    private func drawFate() -> CrashPlan.Fate {
        let fates: [(Fault, CrashPlan.Fate)] = [(.unconfirmedLost, .lost), (.tornWrite, .torn), (.unconfirmedKept, .kept)]
        let possible = fates.filter { swarm.has($0.0) }.map(\.1)
        return possible.isEmpty ? .lost : random.pick(possible)
    }

    /// The journal is damaged, and the store will not start. An operator brings the good copy back, or gives the journal up.
    func storeRefused(_ error: JournalError) {
        note("the store refuses to start: \(error)")
        store.die("damaged journal")
        if random.chance(0.2) { beginAnew() } else { disk.repair() }
        planStart(of: store, at: now + random.time(100...2_000) * milliseconds)
    }

    /// The old timeline is archived, and another begins.
    func beginAnew() {
        let timeline = random.id()
        let secret = Secret(high: random.word(), low: random.word())
        disk.begin(timeline: timeline, secret: secret)
        checker.begin(ReferenceModel(timeline: timeline, secret: secret, viewBytes: swarm.viewBytes))
        count(.freshTimeline)
        note("a new timeline: \(timeline)")
    }

    func workerDied(_ worker: WorkerProcess, _ reason: String) {
        guard worker.isUp else { return }
        let id = worker.id
        worker.die(reason)
        if random.chance(isFaulty ? (swarm.has(.deathReport) ? swarm.reports : 0) : 1) {
            count(.deathReport)
            let store = store
            plan(for: store, at: now + random.time(1...50) * milliseconds) {
                if store.isUp, store.isServing { store.workerDied(id, reason) }
            }
        }
        planStart(of: worker, at: now + random.time(20...1_000) * milliseconds)
    }

    func clientEnded(_ client: ClientProcess, _ reason: String) {
        guard client.isUp else { return }
        client.die(reason)
        planStart(of: client, at: now + random.time(20...3_000) * milliseconds)
    }
}

private func frameText(_ parts: [[UInt8]], _ link: Link, _ direction: Direction) -> String {
    let what = (try? Envelope(parts: parts)).map { shorten("\($0.frame)") } ?? "noise"  // Only for the trace.
    return direction == .toStore ? "\(link.peer.name) → store: \(what)" : "store → \(link.peer.name): \(what)"
}

private func shorten(_ text: String) -> String { text.count > 2400 ? "\(text.prefix(2400))…" : text }
