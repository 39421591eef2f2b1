import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Dead effects, lanes and pauses in the hands of the program and of operators, as one client and one worker see them.
@Suite struct StoreControlTests {
    private static func rig() throws -> Rig { try StoreWorkerTests.rig(slots: 99, credit: 99) }

    private static func job(
        _ name: String, id: String? = "label", keepsDead: Bool = true, _ policy: String = "all", limit: Int = 9, width: Int = 1,
        stops: Bool = false, silently: Bool = false
    ) -> Shop.Job {
        var job = Shop.Job(name: name, diesSilently: silently, id: id, policy: policy, limit: limit)
        (job.keepsDead, job.width, job.stops) = (keepsDead, width, stops)
        return job
    }

    private static func wish(_ verb: String, label: String? = nil, queue: String? = nil, effect: EffectID? = nil) -> Shop.Wish {
        Shop.Wish(verb: verb, label: label, queue: queue, effect: effect.map { [$0.turn, $0.ordinal] })
    }

    // MARK: Failed, and dead

    @Test func `A failure is told and the effect is dead, with its key kept, and what it does when it is requeued is told as well`()
        throws
    {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        #expect(try rig.state().done == ["a failed after 1 attempt: no"])
        #expect(rig.durable.ledger.dead.keys.map { $0 } == [task.effect] && rig.durable.ledger.open.isEmpty)
        rig.exchange(inputs([.wish([Self.wish("requeue", label: "label")])], from: 2), from: client(1))
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.effect == task.effect && again.lease > task.lease)
        #expect(rig.durable.ledger.dead.isEmpty)
        rig.exchange(.result([again.answered("a at last")], credit: 99), from: worker(1))
        #expect(try rig.state().done == ["a failed after 1 attempt: no", "a at last"])
        #expect(rig.durable.ledger.open.isEmpty && rig.durable.ledger.dead.isEmpty)
    }

    @Test func `The notice is the turn after the record of the death, in the same batch`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let before = rig.committedBatches.count
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        var kinds: [String] = []
        for batch in rig.committedBatches[before...] {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                kinds.append("\(record.kind) \(record.originText)")
                if case .applied(_, _, let closes) = record.event { #expect(!closes) }
            }
        }
        #expect(kinds == ["dead effect \(task.effect) lease \(task.lease) message 0", "applied failure of effect \(task.effect)"])
        #expect(rig.committedBatches.count == before + 1)
    }

    @Test func `Without that wish a failure that is told closes the effect, as ever`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", keepsDead: false))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        #expect(try rig.state().done == ["a failed after 1 attempt: no"])
        #expect(rig.durable.ledger.dead.isEmpty && rig.durable.ledger.open.isEmpty)
    }

    @Test(arguments: ["label", "queue", "effect"])
    func `The program requeues and drops what is dead by label, queue and identity`(_ by: String) throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let failed = JobResult.Answer.failed(.threw, "no", permanent: true)
        func wish(_ verb: String) -> Shop.Wish {
            switch by {
            case "label": Self.wish(verb, label: "label")
            case "queue": Self.wish(verb, queue: "default")
            default: Self.wish(verb, effect: task.effect)
            }
        }
        rig.exchange(.result([task.result(failed)], credit: 99), from: worker(1))
        rig.exchange(inputs([.wish([wish("requeue")])], from: 2), from: client(1))
        let again = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([again.result(failed)], credit: 99), from: worker(1))
        #expect(rig.durable.ledger.dead.count == 1)
        rig.exchange(inputs([.wish([wish("drop")])], from: 3), from: client(1))
        #expect(rig.durable.ledger.dead.isEmpty && rig.takeTasks(worker(1)) == [])
    }

    @Test func `Requeueing finds only what is dead`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"), sequence: rig.nextInput)
        let task = try #require(rig.takeTasks(worker(1)).first)
        for wish in [
            Self.wish("requeue", label: "label"), Self.wish("drop", label: "label"), Self.wish("drop", effect: task.effect),
        ] {
            rig.exchange(inputs([.wish([wish])], from: rig.nextInput), from: client(1))
        }
        #expect(rig.takeTasks(worker(1)) == [] && rig.durable.ledger.open.count == 1)
    }

    @Test func `A cancellation reaches the dead, and an operator cannot requeue them any more`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", silently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        #expect(rig.durable.ledger.dead.count == 1)
        rig.exchange(inputs([.cancel("label")], from: 2), from: client(1))
        #expect(rig.durable.ledger.dead.isEmpty)
        #expect(rig.durable.ledger.report(of: task.effect.turn) == ["effect \(task.effect), “label”, was cancelled"])
        #expect(rig.ask("requeue", ["effect": .string("\(task.effect)")])?.refusal == "effect \(task.effect) is not dead")
    }

    @Test func `The newest of a label drops the dead ones before it`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "latest"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        rig.order(Self.job("b", "latest"), sequence: 2)
        #expect(rig.durable.ledger.dead.isEmpty && rig.takeTasks(worker(1)).map(\.name) == ["b"])
    }

    @Test func `Turns of a build whose cancellations left the dead as they were are replayed as they were`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", silently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.result(.failed(.threw, "no", permanent: true))], credit: 99), from: worker(1))
        rig.exchange(inputs([.cancel("label")], from: 2), from: client(1))
        var batch = RecordBatch(after: 0)
        for stored in rig.committedBatches {
            try RecordBatch.read(first: stored.first, last: stored.last, bytes: stored.bytes) { record in
                var record = record
                if case .started(let number, let build, let schema, let seed) = record.event {
                    #expect(build == "test; subscribes by label; cancels the dead")
                    record.event = .started(number: number, build: "test", schema: schema, seed: seed)
                }
                batch.append(record)
            }
        }
        func started() throws -> Rig {
            let stored = StoredBatch(first: batch.first, last: batch.last, bytes: batch.bytes)
            return try Rig(journal: [stored], now: rig.now + .seconds(9))
        }
        let former = try started()
        former.round()
        #expect(former.machine.turns.state.ledger.dead.keys.map { $0 } == [task.effect])
        let restored = try Rig(snapshot: former.machine.snapshot(), now: rig.now + .seconds(9))
        #expect(restored.machine.turns.state.ledger.dead.count == 1)
        former.connectClient(epoch: 2)
        former.exchange(inputs([.cancel("label")], from: 3), from: client(1))
        #expect(former.durable.ledger.dead.isEmpty, "from its own start on a build does as it does")
        // An operator of that build could do this.
        batch.append(Record(turn: batch.last + 1, time: rig.now, origin: .operator, event: .requeued(task.effect)))
        #expect(try started().durable.ledger.open.keys.map { $0 } == [task.effect])
    }

    // MARK: Lanes

    @Test func `A lane that stops is held by its dead head until it is requeued, and then goes on in order`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "lane", stops: true), Self.job("b", "lane", stops: true), Self.job("c", "lane", stops: true))
        let head = try #require(rig.takeTasks(worker(1)).first)
        let failed = JobResult.Answer.failed(.threw, "no", permanent: true)
        #expect(rig.exchange(.result([head.result(failed)], credit: 99), from: worker(1)).tasks == [])
        rig.tick(.seconds(5))
        #expect(rig.takeTasks(worker(1)) == [], "nobody overtakes the dead one")
        let next = try rig.restarted()
        next.connectClient(epoch: 2)
        #expect(next.connectWorker(slots: 99, credit: 99, epoch: 2).tasks == [], "nor after a restart")
        next.exchange(inputs([.wish([Self.wish("requeue", label: "label")])], from: 2), from: client(1))
        var names: [String] = []
        var tasks = next.takeTasks(worker(1))
        while let task = tasks.popLast() {
            names.append(task.name)
            tasks += next.exchange(.result([task.answered(task.name)], credit: 99), from: worker(1)).tasks
        }
        #expect(names == ["a", "b", "c"])
    }

    @Test func `A lane goes on when the dead one that stopped it is dropped`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "lane", stops: true), Self.job("b", "lane", stops: true))
        let head = try #require(rig.takeTasks(worker(1)).first)
        let failed = JobResult.Answer.failed(.threw, "no", permanent: true)
        #expect(rig.exchange(.result([head.result(failed)], credit: 99), from: worker(1)).tasks == [])
        #expect(rig.ask("drop", ["effect": .string("\(head.effect)")])?.refusal == nil)
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["b"])
    }

    @Test func `So many of a lane run at once as it is wide`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "lane", width: 2), Self.job("b", "lane", width: 2), Self.job("c", "lane", width: 2))
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.map(\.name) == ["a", "b"])
        #expect(rig.exchange(.result([tasks[1].answered("b")], credit: 99), from: worker(1)).tasks.map(\.name) == ["c"])
    }

    @Test func `What was requeued keeps its place in its lane over a snapshot, too`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "lane"), Self.job("b", "lane"), Self.job("c", "lane"))
        let head = try #require(rig.takeTasks(worker(1)).first)
        let failed = JobResult.Answer.failed(.threw, "no", permanent: true)
        #expect(rig.exchange(.result([head.result(failed)], credit: 99), from: worker(1)).tasks.map(\.name) == ["b"])
        rig.exchange(inputs([.wish([Self.wish("requeue", label: "label")])], from: 2), from: client(1))
        #expect(rig.takeTasks(worker(1)) == [], "it is behind the others, of which one runs")
        let snapshot = try rig.machine.snapshot()
        let restored = try Rig(snapshot: snapshot, now: rig.now)
        #expect(restored.machine.turns.state.ledger == rig.machine.turns.state.ledger)
    }

    // MARK: Pauses

    @Test(arguments: [["queue": "default"], ["label": "label"]])
    func `What is paused is not handed out, over restarts and snapshots, and waits in its order`(_ place: [String: String]) throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let wish = { Self.wish($0, label: place["label"], queue: place["queue"]) }
        rig.exchange(inputs([.wish([wish("pause")])], from: 2), from: client(1))
        rig.order(Self.job("b"), Self.job("c"), sequence: 3)
        #expect(rig.exchange(.result([task.answered("a")], credit: 99), from: worker(1)).tasks == [])
        #expect(try rig.state().done == ["a"], "what ran goes on")
        let restored = try Rig(snapshot: try rig.machine.snapshot(), now: rig.now)
        #expect(restored.machine.turns.state.ledger.controls == rig.machine.turns.state.ledger.controls)
        let next = try rig.restarted()
        next.connectClient(epoch: 2)
        #expect(next.connectWorker(slots: 99, credit: 99, epoch: 2).tasks == [])
        next.exchange(inputs([.wish([wish("resume")])], from: 4), from: client(1))
        #expect(next.takeTasks(worker(1)).map(\.name) == ["b", "c"])
    }

    @Test func `The time to wait for a worker does not run while a queue or a label is paused`() throws {
        for place in [Self.wish("", queue: "default"), Self.wish("", label: "label")] {
            let rig = try Self.rig()
            func say(_ verb: String) {
                var wish = place
                wish.verb = verb
                rig.exchange(inputs([.wish([wish])], from: rig.nextInput), from: client(1))
            }
            say("pause")
            var job = Self.job("a", keepsDead: false)
            job.waiting = 5
            rig.order(job, sequence: rig.nextInput)
            rig.tick(.seconds(100))
            #expect(rig.durable.ledger.open.count == 1)
            rig.exchange(.goodbye, from: worker(1))
            say("resume")
            rig.tick(.seconds(4))
            #expect(rig.durable.ledger.open.count == 1)
            rig.tick(.seconds(2))
            #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 5.0 seconds"])
        }
    }

    @Test func `To resume what is not paused gives no more time to wait for a worker`() throws {
        for wish in [Self.wish("resume", queue: "default"), Self.wish("resume", label: "label")] {
            let rig = try Self.rig()
            rig.exchange(.goodbye, from: worker(1))
            var job = Self.job("a", keepsDead: false)
            job.waiting = 5
            rig.order(job, sequence: rig.nextInput)
            rig.tick(.seconds(3))
            rig.exchange(inputs([.wish([wish])], from: rig.nextInput), from: client(1))
            #expect(rig.durable.ledger.open.count == 1)
            rig.tick(.seconds(3))
            #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 5.0 seconds"])
        }
    }

    // MARK: What is told of it

    @Test func `Status counts what waits behind a label and until a time, and shows what is paused and the rules`() throws {
        let rig = try Self.rig()
        var late = Self.job("late", id: nil)
        late.delay = 100
        rig.order(Self.job("a", "lane"), Self.job("b", "lane"), Self.job("c", "lane"), late)
        rig.exchange(
            inputs([.wish([Self.wish("pause", queue: "mail"), Self.wish("pause", label: "label")])], from: 2), from: client(1))
        rig.order(Shop.Job(name: "letter", queue: "mail"), sequence: 3)
        _ = rig.ask("rule", ["queue": "mail", "rate": 5])
        rig.tick(.seconds(7))
        let status = try #require(rig.ask("status")?.value)
        let queue: MessagePackValue = [
            "name": "default", "waiting": 0, "oldestSeconds": .nil, "behind": 2, "delayed": 1, "running": 1, "slots": 99,
            "served": true, "paused": false,
        ]
        let mail: MessagePackValue = [
            "name": "mail", "waiting": 1, "oldestSeconds": 7.0, "behind": 0, "delayed": 0, "running": 0, "slots": 0,
            "served": false, "paused": true,
        ]
        guard case .array(var queues)? = status["queues"] else {
            Issue.record("\(status)")
            return
        }
        // How long what was handed out has waited and taken is told beside it.
        for index in queues.indices { (queues[index]["wait"], queues[index]["attempt"]) = (nil, nil) }
        #expect(queues == [queue, mail])
        #expect(status["paused"] == [["label": "label"], ["queue": "mail"]])
        #expect(
            status["rules"] == [
                [
                    "queue": "mail", "text": "5 in 1.0 seconds, 5 at once",
                    "rate": ["count": 5, "milliseconds": 1_000, "burst": 5],
                    "shares": .nil,
                ]
            ])
    }

    @Test func `Each effect says what it waits for, and when it was ordered`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "lane"), Self.job("b", "lane"))
        let pauses = [Self.wish("pause", queue: "mail"), Self.wish("pause", label: "road")]
        rig.exchange(inputs([.wish(pauses)], from: 2), from: client(1))
        rig.tick(.seconds(60))
        rig.order(Shop.Job(name: "letter", queue: "mail"), Self.job("c", id: "road"), sequence: 3)
        func waits(_ filter: MessagePackValue) -> [MessagePackValue?] {
            guard case .array(let open)? = rig.ask("effects", filter)?.value["open"] else { return [] }
            return open.map { $0["waitsFor"] }
        }
        #expect(waits([:]) == [.nil, "label", "pause", "pause"])
        #expect(waits(["olderThan": 30_000]) == [.nil, "label"])
        #expect(waits(["olderThan": 0]) == [.nil, "label", "pause", "pause"])
        #expect(rig.ask("effects", ["olderThan": -1])?.refusal == "olderThan is a number of milliseconds")
        #expect(rig.ask("effects", ["olderThan": "long"])?.refusal == "olderThan is a number of milliseconds")
    }

    @Test func `The backlog is told again and again to who observes it, and never before it is on disk`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 1) { $0.backlogInterval = .seconds(3) }
        rig.order(Self.job("a", id: nil), Self.job("b", id: nil))
        for _ in 1...7 { rig.tick(.seconds(1)) }
        let told = rig.backlogs.map { $0.map { "\($0.queue) \($0.waiting) \($0.running) \($0.oldest ?? .zero) \($0.slots)" } }
        #expect(told == [[], ["default 1 1 3.0 seconds 1"], ["default 1 1 6.0 seconds 1"]])
        #expect(try Self.rig().backlogs.isEmpty)
    }

    @Test func `No backlog is told before the orders in it are on disk`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 1) { $0.backlogInterval = .seconds(3) }
        rig.order(Self.job("a", id: nil))
        rig.tick(.seconds(1))
        let before = rig.backlogs.count
        rig.commits = false
        rig.order(Self.job("b", id: nil), sequence: 2)
        rig.tick(.seconds(3))
        #expect(rig.backlogs.count == before)
        rig.commits = true
        rig.round()
        #expect(rig.backlogs.count == before + 1 && rig.backlogs.last?.first?.waiting == 1)
    }

    @Test func `While the disk is full no backlogs gather`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 1) { $0.backlogInterval = .seconds(1) }
        rig.order(Self.job("a", id: nil))
        rig.commits = false
        rig.order(Self.job("b", id: nil), sequence: 2)
        rig.machine.journalIsFull(true, now: rig.now)
        let before = rig.backlogs.count
        for _ in 1...7 { rig.tick(.seconds(1)) }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        #expect(rig.backlogs.count <= before + 1)
    }

    // MARK: Operators

    @Test func `The program is told what an operator did, in the batch in which it was done`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("curious a", silently: true), Self.job("b", silently: true))
        let tasks = rig.takeTasks(worker(1))
        let failed = tasks.map { $0.result(.failed(.threw, "no", permanent: true)) }
        rig.exchange(.result(JobResults(failed), credit: 99), from: worker(1))
        let batches = rig.committedBatches.count
        #expect(rig.ask("requeue", ["all": true])?.refusal == nil)
        #expect(rig.committedBatches.count == batches + 1)
        #expect(rig.ask("drop", ["effect": .string("\(tasks[0].effect)")])?.refusal == nil)
        for verb in ["pause", "resume"] { #expect(rig.ask(verb, ["queue": "curious queue"])?.refusal == nil) }
        #expect(rig.ask("rule", ["queue": "curious queue", "rate": 5, "burst": 2])?.refusal == nil)
        #expect(
            try rig.state().done == [
                "curious a requeued \(tasks[0].effect)", "curious a dropped \(tasks[0].effect)", "curious queue paused",
                "curious queue resumed", "curious queue ruled 5 in 1.0 seconds, 2 at once",
            ])
    }

    @Test(
        arguments: [
            ("pause", [:], "which one? name a queue or a label"),
            ("pause", ["queue": "a", "label": "b"], "pause takes one argument of queue, label"),
            ("rule", ["rate": 1], "which queue?"), ("rule", ["queue": "a", "rate": 0], "rate is a number from 1 to 100000"),
            ("rule", ["queue": "a", "rate": 1, "burst": 0], "burst is a number from 1 to 1000000"),
            ("rule", ["queue": "a", "milliseconds": 10], "milliseconds and burst are for a rate: name the rate, too"),
            ("rule", ["queue": "a", "burst": 2, "others": 1], "milliseconds and burst are for a rate: name the rate, too"),
            ("rule", ["queue": "a", "shares": ["b": 0]], "shares are a map from labels to weights, from 1 to 1,000"),
            ("resume", ["queue": 1], "the queue is a text"),
        ] as [(String, MessagePackValue, String)])
    func `What cannot be done is refused and named`(_ verb: String, _ arguments: MessagePackValue, _ text: String) throws {
        let rig = try Self.rig()
        _ = rig.ask("rule", ["queue": "a", "rate": 5])
        let rules = rig.durable.ledger.controls.rules
        #expect(rig.ask(verb, arguments)?.refusal == text)
        #expect(rig.durable.ledger.controls.rules == rules, "nothing was done")
    }

    @Test func `At the limit an operator changes a rule that there is, and takes it away`() throws {
        let rig = try StoreWorkerTests.rig { $0.operatorControls = 1 }
        #expect(rig.ask("rule", ["queue": "a", "rate": 1])?.refusal == nil)
        #expect(rig.ask("rule", ["queue": "a", "rate": 2])?.refusal == nil)
        #expect(rig.ask("rule", ["queue": "b", "rate": 1])?.refusal == "1 pauses and rules are the most that operators may set")
        #expect(rig.ask("rule", ["queue": "a"])?.refusal == nil)
        #expect(rig.durable.ledger.controls.rules.isEmpty)
    }

    @Test func `An operator's pauses are limited, and resuming never is`() throws {
        let rig = try StoreWorkerTests.rig { $0.operatorControls = 1 }
        #expect(rig.ask("pause", ["label": "a"])?.refusal == nil)
        #expect(rig.ask("pause", ["label": "b"])?.refusal == "1 pauses and rules are the most that operators may set")
        #expect(rig.ask("resume", ["label": "a"])?.refusal == nil)
        #expect(rig.ask("pause", ["label": "b"])?.refusal == nil)
    }

    @Test func `Of many, as many are done as a batch has room for with what the program makes of them, and named`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.batchBytes = 100 }
        rig.order(
            Self.job("curious a", silently: true), Self.job("curious b", silently: true), Self.job("curious c", silently: true))
        let failed = rig.takeTasks(worker(1)).map { $0.result(.failed(.threw, "no", permanent: true)) }
        rig.exchange(.result(JobResults(failed), credit: 9), from: worker(1))
        var done: [Int] = []
        while !rig.durable.ledger.dead.isEmpty, done.count < 9 {
            guard case .array(let names)? = rig.ask("requeue", ["all": true])?.value["requeued"] else { break }
            done.append(names.count)
        }
        #expect(done.reduce(0, +) == 3 && done.count > 1 && done.allSatisfy { $0 > 0 }, "\(done)")
        #expect(try rig.state().done.count == 3)
    }

    @Test func `Of many, what the program has dropped meanwhile is passed over`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
        let rivals = ["curious rival a", "b", "c"].map { Self.job($0, id: "rivals", silently: true) }
        rig.deliver(inputs([.order(rivals)]), from: client(1))
        rig.round()
        let failed = rig.takeTasks(worker(1)).map { $0.result(.failed(.threw, "no", permanent: true)) }
        rig.exchange(.result(JobResults(failed), credit: 9), from: worker(1))
        let first = try #require(rig.durable.ledger.dead.keys.min())
        #expect(rig.ask("requeue", ["all": true])?.value["requeued"] == .array([.string("\(first)")]))
        #expect(rig.durable.ledger.dead.isEmpty && rig.durable.ledger.open.keys.sorted() == [first])
        #expect(try rig.state().done == ["curious rival a requeued \(first)"])
    }

    @Test func `An operator who drops an open effect takes it from its worker`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.ask("drop", ["effect": .string("\(task.effect)")])?.refusal == nil)
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
    }

    @Test func `A request that is asked again is not done again`() throws {
        let rig = try Self.rig()
        let request = AdminRequest(id: 77, verb: "pause", arguments: ["queue": "curious queue"])
        for _ in 1...2 { rig.exchange(.request(request), from: admin) }
        #expect(try rig.state().done == ["curious queue paused"])
    }
}
