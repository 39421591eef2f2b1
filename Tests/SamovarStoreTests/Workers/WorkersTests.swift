import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// Who works, what each of them tells, and what they are told of it.
@Suite struct WorkersTests {
    private var workers = Workers(StoreSettings())

    // MARK: Steps

    private mutating func greet(
        by number: UInt8 = 1, epoch: Int = 1, claims: [JobClaim] = [], at route: Route? = nil, credit: Int = 1,
        _ bench: inout PartBench
    ) throws {
        let offer = WorkerOffer(id: workerID(number), slots: 1, queues: [.default], running: claims)
        let hello = Hello(role: .worker(offer), schema: shop, epoch: epoch)
        let route = route ?? worker(number)
        try workers.greet(
            hello, offer, of: home, by: .local, nil, at: route, now: at(1), &bench.scheduler, &bench.turns, &bench.out)
        if workers.connections[route] != nil, credit > 0 { try tell(.credit(credit), from: number, at: route, &bench) }
    }

    private mutating func tell(_ frame: Frame, from number: UInt8 = 1, at route: Route? = nil, _ bench: inout PartBench) throws {
        try workers.received(
            frame, from: workerID(number), at: route ?? worker(number), now: at(2), &bench.scheduler, &bench.turns, &bench.out)
    }

    /// Hands out what waits; the tasks, once they may leave.
    private mutating func handOut(_ bench: inout PartBench) -> [JobTask] {
        bench.scheduler.assign(
            from: bench.turns.state.ledger, head: bench.turns.head, now: at(2), &bench.out)
        return left(&bench).flatMap { [$0.frame].tasks }
    }

    /// Takes all answers that wait, and tells of it.
    private mutating func takeAnswers(_ bench: inout PartBench) throws {
        while !workers.answers.isEmpty {
            try workers.takeAnswer(now: at(3), &bench.scheduler, &bench.turns, &bench.out)
        }
        workers.acknowledge(head: bench.turns.head, isOverLimit: false, &bench.out)
        workers.letGo()
    }

    /// What has left, and where to, once the turns so far are on disk.
    private func left(_ bench: inout PartBench) -> [(route: Route, frame: Frame)] {
        bench.commit()
        return bench.out.takeActions().compactMap { action in
            if case .send(let envelope, let route) = action { (route, envelope.frame) } else { nil }
        }
    }

    private func kinds(_ bench: inout PartBench) -> [String] { left(&bench).map { "\($0.frame.kind) to \($0.route.id[1])" } }

    // MARK: Coming and going

    @Test mutating func `A worker joins by record, and a HELLO that came twice is welcomed and begins nothing`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        try greet(&bench)
        let (joined, isJoined) = (bench.turns.head, bench.turns.state.joined.contains(workerID(1)))
        #expect(joined == head + 1 && isJoined)
        try greet(credit: 0, &bench)
        let (now, credit) = (bench.turns.head, bench.scheduler.dispatcher.workers[workerID(1)]?.credit)
        #expect(now == joined && credit == 1, "its credit is not void")
        let told = kinds(&bench)
        #expect(told == ["welcome to 1", "welcome to 1"])
    }

    @Test mutating func `Its newest connection is the one that counts, and the other is told`() throws {
        var bench = try PartBench()
        try greet(epoch: 2, &bench)
        _ = left(&bench)
        try greet(epoch: 1, at: worker(8), &bench)
        let late = kinds(&bench)
        #expect(late == ["error to 8"] && workers.connections[worker(8)] == nil)
        try greet(epoch: 3, at: worker(9), &bench)
        let newer = kinds(&bench)
        #expect(newer == ["error to 1", "welcome to 9"])
        #expect(workers.connections[worker(1)] == nil && workers.connections[worker(9)] == workerID(1))
    }

    @Test mutating func `A process that counts on from beyond the numbers of a dead one takes over its identity at once`() throws {
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        /// The numbers of the first three HELLOs of a process.
        func epochs(beyond epoch: Int) -> [Int] {
            let settings = WorkerMachine.Settings(connection: ConnectionSettings(firstPause: .zero, longestPause: .zero))
            var machine = WorkerMachine(offer, schema: shop, epoch: epoch, settings: settings, random: Random(seed: 1))
            var epochs: [Int] = []
            for second in 0..<3 {
                for case .send(let envelope) in machine.ticked(now: at(Double(second))) {
                    if case .hello(let hello) = envelope.frame { epochs.append(hello.epoch) }
                }
                _ = machine.disconnected(now: at(Double(second)))
            }
            return epochs
        }
        var bench = try PartBench()
        let (former, next) = (epochs(beyond: 0), epochs(beyond: 1_000_000))
        #expect(former == [1, 2, 3] && next == [1_000_001, 1_000_002, 1_000_003])
        try greet(epoch: former[2], &bench)
        _ = left(&bench)
        try greet(epoch: next[0], at: worker(9), &bench)
        let told = kinds(&bench)
        #expect(told == ["error to 1", "welcome to 9"] && workers.connections[worker(9)] == workerID(1))
    }

    @Test mutating func `What it can prove to hold is its own, and what never arrived goes to others`() throws {
        var bench = try PartBench()
        for name in ["a", "b"] { try bench.order(job(name)) }
        try greet(credit: 2, &bench)
        let tasks = handOut(&bench)
        try #require(tasks.count == 2)
        var forged = JobClaim(tasks[1])
        forged = JobClaim(effect: forged.effect, lease: forged.lease, token: forged.token ^ 1)
        try greet(epoch: 2, claims: [JobClaim(tasks[0]), forged], credit: 0, &bench)
        let held = bench.scheduler.dispatcher.jobs(of: workerID(1))
        let (waits, dropped) = (bench.scheduler.dispatcher.waits(tasks[1].effect), bench.out.droppedFrames)
        #expect(held == [tasks[0].effect] && waits != nil && dropped == 1)
        bench.scheduler.close(tasks[0].effect, as: .cancelled, of: .default)
        bench.turns.write(.dropped(tasks[0].effect), origin: .operator, now: at(2))
        bench.scheduler.sendCancellations(head: bench.turns.head, &bench.out)
        _ = left(&bench)
        try greet(epoch: 3, claims: [JobClaim(tasks[0])], credit: 0, &bench)
        bench.scheduler.sendCancellations(head: bench.turns.head, &bench.out)
        let told = left(&bench).map(\.frame)
        #expect(told.contains(.cancel([tasks[0].lease], number: 1)), "nobody wants it any more")
    }

    @Test mutating func `With GOODBYE it leaves by record, and what it holds waits again`() throws {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        try greet(&bench)
        _ = handOut(&bench)
        let head = bench.turns.head
        try tell(.goodbye, &bench)
        let (now, isJoined) = (bench.turns.head, bench.turns.state.joined.contains(workerID(1)))
        let (waits, deaths) = (bench.scheduler.dispatcher.waits(open), bench.turns.state.ledger.open[open]?.deaths)
        #expect(now == head + 1 && !isJoined && waits == at(2) && deaths == 0)
        #expect(workers.connections[worker(1)] == nil && workers.deadWorkers == 0)
    }

    @Test mutating func `After GOODBYE it is welcomed again on its connection, whatever still waits for the disk there`() throws {
        var bench = try PartBench()
        try greet(&bench)
        try tell(.goodbye, &bench)
        try greet(epoch: 2, &bench)
        let told = kinds(&bench)
        #expect(told == ["welcome to 1"])
    }

    @Test mutating func `Where another worker says HELLO, the one before has left, and what it held goes to others`() throws {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        try greet(&bench)
        _ = handOut(&bench)
        try greet(by: 2, at: worker(1), credit: 0, &bench)
        let (joined, waits) = (bench.turns.state.joined, bench.scheduler.dispatcher.waits(open))
        #expect(joined == [workerID(2)] && waits == at(1))
        #expect(workers.connections[worker(1)] == workerID(2))
        try tell(.credit(1), from: 2, at: worker(1), &bench)
        let told = handOut(&bench)
        #expect(told.map(\.effect) == [open])
    }

    @Test(arguments: ["signal 9", nil])
    mutating func `A task that waits for the disk when its worker ends goes to others, and nothing is held against it`(
        evidence: String?
    ) throws {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a", attempts: 3)))
        try greet(&bench)
        bench.scheduler.assign(
            from: bench.turns.state.ledger, head: bench.turns.head, now: at(2), &bench.out)
        let isHeld = bench.scheduler.dispatcher.assignment(of: open) != nil
        try workers.ended(workerID(1), evidence: evidence, now: at(3), &bench.scheduler, &bench.turns, &bench.out)
        let (waits, deaths) = (bench.scheduler.dispatcher.waits(open), bench.turns.state.ledger.open[open]?.deaths)
        #expect(isHeld && waits == at(3) && deaths == 0 && bench.scheduler.dispatcher.trustsNewcomers)
        let kinds = kinds(&bench)
        #expect(kinds == [], "also WELCOME waited")
    }

    @Test mutating func `Of a dead worker only what it had started is held against its effect`() throws {
        var bench = try PartBench()
        for name in ["a", "b"] { try bench.order(job(name, attempts: 3)) }
        try greet(credit: 2, &bench)
        let tasks = handOut(&bench)
        try workers.ended(workerID(1), evidence: "signal 9", now: at(3), &bench.scheduler, &bench.turns, &bench.out)
        let deaths = tasks.map { bench.turns.state.ledger.open[$0.effect]?.deaths }
        #expect(deaths == [1, 0] && workers.deadWorkers == 1)
        let notes = bench.out.takeActions().compactMap { action -> String? in
            if case .note(let note) = action { note.text } else { nil }
        }
        #expect(notes.first == "worker \(workerID(1)) is dead: signal 9; 2 jobs taken back")
        let head = bench.turns.head
        try workers.ended(workerID(1), evidence: "signal 9", now: at(3), &bench.scheduler, &bench.turns, &bench.out)
        let now = bench.turns.head
        #expect(workers.deadWorkers == 1 && now == head, "it is not here")
    }

    @Test mutating func `A worker of before a restart that has died has left by record`() throws {
        var bench = try PartBench()
        bench.turns.write(.workerJoined(workerID(1)), now: at(0))
        bench.scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(1)])
        let before = bench.turns.state.joined
        try workers.ended(workerID(1), evidence: "signal 9", now: at(2), &bench.scheduler, &bench.turns, &bench.out)
        let joined = bench.turns.state.joined
        #expect(before == [workerID(1)] && joined.isEmpty)
    }

    @Test(arguments: [false, true])
    mutating func `What is held since a restart is let go as soon as the last worker of before has spoken, or is dead`(
        isDead: Bool
    ) throws {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        bench.scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(1), workerID(2)], effects: [open])
        bench.scheduler.begin(bench.turns.state.ledger, now: at(0))
        try greet(&bench)
        let early = bench.scheduler.dispatcher.waits(open)
        if isDead {
            try workers.ended(workerID(2), evidence: "signal 9", now: at(2), &bench.scheduler, &bench.turns, &bench.out)
        } else {
            try greet(by: 2, &bench)
        }
        let waits = bench.scheduler.dispatcher.waits(open)
        #expect(early == nil && waits == at(isDead ? 2 : 1))
    }

    // MARK: Answers

    @Test mutating func `An answer waits for its turn, and is acknowledged when that is on disk`() throws {
        var bench = try PartBench()
        try bench.order(job("a"))
        try greet(&bench)
        let task = try #require(handOut(&bench).first)
        let head = bench.turns.head
        try tell(.result([task.answered("a")], credit: 2), &bench)
        let waiting = (bench.turns.head, workers.answers.first)
        #expect(waiting == (head, task.effect))
        try takeAnswers(&bench)
        let (now, open, early) = (bench.turns.head, bench.turns.state.ledger.open.count, bench.out.takeActions().count)
        #expect(now == head + 1 && open == 0 && early == 0)
        let told = left(&bench).map(\.frame)
        #expect(told == [.acknowledge([task.lease])])
        #expect(workers.applied == 1 && workers.results == 1 && workers.lateResults == 0)
    }

    @Test mutating func `An answer that comes twice is acknowledged twice and applied once`() throws {
        var bench = try PartBench()
        try bench.order(job("a"))
        try greet(&bench)
        let task = try #require(handOut(&bench).first)
        for _ in 1...2 { try tell(.result([task.answered("a")], credit: 2), &bench) }
        try takeAnswers(&bench)
        let told = left(&bench).map(\.frame)
        #expect(told == [.acknowledge([task.lease, task.lease])] && workers.applied == 1 && workers.lateResults == 1)
    }

    @Test mutating func `An answer that is given up takes its effect from the worker, and requeued it is handed out anew`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let effect = EffectID(turn: 2, ordinal: 0)
        let before = TrapMarker(page)
        _ = before.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
        before.write([Suspicion.Suspect(call: .answer(effect), deaths: 3)])
        var bench = try PartBench(marker: TrapMarker(page))
        try bench.order(job("a"))
        try greet(&bench)
        let task = try #require(handOut(&bench).first)
        try tell(.result([task.answered("a")], credit: 2), &bench)
        try takeAnswers(&bench)
        let (isDead, running) = (bench.turns.state.ledger.dead[effect] != nil, bench.scheduler.dispatcher.running)
        let failed = bench.scheduler.dispatcher.meters.closings(0, .failed)
        #expect(isDead && running == 0 && workers.applied == 0 && failed == 1, "it has failed for good, as metrics tell it")
        bench.turns.write(.requeued(effect), origin: .operator, now: at(3))
        bench.scheduler.follow(now: at(3), &bench.turns)
        let again = handOut(&bench)
        #expect(again.map(\.effect) == [effect] && again.first?.lease != task.lease)
    }

    @Test mutating func `A forged answer, and a frame that is not a worker's, change nothing and are counted`() throws {
        var bench = try PartBench()
        try bench.order(job("a"))
        try greet(&bench)
        let task = try #require(handOut(&bench).first)
        let forged = JobResult(effect: task.effect, lease: task.lease, token: task.token ^ 1, answer: .done([]))
        try tell(.result([forged], credit: 2), &bench)
        try tell(.settle(turn: 1), &bench)
        let (told, dropped) = (kinds(&bench), bench.out.droppedFrames)
        #expect(workers.answers.isEmpty && dropped == 2 && told == ["error to 1"])
    }

    @Test mutating func `Answers of a connection that is gone are told nobody`() throws {
        var bench = try PartBench()
        try bench.order(job("a"))
        try greet(&bench)
        let task = try #require(handOut(&bench).first)
        try tell(.result([task.answered("a")], credit: 2), &bench)
        try workers.takeAnswer(now: at(3), &bench.scheduler, &bench.turns, &bench.out)
        try greet(epoch: 2, at: worker(9), credit: 0, &bench)
        workers.acknowledge(head: bench.turns.head, isOverLimit: false, &bench.out)
        let told = kinds(&bench)
        #expect(told == ["error to 1", "welcome to 9"])
    }
}
