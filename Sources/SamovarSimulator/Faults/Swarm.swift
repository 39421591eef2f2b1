import SamovarCore
import SamovarPeers
import SamovarStore

/// What one seed's world is like: who is in it, what may go wrong, and how small its limits are.
struct Swarm {
    var clients: Int
    var workers: Int
    var faults: Set<Fault>
    /// Messages are lost, repeated and swapped inside a connection.
    var isHarsh: Bool
    /// Faults come about so many times as often as usual.
    var pace: Double

    // The network.
    var delay: Instant
    var publisherLoss: Double
    var highWater: Int
    /// How often the queue to a peer is full for a single message.
    var fullness = 0.005
    var loss = 0.0
    var duplication = 0.0
    var reordering = 0.0

    // The disk.
    var syncTime: Instant
    /// The newest turns that are kept at least; nil keeps all.
    var retain: Int?

    // Processes.
    var roundCost: Instant
    var slots: Int
    var readAhead: Int
    /// How often a supervisor tells of a death.
    var reports: Double

    // Load.
    /// Between two inputs of one client.
    var pause: Instant
    /// Inputs of each client, one of each kind after the other; nil for as many as time allows, drawn.
    var inputs: Int?
    /// The last of them ends its session.
    var lastEnds = false
    /// Inputs that one client lets wait for their outcome.
    var unanswered: Int
    var works: [Work]
    /// Those that end workers. They are few, because each death costs other jobs an attempt, too.
    var deadly: [Work]
    var viewBytes: Int
    /// What the program does beside its daily work.
    var traits: Set<Trait>

    /// What the first inputs become, where they are not drawn.
    var script: [(_ inputID: UInt64) -> ModelProgram.Message] = []

    /// Two stores share the journal in a database, and one of them waits for the other's end.
    var hasStandby = false
    /// What goes wrong with stores and their database then.
    var databaseFaults: Set<DatabaseFault> = []
    /// What the database takes to answer.
    var databaseDelay: Instant = 0

    /// Parts of the program that a world has or has not.
    enum Trait: CaseIterable {
        /// Timers and moments of the store's life.
        case timers
        /// Labels, policies and cancellations.
        case labels
        /// Effects that stream; beside timers, sources, too.
        case streaming
        /// Outputs for other programs.
        case outputs
        /// Effects that have a time for all their attempts together.
        case limits
        /// Orders about dead effects, queues and labels, by the program and by an operator.
        case controls
        /// Peers that come over the network, with keys that change, and somebody whose keys are good for little.
        case keys
    }

    /// Those that give clients inputs to send. In a fixed order: a set has another in each process.
    var inputTraits: [Trait] { Trait.allCases.filter { $0 != .keys && traits.contains($0) } }

    var store = StoreSettings()
    var client = ClientMachine.Settings.standard
    var worker = WorkerMachine.Settings.standard

    func has(_ fault: Fault) -> Bool { faults.contains(fault) }

    var hasSources: Bool { traits.isSuperset(of: [.timers, .streaming]) }

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed, "swarm")
        clients = random.number(1...4)
        workers = random.number(1...3)
        let isHarsh = random.chance(0.2)
        self.isHarsh = isHarsh
        let faults = Set(Fault.allCases.filter { _ in random.chance(0.5) }.filter { isHarsh || !$0.isHarsh })
        self.faults = faults
        pace = random.pick([0.5, 1, 1, 2, 5])
        delay = random.pick([100, milliseconds, milliseconds, 5 * milliseconds, 30 * milliseconds, 100 * milliseconds])
        publisherLoss = random.pick([0.02, 0.1, 0.3])
        highWater = random.pick([30, 100, 1_000])
        if isHarsh {
            loss = faults.contains(.loss) ? random.pick([0.005, 0.05]) : 0
            duplication = faults.contains(.duplication) ? random.pick([0.01, 0.1]) : 0
            reordering = faults.contains(.reordering) ? random.pick([0.01, 0.1]) : 0
        }
        syncTime = random.pick([100, 500, 2 * milliseconds, 10 * milliseconds, 50 * milliseconds])
        roundCost = random.pick([10, 50, 500])
        slots = random.number(1...4)
        readAhead = random.pick([0, 0, 1, 4])
        reports = random.pick([0, 0.5, 1])
        pause = random.pick([300, 1_000, 2_000, 5_000]) * milliseconds
        unanswered = 20
        var other = SeededRandom(seed: seed, "traits")
        traits = Set(Trait.allCases.filter { _ in other.chance(0.5) })
        works = Work.plain.filter { _ in random.chance(0.5) } + [.quick]
        if traits.contains(.streaming) { works += [.streaming, .streaming] }
        deadly = Work.allCases.filter(\.isDeadly).filter { _ in random.chance(0.5) }
        viewBytes = random.pick([0, 100, 2_000])
        var maintenance = SeededRandom(seed: seed, "maintenance")
        retain = maintenance.pick([nil, nil, 1, 20, 200])
        if traits.contains(.limits) { works.append(.endless) }
        if traits.contains(.controls) { works += [.wavering, .cursed] }
        narrow(&random)
        share(seed)
    }

    /// Has a quarter of the worlds two stores. Their journal is on no disk, and what a network does that is no TCP is for the others, and so
    /// are keys and operators.
    private mutating func share(_ seed: UInt64) {
        var random = SeededRandom(seed: seed, "standby")
        hasStandby = random.chance(0.25)
        guard hasStandby else { return }
        isHarsh = false
        (loss, duplication, reordering) = (0, 0, 0)
        faults = faults.filter { !$0.isHarsh && !$0.isOfDisk }
        traits.subtract([.keys, .controls])
        retain = nil
        store.sessionIdle = StoreSettings().sessionIdle
        databaseFaults = Set(DatabaseFault.allCases.filter { _ in random.chance(0.5) })
        databaseDelay = random.pick([200, milliseconds, 5 * milliseconds, 30 * milliseconds])
    }

    /// Makes some limits so small that they are met all the time.
    private mutating func narrow(_ random: inout SeededRandom) {
        func rarely<Value>(_ value: inout Value, _ choices: [Value]) {
            if random.chance(0.3) { value = random.pick(choices) }
        }
        rarely(&store.batchTurns, [1, 3, 20])
        rarely(&store.batchBytes, [1, 300])
        rarely(&store.turnsPerRound, [1, 3])
        rarely(&store.window, [1, 2, 8])
        rarely(&store.inbox, [2, 10])
        rarely(&store.openEffects, [5, 20])
        rarely(&store.taskFrameBytes, [1, 100])
        rarely(&store.sessionIdle, [.seconds(15), .seconds(60)])
        rarely(&store.silence, [.seconds(3), .seconds(10)])
        rarely(&store.waiters, [1, 4])
        rarely(&store.viewInterval, [.milliseconds(1), .milliseconds(500)])
        store.snapshotBytes = random.pick([500, 4_000, 20_000, 64 << 20])
        store.snapshotInlineBytes = random.pick([0, 1_000, 1 << 20])
        store.drain = .seconds(random.pick([1, 5]))
        rarely(&client.window, [1, 4])
        rarely(&client.frameBytes, [1, 200])
        rarely(&client.requests, [1, 3])
        rarely(&worker.unacknowledged, [1, 3])
        rarely(&worker.frameBytes, [1, 200])
        rarely(&worker.drain, [.milliseconds(10), .seconds(3)])
        // Refused at the listener, a client comes again after a second: so few go in each second then.
        if store.inbox < 50 { unanswered = store.inbox * 4 }
    }
}
