import MessagePack
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// What may differ between two builds of one program.
protocol Edition: Sendable {
    static func rest(of chain: Int) -> Command<Workshop<Self>>
    /// What every state wants to hear of.
    static var watches: [Workshop<Self>.Watch] { get }
}

extension Edition {
    static var watches: [Workshop<Self>.Watch] { [] }
}

enum FirstEdition: Edition {
    static func rest(of chain: Int) -> Command<Workshop<Self>> { chain > 1 ? .then(.chain(chain - 1)) : .none }
}

/// A build whose `update` was changed, and whose schema was not.
enum ChangedEdition: Edition {
    static func rest(of chain: Int) -> Command<Workshop<Self>> { chain > 2 ? .then(.chain(chain - 2)) : .none }
}

/// A build with other subscriptions than the first one.
enum TimedEdition: Edition {
    static func rest(of chain: Int) -> Command<Workshop<Self>> { chain > 1 ? .then(.chain(chain - 1)) : .none }

    static var watches: [Workshop<Self>.Watch] {
        [Workshop.Watch(id: "back", moment: Lifecycle.resumed.rawValue), Workshop.Watch(id: "every 2 s", seconds: 2)]
    }
}

/// The program of these tests: numbers to add, chains of follow-ups, and jobs.
/// One that listens to a source.
enum ListeningEdition: Edition {
    static func rest(of chain: Int) -> Command<Workshop<Self>> { .none }

    static var watches: [Workshop<Self>.Watch] { [Workshop.Watch(id: "feed", source: Workshop.Job(name: "listen"))] }
}

enum Workshop<E: Edition>: Program {
    struct State: Portable {
        var total = 0
        var done: [String] = []
        var dice: UInt64 = 0
        var watches: [Watch] = []
        var ticks: [String] = []
    }

    /// A subscription that the state holds.
    struct Watch: Portable {
        var id: String
        var seconds: Int?
        var missed = 1
        var moment: UInt8?
        var source: Job?
    }

    struct Job: Portable {
        var name: String
        var queue = "default"
        /// 0 for one without any options, which is tried once.
        var attempts = 1
        var timeout: Int?
        var delay = 0
        /// Nobody makes a message of its failure.
        var diesSilently = false
        var id: String?
        var policy = "all"
        var limit = 0
        var priority = 0
        var waiting: Int?
        var total: Int?
        var keepsDead = false
        var width = 1
        var stops = false
    }

    /// A control, named so that it can be sent.
    struct Wish: Portable {
        var verb: String
        var label: String?
        var queue: String?
        var effect: [Int]?
        /// So many attempts in a second.
        var rate: Int?

        var command: Command<Workshop> {
            switch (verb, label, queue, effect) {
            case ("requeue", let label?, nil, nil): .requeue(Label(label))
            case ("requeue", nil, let queue?, nil): .requeue(queue: Queue(queue))
            case ("requeue", nil, nil, let id?): .requeue(EffectID(turn: id[0], ordinal: id[1]))
            case ("drop", let label?, nil, nil): .drop(Label(label))
            case ("drop", nil, let queue?, nil): .drop(queue: Queue(queue))
            case ("drop", nil, nil, let id?): .drop(EffectID(turn: id[0], ordinal: id[1]))
            case ("pause", let label?, nil, nil): .pause(Label(label))
            case ("pause", nil, let queue?, nil): .pause(queue: Queue(queue))
            case ("resume", let label?, nil, nil): .resume(Label(label))
            case ("resume", nil, let queue?, nil): .resume(queue: Queue(queue))
            case ("rule", nil, let queue?, nil): .rule(Queue(queue), QueueRules(rate: rate.map { .init($0, per: .seconds(1)) }))
            default: .none
            }
        }
    }

    enum Input: Portable {
        case add(Int)
        case chain(Int)
        case order([Job])
        case cancel(String)
        case emit([String])
        case watch([Watch])
        case wish([Wish])
        case forbidden
    }

    enum Message: Portable {
        case add(Int)
        case chain(Int)
        case order([Job])
        case cancel(String)
        case emit([String])
        case watch([Watch])
        case wish([Wish])
        case ticked(String)
        case finished(String)
    }

    enum Refusal: Error, Portable {
        case notHere(total: Int)
    }

    typealias Output = String

    struct ViewState: Portable {
        var total: Int
        var done: Int
    }

    static var schema: Schema { Schema(name: "Workshop", version: 1) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .add(let number): .add(number)
        case .chain(let length): .chain(length)
        case .order(let jobs): .order(jobs)
        case .cancel(let label): .cancel(label)
        case .emit(let texts): .emit(texts)
        case .watch(let watches): .watch(watches)
        case .wish(let wishes): .wish(wishes)
        case .forbidden: throw .notHere(total: state.total)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .add(let number):
            state.total += number
            return .none
        case .chain(let length):
            state.total += 1
            return E.rest(of: length)
        case .order(let jobs):
            var random = turn.random()
            state.dice = random.next()
            return .batch(jobs.map(run))
        case .cancel(let label): return .cancel(Label(label))
        case .emit(let texts): return .batch(texts.map { .emit($0) })
        case .watch(let watches):
            state.watches = watches
            return .none
        case .wish(let wishes): return .batch(wishes.map(\.command))
        case .ticked(let what):
            state.ticks.append(what)
            return what == chainOfNine ? .then(.chain(9)) : .none
        case .finished(let what):
            state.done.append(what)
            return what.hasPrefix(rivalry) ? .drop(Label("rivals")) : .none
        }
    }

    private static func run(_ job: Job) -> Command<Self> {
        if job.attempts == 0 { return .run(job) }
        let policy: Policy =
            switch job.policy {
            case "latest": .latest
            case "first": .first
            case "serial": .serial(limit: job.limit)
            case "lane": .lane(width: job.width, limit: job.limit, behindDead: job.stops ? .stops : .goesOn)
            default: .all
            }
        let limits = RunLimits(waiting: job.waiting.map { .seconds($0) }, total: job.total.map { .seconds($0) })
        let retry = Retry.backoff(first: .seconds(1), attempts: job.attempts)
        return .run(
            job,
            RunOptions(
                id: job.id.map { Label($0) }, queue: Queue(job.queue), policy: policy,
                retry: job.keepsDead ? retry.keepingDead : retry, timeout: job.timeout.map { .seconds($0) },
                priority: job.priority, delay: .seconds(job.delay), limits: limits))
    }

    static func subscriptions(_ state: State) -> [Subscription<Self>] {
        (state.watches + E.watches).map { watch in
            let id = Label(watch.id)
            if let job = watch.source {
                // One that names a single attempt, as all do that say nothing, has those of every source.
                guard job.attempts > 1 else { return .source(job, id: id) }
                return .source(job, id: id, retry: .backoff(first: .seconds(1), attempts: job.attempts))
            }
            if let moment = watch.moment.flatMap(Lifecycle.init) { return .on(moment, id: id, send: .ticked(watch.id)) }
            let missed = Missed(rawValue: UInt8(watch.missed)) ?? .once
            return .every(.seconds(watch.seconds ?? 1), id: id, missed: missed, send: .ticked(watch.id))
        }
    }

    /// The timer of this name orders follow-ups.
    static var chainOfNine: String { "chain of nine" }

    static var invariants: [Invariant<Self>] {
        [
            Invariant("the total is below 1000") { $0.total < 1_000 },
            Invariant("fewer than three jobs are done") { $0.done.count < 3 },
        ]
    }

    static func view(_ state: State) -> ViewState { ViewState(total: state.total, done: state.done.count) }

    static func failed(_ effect: Job, _ failure: Failure) -> Message? {
        effect.diesSilently ? nil : .finished("\(effect.name) \(failure)")
    }

    /// Told of jobs, queues and labels whose name begins so.
    static var curiosity: String { "curious" }
    /// Told of such a job, it drops what is dead of the label “rivals”.
    static var rivalry: String { "curious rival" }

    static func operated(_ action: OperatorAction<Self>) -> Message? {
        let (verb, name): (String, String) =
            switch action {
            case .requeued(let job, let id): ("requeued \(id)", job.name)
            case .dropped(let job, let id): ("dropped \(id)", job.name)
            case .paused(.queue(let queue)): ("paused", queue.name)
            case .paused(.label(let label)): ("paused", label.text)
            case .resumed(.queue(let queue)): ("resumed", queue.name)
            case .resumed(.label(let label)): ("resumed", label.text)
            case .ruled(let queue, let rules): ("ruled \(rules)", queue.name)
            }
        return name.hasPrefix(curiosity) ? .finished("\(name) \(verb)") : nil
    }
}

typealias Shop = Workshop<FirstEdition>

let workshopSecret = Secret(high: 3, low: 4)

func packed(_ value: some Encodable) -> [UInt8] {
    do {
        return try MessagePackEncoder(canonical: true).encode(value)
    } catch {
        fatalError("\(error)")
    }
}

func unpacked<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
    try MessagePackDecoder().decode(type, from: bytes)
}

func finished(_ names: String...) -> [[UInt8]] { names.map { packed(Shop.Message.finished($0)) } }
