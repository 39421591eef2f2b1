import MessagePack
import SamovarCore
import SamovarPeers
import SamovarWire
import Synchronization
import Testing

@testable import SamovarHost
@testable import SamovarWorker

/// Workers as values: lists of handlers, environments, children. What a job says is read off its context.
@Suite struct WorkerListTests {
    enum Child: OpenProgram {
        struct State: Portable {}
        enum Message: Portable { case did(String) }
        enum Effect: Portable { case `do`(String) }
        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Child> { .state(State()) }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Child> { .none }
        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    enum Parent: OpenProgram {
        struct State: Portable {}
        enum Message: Portable { case child(Child.Message), said(String) }
        enum Effect: Portable {
            case child(Child.Effect)
            case say(String)
            case nothing
            var text: String? { if case .say(let text) = self { text } else { nil } }
        }
        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Parent> { .state(State()) }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Parent> { .none }
        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    /// What a worker makes of an effect: its messages in order, or why it has none.
    static func run(_ worker: Worker<Parent>, _ effect: Parent.Effect, queue: Queue = .default) async throws -> [Parent.Message] {
        let task = JobTask(
            effect: EffectID(turn: 1, ordinal: 0), lease: Lease(start: 1, counter: 1), token: 0, attempt: 1, queue: queue,
            payload: [])
        let sent = Mutex<[Parent.Message]>([])
        let context = JobContext(task, in: .zero) { event in
            guard case .streamed(_, _, let bytes, _) = event else { return }
            sent.withLock { $0 += (try? MessagePackDecoder().decode(Parent.Message.self, from: bytes)).map { [$0] } ?? [] }
        }
        let prepared = try await worker.prepare()
        let last: Parent.Message?
        do {
            last = try await prepared.handle(effect, Job<Parent>(context))
        } catch {
            await prepared.tearDown()
            throw error
        }
        await prepared.tearDown()
        let collected = try context.close().map { try MessagePackDecoder().decode(Parent.Message.self, from: $0) }
        return sent.withLock { $0 } + collected + (last.map { [$0] } ?? [])
    }

    struct Unprepared: Error {}

    static func listed(hasMail: Bool) -> Worker<Parent> {
        .handlers {
            take(.say("hello")) { job in .said("hello to you") }
            if hasMail {
                on(\.text) { text, job in .said("mailed \(text)") }
            } else {
                on(\.text) { text, job in .said("kept \(text)") }
            }
        }
    }

    @Test func `An effect goes to the first handler that takes it, by key path, value or closure`() async throws {
        #expect(try await Self.run(Self.listed(hasMail: true), .say("hello")) == [.said("hello to you")])
        #expect(try await Self.run(Self.listed(hasMail: true), .say("x")) == [.said("mailed x")])
        #expect(try await Self.run(Self.listed(hasMail: false), .say("x")) == [.said("kept x")])
        await #expect(throws: NotTaken.self) { try await Self.run(Self.listed(hasMail: true), .nothing) }
    }

    @Test func `Groups see only what was ordered for them, and are the queues of their worker`() async throws {
        let worker = Worker<Parent>.handlers {
            for name in ["a", "b"] {
                group(Queue(name)) { on(\.text) { text, job in .said("\(name) \(text)") } }
            }
        }
        #expect(worker.queues == ["a", "b"])
        #expect(try await Self.run(worker, .say("x"), queue: "b") == [.said("b x")])
        await #expect(throws: NotTaken.self) { try await Self.run(worker, .say("x")) }
    }

    @Test func `A child's worker takes the child's effects, and what it sends is the parent's`() async throws {
        let child = Worker<Child>(environment: { "env" }) { effect, environment, job in
            guard case .do(let what) = effect else { return nil }
            try job.send(.did("collected \(what)"))
            try await job.stream(.did("streamed \(what)"))
            return .did("\(environment) \(what) \(job.key)")
        }
        .slots(2, queue: "child")
        let worker = Worker<Parent>(joining: [
            child.lift(effect: { if case .child(let effect) = $0 { effect } else { nil } }, message: { .child($0) }),
            Self.listed(hasMail: true),
        ])
        #expect(worker.queues == ["child", .default] && worker.limits == ["child": 2])
        #expect(
            try await Self.run(worker, .child(.do("x"))) == [
                .child(.did("streamed x")), .child(.did("collected x")), .child(.did("env x \(Timeline.zero)/1/0")),
            ])
        #expect(try await Self.run(worker, .say("x")) == [.said("mailed x")])
    }

    @Test func `A worker that names no queue serves the default one beside one that names some, too`() {
        let plain = Worker<Parent> { _, _ in nil }
        #expect(Worker<Parent>(joining: [plain.serving("mail"), plain]).queues == ["mail", .default])
        #expect(Worker<Parent>(joining: [plain, plain]).queues.isEmpty)
    }

    @Test func `A handler may be a sequence of messages`() async throws {
        let worker = Worker<Parent>.stream { effect, job in
            AsyncStream { continuation in
                for number in 1...3 { continuation.yield(Parent.Message.said("\(number)")) }
                continuation.finish()
            }
        }
        #expect(try await Self.run(worker, .nothing) == [.said("1"), .said("2"), .said("3")])
    }

    @Test func `Environments are made in order, and torn down in the reverse, also when a later one fails`() async throws {
        let diary = Mutex<[String]>([])
        func part(_ name: String, fails: Bool = false) -> Worker<Parent> {
            Worker(
                environment: {
                    if fails { throw Unprepared() }
                    diary.withLock { $0.append("make \(name)") }
                    return name
                }, tearDown: { name in diary.withLock { $0.append("end \(name)") } }
            ) { _, _, _ in nil }
        }
        let prepared = try await Worker(joining: [part("a"), part("b")]).prepare()
        await prepared.tearDown()
        #expect(diary.withLock { $0 } == ["make a", "make b", "end b", "end a"])
        diary.withLock { $0 = [] }
        await #expect(throws: Unprepared.self) { try await Worker(joining: [part("a"), part("b", fails: true)]).prepare() }
        #expect(diary.withLock { $0 } == ["make a", "end a"])
    }
}

/// What a handler sees when the store is slow, and when nobody wants its messages any more.
@Suite struct JobDeskTests {
    static func context(_ report: @escaping @Sendable (JobEvent) -> Void = { _ in }) -> JobContext {
        let task = JobTask(
            effect: EffectID(turn: 1, ordinal: 0), lease: lease, token: 0, attempt: 2, resume: StreamPlace(index: 5), payload: [])
        return JobContext(task, in: .zero, report: report)
    }

    static let lease = Lease(start: 1, counter: 1)

    @Test(.timeLimit(.minutes(1)))
    func `A stream waits at its window, and goes on with each acknowledgement`() async throws {
        let numbers = Mutex<[Int]>([])
        let context = Self.context { if case .streamed(_, let index, _, _) = $0 { numbers.withLock { $0.append(index) } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for _ in 0..<200 { try await context.stream([1], checkpoint: nil) } }
            var acknowledged = 5
            while acknowledged < 205 {
                let last = numbers.withLock { $0.last ?? 5 }
                #expect(last - acknowledged <= StreamWindow.limit)
                acknowledged = last
                context.acknowledged(StreamMark(lease: Self.lease, index: last))
                await Task.yield()
            }
            try await group.waitForAll()
        }
        #expect(numbers.withLock { $0 } == Array(6...205))
    }

    @Test(.timeLimit(.minutes(1)))
    func `A cancelled task does not wait for room, and after its end a job streams nothing`() async throws {
        let context = Self.context()
        for _ in 0..<StreamWindow.limit { try await context.stream([1], checkpoint: nil) }
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await context.stream([1], checkpoint: nil) }
            group.cancelAll()
            await #expect(throws: CancellationError.self) { try await group.waitForAll() }
        }
        _ = context.close()
        await #expect(throws: StreamError.ended) { try await context.stream([1], checkpoint: nil) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `Nothing is streamed after a job has ended, also if it is the first thing that is said`() async throws {
        for _ in 0..<300 {
            let isOver = Mutex(false)
            let context = Self.context { _ in #expect(!isOver.withLock { $0 }) }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        await #expect(throws: StreamError.ended) { while true { try await context.stream([1], checkpoint: nil) } }
                    }
                }
                _ = context.close()
                isOver.withLock { $0 = true }
            }
        }
    }

    @Test func `All that is collected before the end is in the answer`() async {
        for _ in 0..<300 {
            let context = Self.context()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 { group.addTask { context.collect([UInt8(number)]) } }
            }
            #expect(context.close().sorted { $0[0] < $1[0] } == [[0], [1], [2], [3]])
            context.collect([4])
            #expect(context.close().count == 4)
        }
    }

    @Test func `What is too large is refused by name`() async throws {
        let context = Self.context()
        let large = [UInt8](repeating: 0, count: StreamWindow.messageLimit + 1)
        let error = await #expect(throws: StreamError.self) { try await context.stream(large, checkpoint: nil) }
        #expect(error.map { "\($0)" } == "a streamed message of 1048577 bytes with its checkpoint; 1048576 at most")
        let rest = [UInt8](repeating: 0, count: StreamWindow.messageLimit - 1)
        try await context.stream(rest, checkpoint: [1])
        let sum = await #expect(throws: StreamError.self) { try await context.stream(rest, checkpoint: [1, 2]) }
        #expect(sum == error)
        let checkpoint = [UInt8](repeating: 0, count: StreamWindow.checkpointLimit + 1)
        let other = await #expect(throws: StreamError.self) { try await context.stream([1], checkpoint: checkpoint) }
        #expect(other.map { "\($0)" } == "a checkpoint of 65537 bytes; 65536 at most")
    }

    @Test func `Progress is told in order, and none after the end of a job`() {
        let told = Mutex<[JobProgress]>([])
        let context = Self.context { if case .progressed(_, let progress) = $0 { told.withLock { $0.append(progress) } } }
        for number in 1...100 { context.progress(JobProgress(fraction: Double(number) / 100)) }
        context.progress(JobProgress(text: "more"))
        #expect(told.withLock { $0.count } == 101)
        #expect(told.withLock { $0.suffix(2) } == [JobProgress(fraction: 1), JobProgress(text: "more")])
        _ = context.close()
        context.progress(JobProgress(text: "too late"))
        #expect(told.withLock { $0.count } == 101)
    }

    @Test func `The place of an output is read as it is written`() {
        let timeline = Timeline(high: 1, low: 2)
        let place = OutputPlace(timeline: timeline, id: EffectID(turn: 12, ordinal: 3))
        #expect(OutputPlace("\(place)") == place)
        #expect(OutputPlace("12/3") == OutputPlace(timeline: nil, id: EffectID(turn: 12, ordinal: 3)))
        for text in ["", "12", "12/", "/3", "-1/3", "x/12/3", "1/2/3/4", "12/3x"] { #expect(OutputPlace(text) == nil, "\(text)") }
    }
}
