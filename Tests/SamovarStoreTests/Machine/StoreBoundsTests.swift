import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What time, stalls and failures may pile up: counted in entries and turns.
@Suite struct StoreBoundsTests {
    /// A store with a client and a worker that may have so many jobs.
    private static func rig(_ settings: StoreSettings = StoreSettings(), slots: Int = 9, credit: Int = 9) throws -> Rig {
        let rig = try Rig(settings)
        rig.connectClient()
        rig.connectWorker(slots: slots, credit: credit)
        return rig
    }

    // MARK: Answers

    @Test func `Answers that are sent again while commits stall do not pile up`() throws {
        var settings = StoreSettings()
        settings.batchTurns = 1
        let rig = try Self.rig(settings, slots: 100, credit: 100)
        rig.deliver(inputs([.order((0..<100).map { job("\($0)") })]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.count == 100)
        rig.commits = false
        for sequence in 2...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.machine.turns.canTake == false)
        for _ in 0..<400 { rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 100), from: worker(1)) }
        #expect(rig.machine.workers.answers.of(workerID(1)).count <= 16_384 + 2 * 100)
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(try rig.state().done == (0..<100).map { "\($0)" }, "each is applied, once and in order")
        #expect(rig.durable.ledger.open.isEmpty)
    }

    // MARK: Deadlines

    @Test func `Deadlines that were met are forgotten`() throws {
        let rig = try Self.rig(slots: 100, credit: 100_000)
        for round in 0..<40 {
            rig.deliver(
                inputs([.order((0..<100).map { Shop.Job(name: "\($0)", waiting: 3_600, total: 3_600) })], from: round + 1),
                from: client(1))
            rig.round()
            let tasks = rig.takeTasks(worker(1))
            #expect(tasks.count == 100)
            rig.exchange(.result(JobResults(tasks.map { $0.answered("done") }), credit: 100_000), from: worker(1))
            rig.tick(.seconds(1))
            rig.deliver(.ping(round + 1), from: client(1))
        }
        #expect(rig.machine.turns.state.ledger.open.isEmpty)
        #expect(rig.machine.scheduler.deadlines.count <= 1_024 + 200)
    }

    @Test func `Deadlines that are forgotten are not those that still count`() throws {
        let rig = try Self.rig(slots: 100, credit: 100_000)
        rig.order(Shop.Job(name: "late", queue: "nobody's", diesSilently: true, waiting: 60))
        for round in 0..<20 {
            rig.deliver(
                inputs([.order((0..<100).map { Shop.Job(name: "\($0)", waiting: 3_600, total: 3_600) })], from: round + 2),
                from: client(1))
            rig.round()
            rig.exchange(
                .result(JobResults(rig.takeTasks(worker(1)).map { $0.answered("done") }), credit: 100_000), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.machine.turns.state.ledger.open.count == 1)
        rig.tick(.seconds(41))
        #expect(rig.machine.turns.state.ledger.open.isEmpty && rig.machine.turns.state.ledger.dead.count == 1)
    }

    @Test func `A timeout still counts after many that were met`() throws {
        let rig = try Self.rig(slots: 200, credit: 100_000)
        rig.order(job("late", timeout: 50))
        #expect(rig.takeTasks(worker(1)).count == 1)
        for round in 0..<16 {
            rig.exchange(inputs([.order((0..<100).map { job("\($0)", timeout: 3_600) })], from: round + 2), from: client(1))
            let tasks = rig.takeTasks(worker(1))
            rig.exchange(.result(JobResults(tasks.map { $0.answered("done") }), credit: 100_000), from: worker(1))
            rig.tick(.seconds(1))
        }
        for _ in 0..<35 {
            rig.deliver(.ping(100_000), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.machine.turns.state.ledger.open.count == 1)
        rig.tick(.seconds(1))
        #expect(rig.machine.turns.state.ledger.open.isEmpty)
    }

    @Test func `A delay still counts after many of effects that are closed`() throws {
        let rig = try Self.rig()
        rig.order(job("late", delay: 5))
        for sequence in 2...1_200 {
            rig.deliver(
                inputs(
                    [.order([Shop.Job(name: "a", delay: 3_600, id: "one", policy: "latest")])], from: sequence,
                    confirmed: sequence - 1),
                from: client(1))
            if sequence.isMultiple(of: 100) { rig.round() }
        }
        for _ in 0..<4 { rig.tick(.seconds(1)) }
        #expect(rig.takeTasks(worker(1)).isEmpty)
        rig.tick(.seconds(1))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["late"])
    }

    // MARK: What is overdue

    /// Orders jobs that a worker has and does not answer.
    private static func overdueRig(_ settings: StoreSettings, jobs: Int) throws -> Rig {
        let rig = try Self.rig(settings, slots: jobs, credit: jobs)
        rig.deliver(inputs([.order((0..<jobs).map { job("\($0)", timeout: 3) })]), from: client(1))
        rig.round()
        #expect(rig.takeTasks(worker(1)).count == jobs)
        return rig
    }

    @Test func `A mass timeout takes no more turns in a round than anything else`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 10
        let rig = try Self.overdueRig(settings, jobs: 95)
        rig.now = rig.now + .seconds(5)
        rig.deliver(.ping(1), from: client(1))
        rig.deliver(.ping(95), from: worker(1))
        var rounds = 0
        var oneBefore = rig.machine.head
        repeat {
            rig.machine.advance(now: rig.now)
            #expect(rig.machine.head - oneBefore <= 10)
            oneBefore = rig.machine.head
            rig.machine.flush(now: rig.now)
            rig.performAndCommit()
            rounds += 1
        } while rig.machine.hasWork && rounds < 100
        #expect(rounds >= 10)
        #expect(rig.machine.turns.state.ledger.open.isEmpty, "each attempt was its last")
    }

    @Test func `What was answered in time is in time, however long the answer waits for its turn`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 4
        let rig = try Self.rig(settings, slots: 50, credit: 50)
        rig.deliver(inputs([.order((0..<50).map { job("\($0)", timeout: 3) })]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 50), from: worker(1))
        rig.now = rig.now + .seconds(60)
        rig.deliver(.ping(50), from: worker(1))
        rig.round()
        #expect(try rig.state().done == tasks.map(\.name))
    }

    @Test func `It is in time also if its worker says once more that it has the job`() throws {
        let rig = try Self.rig(slots: 50, credit: 50)
        rig.deliver(inputs([.order((0..<9).map { job("\($0)", timeout: 3) })]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 50), from: worker(1))
        let claims = tasks.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
        rig.now = rig.now + .seconds(60)
        let offer = WorkerOffer(id: workerID(1), slots: 50, queues: [.default], running: claims)
        rig.deliver(.hello(Hello(role: .worker(offer), schema: shop, epoch: 2)), from: worker(1))
        rig.round()
        #expect(try rig.state().done == tasks.map(\.name))
    }

    @Test(arguments: [true, false])
    func `So it is with the time of all attempts, unless the answer is a failure, also if the worker has left`(
        _ isThere: Bool
    ) throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 1
        let rig = try Self.rig(settings, slots: 50, credit: 50)
        let jobs = ["a", "b", "c"].map { name in
            var job = job(name, attempts: 9)
            job.total = 3
            return job
        }
        rig.deliver(inputs([.order(jobs)]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        let answers = [tasks[0].answered("a"), tasks[1].failed(), tasks[2].answered("c")]
        rig.deliver(.result(JobResults(answers), credit: 50), from: worker(1))
        rig.now = rig.now + .seconds(60)
        rig.deliver(isThere ? .ping(50) : .goodbye, from: worker(1))
        rig.round()
        #expect(rig.machine.scheduler.answeredByGone.isEmpty)
        let done = try rig.state().done
        #expect(done.count == 3 && done.contains("a") && done.contains("c"), "\(done)")
        #expect(done.contains { $0.hasPrefix("b timed out") }, "\(done)")
    }

    @Test func `A mass timeout waits while the journal stalls`() throws {
        var settings = StoreSettings()
        settings.batchTurns = 20
        settings.turnsPerRound = 10
        let rig = try Self.overdueRig(settings, jobs: 95)
        rig.commits = false
        rig.now = rig.now + .seconds(5)
        rig.deliver(.ping(1), from: client(1))
        rig.deliver(.ping(95), from: worker(1))
        for _ in 0..<30 { rig.round() }
        #expect(rig.machine.turns.canTake == false)
        #expect(rig.machine.turns.log.batch.turns <= 30, "a batch has the limit that it always has")
        #expect(rig.machine.hasWork == false, "no busy loop while nothing can be taken")
        #expect(rig.machine.wakeUp(now: rig.now) > rig.now)
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(rig.machine.turns.state.ledger.open.isEmpty)
    }

    @Test func `Answers and what is overdue take turns`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 8
        let rig = try Self.overdueRig(settings, jobs: 40)
        let other = try #require(rig.machine.turns.state.ledger.open.keys.sorted().last)
        rig.connectWorker(2, slots: 40, credit: 40)
        rig.deliver(inputs([.order((0..<40).map { job("other \($0)") })], from: 2), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(2))
        #expect(tasks.count == 40 && tasks.allSatisfy { $0.effect > other })
        rig.now = rig.now + .seconds(5)
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 80), from: worker(2))
        rig.machine.advance(now: rig.now)
        let done = try rig.state().done
        #expect(done.map { $0.hasPrefix("other") } == (0..<8).map { $0.isMultiple(of: 2) }, "\(done)")
        #expect(done.count { $0.contains("timed out") } == 4, "\(done)")
        rig.machine.flush(now: rig.now)
        rig.round()
        #expect(try rig.state().done.count == 80)
    }

    /// How many rounds, of at most 40, go by until nothing waits in the inbox.
    private static func roundsUntilTaken(_ rig: Rig) -> Int {
        var waited = 0
        while rig.machine.clients.inbox.count > 0, waited < 40 {
            rig.machine.advance(now: rig.now)
            rig.machine.flush(now: rig.now)
            rig.performAndCommit()
            waited += 1
        }
        return waited
    }

    @Test func `An input does not wait for the end of what is overdue`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 4
        let rig = try Self.overdueRig(settings, jobs: 95)
        rig.now = rig.now + .seconds(5)
        rig.deliver(.ping(95), from: worker(1))
        rig.deliver(inputs([.add(1)], from: 2), from: client(1))
        let waited = Self.roundsUntilTaken(rig)
        #expect(waited <= 4 && rig.machine.scheduler.isOverdue, "after \(waited) rounds")
        rig.round()
        #expect(try rig.state().total == 1 && rig.machine.turns.state.ledger.open.isEmpty)
    }

    @Test func `An input does not wait for the end of the answers`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 4
        let rig = try Self.rig(settings, slots: 40, credit: 40)
        rig.deliver(inputs([.order((0..<40).map { job("job \($0)") })]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.count == 40)
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 80), from: worker(1))
        rig.deliver(inputs([.add(1)], from: 2), from: client(1))
        let waited = Self.roundsUntilTaken(rig)
        #expect(waited <= 3 && !rig.machine.workers.answers.isEmpty, "after \(waited) rounds")
        rig.round()
        #expect(try rig.state().done.count == 40)
    }

    /// Forty timers are due, and 90 answers have come.
    private static func timersAndAnswers() throws -> Rig {
        var settings = StoreSettings()
        settings.turnsPerRound = 9
        let rig = try Self.rig(settings, slots: 90, credit: 90)
        rig.deliver(inputs([.order((0..<90).map { job("job \($0)") })]), from: client(1))
        rig.deliver(inputs([.watch((0..<40).map { StoreTimerTests.every(1, id: "\($0)") })], from: 2), from: client(1))
        for _ in 0..<4 { rig.round() }
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.count == 90)
        rig.now = rig.now + .seconds(1)
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 90), from: worker(1))
        return rig
    }

    @Test func `Nor does it wait for all timers that are due while answers go on`() throws {
        let rig = try Self.timersAndAnswers()
        rig.deliver(inputs([.add(1)], from: 3), from: client(1))
        let waited = Self.roundsUntilTaken(rig)
        #expect(waited <= 4 && !rig.machine.workers.answers.isEmpty, "after \(waited) rounds")
    }

    @Test func `Between each eight answers one timer fires, also where nothing else waits`() throws {
        let rig = try Self.timersAndAnswers()
        for round in 1...6 {
            rig.machine.advance(now: rig.now)
            rig.machine.flush(now: rig.now)
            rig.performAndCommit()
            let state = try rig.state()
            #expect(state.done.count == 8 * round && state.ticks.count == round)
        }
    }

    @Test func `Many workers that fall silent are buried one by one`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 4
        let rig = try Rig(settings)
        for number in 1...20 { rig.connectWorker(UInt8(number)) }
        #expect(rig.machine.turns.state.joined.count == 20)
        rig.now = rig.now + .seconds(1)
        rig.round()
        rig.now = rig.now + .seconds(2)
        rig.round()
        rig.now = rig.now + .seconds(3)
        rig.round()
        rig.now = rig.now + .seconds(1)
        let head = rig.machine.head
        rig.machine.advance(now: rig.now)
        #expect((1...4).contains(rig.machine.head - head))
        rig.machine.flush(now: rig.now)
        rig.round()
        #expect(rig.machine.turns.state.joined.isEmpty)
    }

    // MARK: Queues that nobody serves

    @Test func `Effects that are cancelled before anybody takes them leave nothing in their queue`() throws {
        let rig = try Self.rig()
        for sequence in 1...3_000 {
            rig.deliver(
                inputs([.order([Shop.Job(name: "a", queue: "nobody's", id: "one", policy: "latest")])], from: sequence),
                from: client(1))
            if sequence.isMultiple(of: 100) {
                rig.tick(.seconds(1))
                rig.deliver(.ping(sequence), from: client(1))
            }
        }
        #expect(rig.machine.scheduler.dispatcher.lines.entries <= 1_024 + 202)
        rig.connectWorker(2, queues: ["nobody's"], credit: 9)
        #expect(rig.machine.scheduler.dispatcher.lines.entries == 0, "the newest of them is handed out")
        #expect(rig.machine.scheduler.dispatcher.running == 1)
    }

    @Test func `Queues in which nothing waits any more are forgotten`() throws {
        let rig = try Self.rig()
        let before = rig.machine.scheduler.dispatcher.lines.all.count
        for sequence in 1...50 {
            rig.order(Shop.Job(name: "a", queue: "queue \(sequence)", id: "one", policy: "latest"), sequence: sequence)
        }
        rig.tick(.seconds(1))
        #expect(rig.machine.scheduler.dispatcher.lines.all.count <= before + 1)
    }

    // MARK: Those who wait for a turn to settle

    @Test func `Reports to those who wait are made in one look`() throws {
        var settings = StoreSettings()
        settings.reportedEffects = 2
        let rig = try Self.rig(settings, credit: 0)
        rig.order(job("a"), job("b", queue: "other"), job("c"), job("d"), job("e"))
        _ = rig.take(client(1))
        rig.exchange(.settle(turn: 3), from: client(1))
        func told() -> [String] { rig.take(client(1)).compactMap { if case .waiting(_, let text) = $0 { text } else { nil } } }
        rig.tick(.seconds(1))
        #expect(told() == ["5 effects open"], "five effects are looked at in each third second")
        rig.tick(.seconds(1))
        #expect(told() == ["5 effects open"])
        rig.tick(.seconds(1))
        #expect(told() == ["4 effects wait in queue default; 1 effect waits in queue other, no worker serves it"])
    }

    // MARK: Fingerprints

    @Test func `All sessions together keep a bounded number of hashes`() throws {
        var settings = StoreSettings()
        settings.fingerprints = 100
        let rig = try Rig(settings)
        for number in 1...10 {
            rig.connectClient(UInt8(number))
            rig.deliver(inputs((0..<50).map { .add($0) }), from: client(UInt8(number)))
            rig.round()
        }
        rig.tick(.seconds(1))
        #expect(rig.machine.clients.all.reduce(0) { $0 + $1.fingerprints.count } <= 100)
        _ = rig.take(client(1))
        // The newest inputs are still told apart.
        let other = rig.exchange(inputs([.add(1_000)], from: 50), from: client(1))
        #expect(other == [.error(PeerError(.misuse, "input 50 of this session was another one: do two processes use it?"))])
    }

    // MARK: Dead effects

    @Test func `Too many dead effects refuse inputs until an operator has seen to them`() throws {
        var settings = StoreSettings()
        settings.deadEffects = 5
        let rig = try Self.rig(settings)
        rig.order(
            job("0", diesSilently: true), job("1", diesSilently: true), job("2", diesSilently: true), job("3", diesSilently: true),
            job("4", diesSilently: true), job("5", diesSilently: true))
        _ = rig.take(client(1))
        rig.exchange(.result(JobResults(rig.takeTasks(worker(1)).map { $0.failed() }), credit: 9), from: worker(1))
        #expect(rig.machine.turns.state.ledger.dead.count == 6, "what was accepted is not dropped")
        #expect(rig.takeNotes().filter { $0.contains("effects are dead") }.count == 2)
        let refused = rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        guard case .error(let error)? = refused.first else {
            Issue.record("taken")
            return
        }
        #expect(error.code == .retryLater && error.text.hasPrefix("6 effects are dead"))
        let dead = rig.machine.turns.state.ledger.dead.keys.sorted()
        _ = rig.ask("drop", effect: "\(dead[0])")
        _ = rig.ask("drop", effect: "\(dead[1])")
        let taken = rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        guard case .receipt(let outcomes, _)? = taken.first else {
            Issue.record("refused")
            return
        }
        #expect(outcomes.map(\.sequence) == [2])
    }
}
