import Foundation
import SamovarCore
import Synchronization
import Testing

@testable import SamovarHost
@testable import SamovarPeers
@testable import SamovarWire
@testable import SamovarWorker

/// Its effects are their numbers.
private struct Relay: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case pass }
    typealias Effect = Int

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Relay> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Relay> { .none }
    static func failed(_ effect: Int, _ failure: Failure) -> Message? { nil }
}

@Suite struct SlotTests {
    /// Slots with their contexts and their machine, whose store is played by a test.
    struct Workplace {
        static let home = Timeline(high: 1, low: 1)
        static let other = Timeline(high: 2, low: 2)

        let coordinator: WorkerCoordinator
        let slots: [JobRunner]
        var slot: JobRunner { slots[0] }

        /// - Parameter count: of slots, which share a thread if there are several.
        init(slots count: Int = 1) throws {
            let offer = WorkerOffer(id: WorkerID(high: 7, low: 7), slots: count, queues: [.default])
            let settings = WorkerMachine.Settings(connection: ConnectionSettings(firstPause: .zero, longestPause: .zero))
            coordinator = try WorkerCoordinator(
                WorkerMachine(offer, schema: nil, readAhead: 8, settings: settings, random: Random(seed: 1)), slots: count)
            slots = (0..<count).map { [coordinator] in JobRunner($0, of: coordinator, sharesThread: count > 1) }
        }

        /// A store of this timeline comes, and has these tasks.
        func connect(_ timeline: Timeline = Self.home, tasks: [Int]) {
            _ = coordinator.look(now: coordinator.now(), places: 1, end: .broken)
            _ = coordinator.look(now: coordinator.now(), places: 1, end: nil)
            receive(.welcome(Welcome(schema: Schema(name: "x", version: 1), head: 9, silence: .seconds(6))), of: timeline)
            receive(.task(tasks.map(SlotTests.task), number: tasks.count), of: timeline)
        }

        /// What the loop does with a frame. Returns the results that it sends.
        @discardableResult
        func receive(_ frame: Frame, of timeline: Timeline = Self.home) -> [Envelope] {
            _ = coordinator.received(Envelope(frame, timeline: timeline), now: coordinator.now())
            return look()
        }

        @discardableResult
        func look() -> [Envelope] {
            var results: [Envelope] = []
            for action in coordinator.look(now: coordinator.now(), places: 1, end: nil) {
                switch action {
                case .start(let task, let timeline):
                    if let number = coordinator.assign(task) { slots[number].give(task, in: timeline) }
                case .cancel(let lease): slot.cancel(lease)
                case .send(let envelope): if envelope.kind == .result { results.append(envelope) }
                default: break
                }
            }
            return results
        }
    }

    static func lease(_ number: Int) -> Lease { Lease(start: 1, counter: number) }

    static func task(_ number: Int) -> JobTask {
        JobTask(
            effect: EffectID(turn: number, ordinal: 0), lease: lease(number), token: 0, attempt: 1, payload: [UInt8(number)])
    }

    @Test(.timeLimit(.minutes(1)))
    func `A job that is cancelled before it begins is told to stop, and the next one is not`() async throws {
        let work = try Workplace()
        let cancellations = Mutex<[Bool]>([])
        work.connect(tasks: [1, 2])
        work.receive(.cancel([Self.lease(1)], number: 1))
        await work.slot.run(on: SlotExecutor(0)) { slot in
            guard var context = await slot.nextJob() else { return }
            let isFirst = context.job.lease == Self.lease(1)
            // A job that waits ends when it is told to.
            if isFirst { while (try? await Task.sleep(for: .milliseconds(1))) != nil {} } else { slot.close() }
            cancellations.withLock { $0.append(Task.isCancelled) }
            // Another task runs the next job.
            let end = slot.ended(&context, message: nil)
            #expect(end == (isFirst ? .interrupted : .idle))
        }
        #expect(cancellations.withLock { $0 } == [true, false])
    }

    @Test(.timeLimit(.minutes(1)))
    func `A job that is cancelled while its slot is between two tasks is told to stop`() async throws {
        let work = try Workplace()
        let stopped = Mutex<[Lease]>([])
        work.connect(tasks: [1, 2, 3])
        work.receive(.cancel([Self.lease(1)], number: 1))
        await work.slot.run(on: SlotExecutor(0)) { slot in
            guard var context = await slot.nextJob() else { return }
            let lease = context.job.lease
            if lease != Self.lease(3) { while (try? await Task.sleep(for: .milliseconds(1))) != nil {} } else { slot.close() }
            if Task.isCancelled { stopped.withLock { $0.append(lease) } }
            _ = slot.ended(&context, message: nil)
            if lease == Self.lease(1) { work.receive(.cancel([Self.lease(2)], number: 1)) }
        }
        #expect(stopped.withLock { $0 } == [Self.lease(1), Self.lease(2)])
    }

    @Test func `A job is not told to stop because one of another timeline with its lease was`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1, 2])
        var context = try #require(await work.slot.nextJob())
        work.slot.cancel(Self.lease(1))
        var end = work.slot.ended(&context, message: nil)
        #expect(end == .interrupted, "it was told to stop, and so no other runs in its task")
        context = try #require(await work.slot.nextJob())
        work.slot.cancel(Self.lease(1))
        #expect(context.job.lease == Self.lease(2))
        end = work.slot.ended(&context, message: nil)
        #expect(end == .idle)
        work.slot.cancel(Self.lease(1))
        work.connect(Workplace.other, tasks: [1])
        context = try #require(await work.slot.nextJob())
        #expect(context.job.lease == Self.lease(1) && context.job.timeline == Workplace.other)
        end = work.slot.ended(&context, message: nil)
        #expect(end == .idle, "this other job with the lease of the first one was not told to stop")
    }

    @Test func `A context is used again only if nothing has kept it, and nothing was said`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1, 2, 3, 4])
        var context = try #require(await work.slot.nextJob())
        let first = ObjectIdentifier(context)
        _ = work.slot.ended(&context, message: nil)
        #expect(ObjectIdentifier(context) == first && context.job.lease == Self.lease(2))
        let kept = context
        _ = work.slot.ended(&context, message: nil)
        #expect(context !== kept && context.job.lease == Self.lease(3) && kept.job.lease == Self.lease(2))
        kept.collect([2])
        await #expect(throws: StreamError.ended) { try await kept.stream([2], checkpoint: nil) }
        var isFree = JobContext.isFree(&context)
        #expect(isFree, "what is left of an ended job does not speak for another")
        context.collect([3])
        _ = work.slot.ended(&context, message: nil)
        isFree = JobContext.isFree(&context)
        #expect(isFree && context.job.lease == Self.lease(4))
    }

    @Test func `What a job has sent comes before its last message, and nothing of it with a failure`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1, 2, 3, 4])
        var context = try #require(await work.slot.nextJob())
        context.collect([1])
        context.collect([2])
        _ = [3].withUnsafeBytes { work.slot.ended(&context, message: UnsafeRawBufferPointer(rebasing: $0[..<1])) }
        context.collect([4])
        _ = work.slot.ended(&context, message: nil)
        context.collect([5])
        _ = work.slot.ended(&context, .failed(.threw, "no", permanent: false))
        _ = work.slot.ended(&context, message: nil)
        let answers: [JobResult.Answer] = [
            .done([[1], [2], [3]]), .done([[4]]), .failed(.threw, "no", permanent: false), .done([]),
        ]
        let results = zip(1..., answers).map {
            JobResult(effect: EffectID(turn: $0, ordinal: 0), lease: Self.lease($0), token: 0, answer: $1)
        }
        #expect(work.look() == [Envelope(.result(JobResults(results), credit: 13), timeline: Workplace.home)])
    }

    @Test(.timeLimit(.minutes(1)))
    func `What the store has of a stream makes room for more`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1])
        let context = try #require(await work.slot.nextJob())
        for _ in 0..<StreamWindow.limit { try await context.stream([1], checkpoint: nil) }
        work.coordinator.acknowledged(StreamMark(lease: Self.lease(1), index: 1))
        try await context.stream([1], checkpoint: nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func `A stream ends in any task of its handler once the job was told to stop`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1])
        let context = try #require(await work.slot.nextJob())
        for _ in 0..<StreamWindow.limit { try await context.stream([1], checkpoint: nil) }
        let ending = Mutex<(any Error)?>(nil)
        // Nobody cancels this one, in which there is no room.
        Task {
            do {
                try await context.stream([1], checkpoint: nil)
            } catch {
                ending.withLock { $0 = error }
            }
        }
        work.receive(.cancel([Self.lease(1)], number: 1))
        while ending.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(ending.withLock { $0 is CancellationError })
    }

    @Test(.timeLimit(.minutes(1)))
    func `A job that was told to stop before it streams does not wait for room that nobody makes`() async throws {
        let work = try Workplace()
        work.connect(tasks: [1])
        let context = try #require(await work.slot.nextJob())
        work.receive(.cancel([Self.lease(1)], number: 1))
        var streamed = 0
        do {
            while true {
                try await context.stream([1], checkpoint: nil)
                streamed += 1
            }
        } catch is CancellationError {
            #expect(streamed == 1, "the first message is that by which it is known to stream")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `Slots that share a thread take turns there, though no handler suspends`() async throws {
        let work = try Workplace(slots: 2)
        let (tasks, executor) = (Array(1...8), SlotExecutor(0))
        let begun = Mutex(0)
        let areGiven = Mutex(false)
        let order = Mutex<[Int]>([])
        let prepared = try await Worker<Relay> { number, _ in
            while !areGiven.withLock({ $0 }) { usleep(1_000) }
            let count = order.withLock { done in
                done.append(number)
                return done.count
            }
            if count == tasks.count { for slot in work.slots { slot.close() } }
            return nil
        }.prepare()
        let loop: JobRunner.Work = { slot in
            begun.withLock { $0 += 1 }
            await prepared.work(slot)
        }
        let running = Task {
            await withTaskGroup(of: Void.self) { group in
                for slot in work.slots { group.addTask { await slot.run(on: executor, loop) } }
            }
        }
        while begun.withLock({ $0 < 2 }) { try await Task.sleep(for: .milliseconds(1)) }
        work.connect(tasks: tasks)
        areGiven.withLock { $0 = true }
        await running.value
        #expect(order.withLock { $0.sorted() } == tasks)
        #expect(order.withLock { $0.prefix(2).sorted() } == [1, 2], "each slot has had its turn")
    }

    @Test func `What a short lock guards is changed by one thread at a time`() async {
        let lock = ShortLock([0])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 { lock.withLock { $0.append($0.removeLast() + 1) } }
                }
            }
        }
        #expect(lock.withLock { $0 } == [80_000])
    }
}
