import SamovarCore
import SamovarTesting
import SamovarWorker
import Synchronization
import Testing

/// A handler in a test sees what it sees in a worker process, and the test sees all that the store would hear of.
@Suite(.timeLimit(.minutes(1))) struct TestJobTests {
    @Test func `A handler sees the job that the test has made`() async throws {
        let first = try await TestJob(Courier.self, .look).run(Courier.worker())
        guard case .returned(.seen(let sight)) = first.outcome else { throw Unexpected("\(first.outcome)") }
        #expect(sight == Courier.Sight(key: sight.key, queue: "default"))
        #expect(!sight.key.isEmpty)

        let job = TestJob(
            Courier.self, .look, key: "order 7", attempt: 3, queue: "mail", timeout: .seconds(60), resume: 12, checkpoint: "page 4")
        let expected = Courier.Sight(
            key: "order 7", attempt: 3, queue: "mail", hasDeadline: true, resume: 12, checkpoint: "page 4")
        try await job.run(Courier.worker()).expect(.returned(.seen(expected)))
    }

    @Test func `A handler sees the deadline that the test has chosen`() async throws {
        let deadline = ContinuousClock.now + .seconds(90)
        let seen = Mutex<ContinuousClock.Instant?>(nil)
        let run = try await TestJob(Courier.self, .wait, deadline: deadline).run(
            Worker { _, job in
                seen.withLock { $0 = job.deadline }
                return nil
            })
        run.expect(.returned(nil))
        #expect(seen.withLock { $0 } == deadline)
    }

    @Test func `What was sent comes before what is returned, and nothing of it with a failure`() async throws {
        let well = try await TestJob(Courier.self, .deliver("milk")).run(Courier.worker())
        well.expect(.returned(.delivered("milk")), sent: [.delivered("half of milk")])
        #expect(well.messages == [.delivered("half of milk"), .delivered("milk")])
        let ill = try await TestJob(Courier.self, .fail(permanent: false)).run(Courier.worker())
        ill.expect(.threw("NoLuck()"))
        #expect(ill.error is Courier.NoLuck)
        #expect(ill.messages.isEmpty)
    }

    @Test func `A message that was sent and none that is returned are told apart from one that is returned`() async throws {
        let sends = Worker<Courier> { _, job in
            try job.send(.passed(mile: 1))
            return nil
        }
        try await TestJob(Courier.self, .look).run(sends).expect(.returned(nil), sent: [.passed(mile: 1)])
        let returns = Worker<Courier> { _, _ in .passed(mile: 1) }
        try await TestJob(Courier.self, .look).run(returns).expect(.returned(.passed(mile: 1)))
    }

    @Test func `What is streamed has its number and its checkpoint, and progress is kept`() async throws {
        let run = try await TestJob(Courier.self, .ride(miles: 2)).run(Courier.worker())
        run.expect(.returned(nil), streamed: [.passed(mile: 1), .passed(mile: 2)])
        #expect(run.streamed.map(\.index) == [1, 2])
        #expect(try run.streamed.map { try $0.checkpoint(as: Int.self) } == [1, 2])
        #expect(run.progress == [.init(0.5, "mile 1"), .init(1, "mile 2")])
    }

    @Test func `A further attempt goes on after what earlier ones have streamed`() async throws {
        let run = try await TestJob(Courier.self, .ride(miles: 5), attempt: 2, resume: 3, checkpoint: 3).run(Courier.worker())
        run.expect(.returned(nil), streamed: [.passed(mile: 4), .passed(mile: 5)])
        #expect(run.streamed.map(\.index) == [4, 5])
    }

    @Test func `A stream of any length finds room`() async throws {
        let run = try await TestJob(Courier.self, .ride(miles: 1_000)).run(Courier.worker())
        #expect(run.outcome == .returned(nil))
        #expect(run.streamed.count == 1_000)
    }

    @Test func `A permanent error, and an effect that no handler takes, are outcomes of their own`() async throws {
        let worker = Courier.worker()
        try await TestJob(Courier.self, .fail(permanent: true)).run(worker).expect(.permanent("no such address"))
        try await TestJob(Courier.self, .unknown, queue: "mail").run(worker)
            .expect(.unhandled("no handler of this worker takes unknown from queue mail"))
    }

    /// Its effect is no enum.
    enum Letters: OpenProgram {
        struct State: Portable {}
        enum Message: Portable { case sent }
        struct Effect: Portable { var address: String }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Letters> { .state(State()) }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Letters> { .none }
        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    @Test func `An effect that no handler takes is told by its case or its type, and nothing that it holds`() async throws {
        try await TestJob(Courier.self, .deliver("a secret")).run(Worker(joining: []))
            .expect(.unhandled("no handler of this worker takes deliver from queue default"))
        try await TestJob(Letters.self, .init(address: "a secret")).run(Worker(joining: []))
            .expect(.unhandled("no handler of this worker takes Effect from queue default"))
    }

    /// Its answer writes an integer for a float.
    enum Scale: OpenProgram {
        struct State: Portable {}
        struct Message: Portable {
            var kilos: Double
            enum CodingKeys: CodingKey { case kilos }

            init(kilos: Double) { self.kilos = kilos }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(Int(kilos), forKey: .kilos)
            }
        }
        enum Effect: Portable { case weigh }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Scale> { .state(State()) }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Scale> { .none }
        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    @Test func `An answer is read as leniently as a store reads it`() async throws {
        let worker = Worker<Scale> { _, job in
            try job.send(Scale.Message(kilos: 1))
            return Scale.Message(kilos: 2)
        }
        try await TestJob(Scale.self, .weigh).run(worker).expect(.returned(.init(kilos: 2)), sent: [.init(kilos: 1)])
    }

    @Test func `An answer that is too large for a store is unhandled, whether it was sent or returned`() async throws {
        let small = String(repeating: "m", count: 3 << 20)
        let fits = try await TestJob(Courier.self, .look).run(Worker { _, _ in .delivered(small) })
        #expect(fits.outcome == .returned(.delivered(small)))
        let sends = Worker<Courier> { _, job in
            try job.send(.delivered(small))
            return .delivered(small)
        }
        let returns = Worker<Courier> { _, _ in .delivered(small + small) }
        for worker in [sends, returns] {
            let run = try await TestJob(Courier.self, .look).run(worker)
            guard case .unhandled(let text) = run.outcome else { throw Unexpected("it fits") }
            #expect(text.hasPrefix("an answer of 6291") && text.hasSuffix(" bytes; 4194304 at most"))
            #expect(run.messages.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `Of a long error the beginning is told, as to a store`(isPermanent: Bool) async throws {
        struct Long: Error, CustomStringConvertible { let description = String(repeating: "x", count: 1_500) }
        let run = try await TestJob(Courier.self, .look).run(
            Worker { _, _ in
                if isPermanent { throw Permanent(Long().description) }
                throw Long()
            })
        let mark = "… (1500 bytes)"
        let text = String(repeating: "x", count: 1_000 - mark.count) + mark
        #expect(run.outcome == (isPermanent ? .permanent(text) : .threw(text)))
    }

    @Test func `An effect goes to the first handler of a list that takes it, and a group sees its queue alone`() async throws {
        let run = try await TestJob(Courier.self, .deliver("milk"), queue: "express").run(Courier.worker())
        run.expect(.returned(.delivered("milk in a hurry")))
    }

    // MARK: Environment

    @Test func `A worker makes its environment for each run, and tears it down after it`() async throws {
        let van = Courier.Van()
        _ = try await TestJob(Courier.self, .deliver("milk"), key: "k").run(Courier.worker(van))
        #expect(van.notes == ["made", "delivers milk for k", "torn down"])
    }

    @Test func `An environment that the test gives is neither made nor torn down`() async throws {
        let (real, fake) = (Courier.Van(), Courier.Van())
        let job = TestJob(Courier.self, .deliver("milk"), key: "k")
        for _ in 0..<2 { _ = try await job.run(Courier.worker(real), environment: fake) }
        #expect(real.notes.isEmpty)
        #expect(fake.notes == ["delivers milk for k", "delivers milk for k"], "run again, it is the same effect")
        _ = try await job.run(
            Worker(joining: [Worker.handlers { take(.wait) { _ in nil } }, Courier.worker(real)]), environment: fake)
        #expect(real.notes.isEmpty && fake.notes.count == 3, "a worker without an environment has none to be given")
    }

    @Test func `An environment of another type is an error, and the worker's own is not made`() async throws {
        let real = Courier.Van()
        let error = await #expect(throws: (any Error).self) {
            _ = try await TestJob(Courier.self, .deliver("milk")).run(Courier.worker(real), environment: 5)
        }
        #expect(error.map { "\($0)" } == "the handlers of this worker take Van as their environment, and were given Int")
        #expect(real.notes.isEmpty)
    }

    struct Ledger: Sendable { let owner: String }

    /// Two workers, each with an environment of its own, of which the first cannot be made.
    private func joined(_ van: Courier.Van) -> Worker<Courier> {
        Worker(joining: [
            Worker.handlers(environment: { () -> Ledger in throw Courier.NoLuck() }) {
                take(.look) { ledger, _ in .delivered("parcels of \(ledger.owner)") }
            },
            Courier.worker(van),
        ])
    }

    @Test func `Each worker of a join gets the environment of its type, and makes none`() async throws {
        let (real, fake) = (Courier.Van(), Courier.Van())
        let worker = joined(real)
        let look = try await TestJob(Courier.self, .look).run(worker, environments: fake, Ledger(owner: "Ada"))
        look.expect(.returned(.delivered("parcels of Ada")))
        let delivery = try await TestJob(Courier.self, .deliver("milk"), key: "k")
            .run(worker, environments: Ledger(owner: "Ada"), fake)
        delivery.expect(.returned(.delivered("milk")), sent: [.delivered("half of milk")])
        #expect(real.notes.isEmpty)
        #expect(fake.notes == ["delivers milk for k"], "what the test gives is not torn down")
    }

    @Test func `A worker of a join to which no environment is given is an error, and tears none of the others down`() async throws {
        let (real, fake) = (Courier.Van(), Courier.Van())
        let missing = await #expect(throws: (any Error).self) {
            _ = try await TestJob(Courier.self, .look).run(joined(real), environments: Ledger(owner: "Ada"))
        }
        #expect(missing.map { "\($0)" } == "the handlers of this worker take Van as their environment, and were given Ledger")
        let last = Worker<Courier>(environment: { Ledger(owner: "Ada") }) { _, _, _ in nil }
        let other = await #expect(throws: (any Error).self) {
            _ = try await TestJob(Courier.self, .look)
                .run(Worker(joining: [Courier.worker(real), last]), environments: fake, 5)
        }
        #expect(other.map { "\($0)" } == "the handlers of this worker take Ledger as their environment, and were given Van, Int")
        #expect(real.notes.isEmpty && fake.notes.isEmpty)
    }

    @Test func `An environment that cannot be made is the error of the run`() async throws {
        let worker = Worker<Courier>(environment: { () -> Int in throw Courier.NoLuck() }) { _, _, _ in nil }
        await #expect(throws: Courier.NoLuck.self) { _ = try await TestJob(Courier.self, .look).run(worker) }
    }

    // MARK: Cancelling

    @Test func `A job that is cancelled before it runs begins with a task that is cancelled`() async throws {
        let job = TestJob(Courier.self, .look)
        job.cancel()
        let isCancelled = Mutex<Bool?>(nil)
        let run = try await job.run(
            Worker { _, job in
                isCancelled.withLock { $0 = Task.isCancelled }
                try job.checkCancelled()
                return nil
            })
        run.expect(.cancelled)
        #expect(isCancelled.withLock { $0 } == true)
        #expect(run.wasCancelled)
    }

    @Test(arguments: [0, 1, 3, 64, 100])
    func `A job that is cancelled after so many messages streams no further one`(count: Int) async throws {
        let job = TestJob(Courier.self, .ride(miles: 1_000))
        job.cancel(afterStreaming: count)
        let run = try await job.run(Courier.worker())
        #expect(run.outcome == .cancelled)
        #expect(run.streamed.count == count)
        let again = try await job.run(Courier.worker())
        #expect(again.streamed.count == count, "of each run, so many")
    }

    @Test func `Streams in several tasks of a handler end when the job is cancelled`() async throws {
        let job = TestJob(Courier.self, .look)
        job.cancel(afterStreaming: 100)
        let run = try await job.run(
            Worker { _, job in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 1...4 { group.addTask { while true { try await job.stream(.passed(mile: task)) } } }
                    try await group.waitForAll()
                }
                return nil
            })
        #expect(run.outcome == .cancelled)
        #expect(run.streamed.count >= 100)
    }

    @Test func `A job is cancelled when the test says so, and its handler wakes up`() async throws {
        let job = TestJob(Courier.self, .wait)
        let (begun, begins) = AsyncStream<Void>.makeStream()
        async let running = job.run(
            Worker { _, _ in
                begins.finish()
                try await Task.sleep(for: .seconds(3_600))
                return nil
            })
        for await _ in begun {}
        job.cancel()
        try await running.expect(.cancelled)
    }

    @Test func `A job is cancelled from what its handler uses, and the next look finds it so`() async throws {
        let job = TestJob(Courier.self, .deliver("milk"))
        let van = Courier.Van { _ in job.cancel() }
        let worker = Worker<Courier> { effect, job in
            van.onDelivery("milk")
            try job.send(.delivered("milk"))
            try job.checkCancelled()
            return nil
        }
        try await job.run(worker).expect(.cancelled)
    }

    @Test func `A handler that overlooks its cancellation returns, and that it was cancelled is known`() async throws {
        let job = TestJob(Courier.self, .look)
        job.cancel()
        let run = try await job.run(Worker { _, _ in .delivered("all the same") })
        run.expect(.returned(.delivered("all the same")))
        #expect(run.wasCancelled)
    }

    @Test func `A job is cancelled when its time is over, and not when it ends before`() async throws {
        try await TestJob(Courier.self, .wait, timeout: .milliseconds(20)).run(Courier.worker()).expect(.cancelled)
        try await TestJob(Courier.self, .wait, deadline: .now - .seconds(1)).run(Courier.worker()).expect(.cancelled)
        let run = try await TestJob(Courier.self, .look, timeout: .seconds(3_600)).run(Courier.worker())
        #expect(!run.wasCancelled)
    }

    @Test func `A time that is centuries away ends no job, and one that was over centuries ago ends it at once`() async throws {
        // It runs for longer than it takes to begin the wait for its end.
        let worker = Worker<Courier> { _, job in
            try await Task.sleep(for: .milliseconds(20))
            return .delivered("by \(job.deadline != nil)")
        }
        for time in [Duration.microseconds(Int64.max), .seconds(Int64.max), Duration.seconds(Int64.max) * 10] {
            try await TestJob(Courier.self, .wait, timeout: time).run(worker).expect(.returned(.delivered("by true")))
            try await TestJob(Courier.self, .wait, deadline: .now + time).run(worker).expect(.returned(.delivered("by true")))
            try await TestJob(Courier.self, .wait, deadline: .now - time).run(Courier.worker()).expect(.cancelled)
        }
    }

    @Test func `An error of its own is no cancellation, and a cancellation that nobody ordered is an error`() async throws {
        let job = TestJob(Courier.self, .fail(permanent: false))
        job.cancel()
        let run = try await job.run(Courier.worker())
        run.expect(.threw("NoLuck()"))
        #expect(run.wasCancelled)
        let other = try await TestJob(Courier.self, .look).run(Worker { _, _ in throw CancellationError() })
        other.expect(.threw("CancellationError()"))
    }

    // MARK: Texts

    @Test func `What a handler did otherwise is told part by part`() async throws {
        let reports = Reports()
        let run = try await TestJob(Courier.self, .ride(miles: 2), reporter: reports.reporter).run(Courier.worker())
        run.expect(.threw("no luck"), streamed: [.passed(mile: 1), .passed(mile: 3)], sent: [.delivered("milk")])
        run.expect(.returned(nil), streamed: [.passed(mile: 1), .passed(mile: 2)])
        let other = try await TestJob(Courier.self, .look, reporter: reports.reporter).run(Worker { _, _ in .passed(mile: 1) })
        other.expect(.returned(.passed(mile: 2)))
        #expect(
            reports.takeAll() == [
                """
                .ride(miles: 2): the handler did not do what is expected
                  run.outcome: expected .threw("no luck"), is .returned(nil)
                  run.streamed[1].passed.mile: expected 3, is 2
                  run.sent[0]: expected .delivered("milk"), is missing
                """,
                """
                .look: the handler did not do what is expected
                  run.outcome.returned.passed.mile: expected 2, is 1
                """,
            ])
    }

    struct Unexpected: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }
}
