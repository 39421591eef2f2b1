import CountedAllocations
import MessagePack
import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire

/// What a round trip costs the machines alone: those of a store and a worker in one thread, frames encoded and decoded as on the wire,
/// without sockets, slots and disk.
///
/// Prints one line per figure: a name and a number, for one round trip; times in nanoseconds of the thread's processor time. `Machines
/// ROUNDS TOTAL packable` (or `generated`, `plain`, `inputs`) for other than nine rounds of 100,000 round trips, and for one kind alone.
@main
enum Machines {
    static let total = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 100_000
    static let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 9

    static func main() throws {
        let chosen = CommandLine.arguments.dropFirst(3).first
        if chosen == nil || chosen == "packable" { try measure("packable", RoundTrips<PackableMessage, PackableEffect>.self) }
        if chosen == nil || chosen == "generated" { try measure("generated", RoundTrips<GeneratedMessage, GeneratedEffect>.self) }
        if chosen == nil || chosen == "inputs" { try measureInputs() }
        if chosen == nil || chosen == "plain" { try measure("plain", RoundTrips<PlainMessage, PlainEffect>.self) }
    }

    static func measureInputs() throws {
        var inputs = try Inputs()
        var times: [Double] = []
        var allocations = 0
        for _ in 0..<rounds {
            let before = samovar_allocations()
            times.append(inputs.run(total: total))
            allocations = samovar_allocations() - before
        }
        print("input_store_ns \(Int(median(times)))")
        print("input_allocations \(Double(allocations * 10 / total) / 10)")
    }

    @inline(__always)
    static func measure<Message, Effect>(_ name: String, _ program: RoundTrips<Message, Effect>.Type) throws {
        var store: [Double] = []
        var worker: [Double] = []
        var allocations = 0
        for _ in 0..<rounds {
            let before = samovar_allocations()
            let engine = TypedEngine(program, secret: Pair<Message, Effect>.secret)
            var pair = try Pair<Message, Effect>(total: total, engine: engine)
            try pair.run()
            allocations = samovar_allocations() - before
            store.append(Double(pair.storeTime) / Double(total))
            worker.append(Double(pair.workerTime) / Double(total))
        }
        print("\(name)_store_ns \(Int(median(store)))")
        print("\(name)_worker_ns \(Int(median(worker)))")
        print("\(name)_allocations \(Double(allocations * 10 / total) / 10)")
    }

    static func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }
}

/// A store and its only worker, with the frames between them.
struct Pair<Message: RoundTripMessage, Effect: NumberedEffect>: ~Copyable {
    static var secret: Secret { Secret(high: 1, low: 2) }

    private var store: StoreMachine
    private var worker: WorkerMachine
    private let effects = ValueCodec<Effect>(MessagePackEncoder(), MessagePackDecoder(lenient: true))
    private let messages = ValueCodec<Message>(MessagePackEncoder(), MessagePackDecoder())
    private let route = Route(listener: .work, id: [1])
    private let total: Int
    private var answered = 0
    private var toStore: [[[UInt8]]] = []
    private var toWorker: [[[UInt8]]] = []
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)
    private(set) var storeTime = 0
    private(set) var workerTime = 0

    init(total: Int, engine: any ProgramEngine) throws {
        self.total = total
        var settings = StoreSettings()
        // Nobody is there who would make one.
        settings.snapshotTurns = .max
        settings.snapshotBytes = .max
        store = StoreMachine(
            settings: settings, engine: engine, timeline: UniqueID(high: 1, low: 1), secret: Self.secret, build: "machines")
        try store.start(seed: try MessagePackEncoder().encode(["open": 4_096, "total": total]), now: now)
        let offer = WorkerOffer(id: WorkerID(high: 7, low: 7), slots: 1, queues: [.default])
        worker = WorkerMachine(
            offer, schema: RoundTrips<Message, Effect>.schema, readAhead: 4_096, random: Random(seed: 1))
    }

    mutating func run() throws {
        var jobs: [JobTask] = []
        perform(worker.ticked(now: now), &jobs)
        while answered < total {
            precondition(!toStore.isEmpty || !toWorker.isEmpty || !jobs.isEmpty, "nothing moves after \(answered) answers")
            let start = samovar_processor_time()
            runStore()
            let middle = samovar_processor_time()
            try runWorker(&jobs)
            let end = samovar_processor_time()
            storeTime += Int(middle - start)
            workerTime += Int(end - middle)
        }
    }

    private mutating func runStore() {
        for frame in toStore { store.received(frame, from: route, now: now) }
        toStore.removeAll(keepingCapacity: true)
        repeat {
            store.advance(now: now)
            store.flush(now: now)
            takeActions()
        } while store.hasWork
    }

    /// The journal commits at once.
    private mutating func takeActions() {
        var actions = store.takeActions()
        while !actions.isEmpty {
            for action in actions {
                switch action {
                case .send(let envelope, _): toWorker.append(envelope.parts)
                case .append(_, let last, _): store.committed(through: last, now: now)
                case .note(let note): preconditionFailure(note.text)
                case .stop(let reason): preconditionFailure("\(reason)")
                case .publish, .save, .snapshot, .export, .readHistory, .backlog, .reopenViews, .readKeys, .renewLease,
                    .measureProcess:
                    break
                }
            }
            actions = store.takeActions()
        }
    }

    private mutating func runWorker(_ jobs: inout [JobTask]) throws {
        for frame in toWorker { perform(worker.received(try Envelope(parts: frame), now: now), &jobs) }
        toWorker.removeAll(keepingCapacity: true)
        while let job = jobs.popLast() {
            let effect = try effects.decode(job.payload)
            let answer = try messages.encode(.answer(effect.number))
            answered += 1
            perform(worker.finished(job.lease, .done([answer]), now: now), &jobs)
        }
        perform(worker.flush(now: now), &jobs)
    }

    /// - Parameter jobs: gets those that start. A list for each call would be most of what this package adds to a round trip.
    private mutating func perform(_ actions: [WorkerMachine.Action], _ jobs: inout [JobTask]) {
        for action in actions {
            switch action {
            case .send(let envelope): toStore.append(envelope.parts)
            case .start(let task, _): jobs.append(task)
            case .note, .connect, .checkKey, .disconnect, .cancel, .acknowledged, .keyRefused, .refused, .stop: break
            }
        }
    }
}
