import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Settling, views, ticks, and what operators ask.
@Suite struct StoreRequestTests {
    static func rig() throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        _ = rig.takePublished()
        return rig
    }

    // MARK: Settling

    @Test func `Settled comes when the last effect of the chain is closed`() throws {
        let rig = try Self.rig()
        rig.order(job("a"), job("b", queue: "http", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        _ = rig.take(client(1))
        #expect(rig.exchange(.settle(turn: 3), from: client(1)) == [])
        rig.tick(.seconds(1))
        let report = "1 effect running in queue default; 1 effect waits in queue http, no worker serves it"
        #expect(rig.take(client(1)) == [.waiting(turn: 3, on: report)])
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(rig.take(client(1)) == [])

        let other = try #require(rig.connectWorker(2, queues: ["http"]).tasks.first)
        rig.exchange(.result([other.failed()], credit: 1), from: worker(2))
        #expect(
            rig.take(client(1))
                == [.settled(turn: 3, dead: ["effect 3/1 in queue http failed after 1 attempt: no luck"])])
    }

    @Test func `A turn without effects is settled and a future turn is misuse`() throws {
        let rig = try Self.rig()
        #expect(rig.exchange(.settle(turn: 1), from: client(1)) == [.settled(turn: 1, dead: [])])
        for turn in [3, 0, -1] {
            #expect(
                rig.exchange(.settle(turn: turn), from: client(1)) == [.error(PeerError(.misuse, "there is no turn \(turn) yet"))])
        }
    }

    @Test func `A client that is gone is not answered`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.settle(turn: 3), from: client(1))
        rig.connectClient(1, epoch: 2, at: client(2))
        _ = rig.take(client(1))
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(rig.take(client(1)) == [])
        #expect(rig.machine.readers.waiters.count == 0)
    }

    // MARK: Views

    static func ticks(_ frames: [Frame]) -> Int {
        frames.count { if case .tick = $0 { true } else { false } }
    }

    static func views(_ frames: [Frame]) -> [Int] {
        frames.compactMap { if case .view(_, let turn, _) = $0 { turn } else { nil } }
    }

    @Test func `The first view after a pause is published at once and the next after the interval`() throws {
        let rig = try Self.rig()
        rig.now = at(0.1)
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(Self.views(rig.takePublished()) == [3])
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        rig.exchange(inputs([.add(1)], from: 3), from: client(1))
        #expect(Self.views(rig.takePublished()) == [])
        #expect(rig.machine.wakeUp(now: rig.now) == at(0.133))
        rig.tick(.microseconds(32_999))
        #expect(Self.views(rig.takePublished()) == [])
        rig.tick(.microseconds(1))
        #expect(Self.views(rig.takePublished()) == [5], "the newest wins")
    }

    @Test func `An expensive view is published less often`() throws {
        let rig = try Self.rig()
        rig.now = at(0.1)
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.viewTook(.milliseconds(10))
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        #expect(rig.machine.wakeUp(now: rig.now) == at(0.3))
        rig.tick(.milliseconds(199))
        #expect(Self.views(rig.takePublished()) == [3])
        rig.tick(.milliseconds(1))
        #expect(Self.views(rig.takePublished()) == [4])
    }

    @Test func `A view that did not change is not published`() throws {
        let rig = try Self.rig()
        rig.now = at(0.1)
        rig.exchange(inputs([.add(0)]), from: client(1))
        #expect(Self.views(rig.takePublished()) == [])
    }

    @Test func `A tick comes each second and soon after idleness begins`() throws {
        let rig = try Self.rig()
        rig.now = at(0.1)
        rig.exchange(inputs([.order([job("a")])]), from: client(1))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.now = at(0.2)
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(Self.views(rig.takePublished()) == [4], "and no tick behind the view, which would hold it up")
        #expect(rig.machine.wakeUp(now: rig.now) == at(0.21))
        rig.now = at(0.21)
        rig.round()
        #expect(rig.takePublished() == [.tick(instance: .main, head: 4, view: 4, idle: true)])
        rig.now = at(0.9)
        rig.round()
        #expect(rig.takePublished() == [])
        rig.now = at(1)
        rig.round()
        #expect(rig.takePublished() == [.tick(instance: .main, head: 4, view: 4, idle: true)])
    }

    @Test func `A program without views is idle when nothing is left`() throws {
        let rig = try Self.rig()
        rig.machine.turnViewsOff("why")
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.tick(.milliseconds(10))
        rig.tick(.milliseconds(990))
        let ticks = rig.takePublished()
        #expect(ticks.count == 2 && ticks.allSatisfy { $0 == .tick(instance: .main, head: 3, view: 1, idle: true) })
    }

    @Test func `Idleness that begins again and again is told again after a tenth of a second`() throws {
        let rig = try Self.rig()
        var told = 0
        for step in 1...20 {
            rig.now = at(0.04 * Double(step))
            rig.exchange(inputs([.add(1)], from: step), from: client(1))
            rig.tick(.milliseconds(10))
            told += Self.ticks(rig.takePublished())
        }
        #expect((1...9).contains(told), "\(told) ticks in 0.8 s with rests of 40 ms")
    }

    @Test func `Idleness that does not last is told only when it does`() throws {
        let rig = try Self.rig()
        var told = 0
        for step in 1...118 {
            rig.now = at(0.1 + 0.005 * Double(step))
            rig.exchange(inputs([.add(1)], from: step), from: client(1))
            told += Self.ticks(rig.takePublished())
        }
        #expect(told == 0, "an input each 5 ms, and no whole second")
        rig.now = rig.machine.wakeUp(now: rig.now)
        rig.round()
        rig.now = rig.machine.wakeUp(now: rig.now)
        rig.round()
        #expect(rig.takePublished().last == .tick(instance: .main, head: rig.machine.head, view: rig.machine.head, idle: true))
        #expect(rig.now <= at(0.75), "the last one is not forgotten")
    }

    @Test func `A requested view waits for its turn`() throws {
        let rig = try Self.rig()
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 3), from: client(1)) == [])
        let frames = rig.exchange(inputs([.add(4)]), from: client(1))
        #expect(frames.last == .view(instance: .main, turn: 3, bytes: packed(Shop.ViewState(total: 4, done: 0))))
        let misuse = rig.exchange(.viewRequest(instance: "other", atLeast: 1), from: client(1))
        #expect(misuse == [.error(PeerError(.misuse, "there is no instance other"))])
    }

    @Test func `Waiters are bounded, and who asks again is no other`() throws {
        var settings = StoreSettings()
        settings.waiters = 1
        let rig = try Rig(settings)
        for number in [1, 2] as [UInt8] { rig.connectClient(number) }
        for turn in [99, 99, 100] {
            #expect(rig.exchange(.viewRequest(instance: .main, atLeast: turn), from: client(1)) == [])
        }
        #expect(
            rig.exchange(.viewRequest(instance: .main, atLeast: 99), from: client(2))
                == [.error(PeerError(.retryLater, "too many requests wait", wait: .seconds(1)))])
    }

    // MARK: Operators

    @Test func `Status tells of workers queues and turns`() throws {
        let rig = try Self.rig()
        rig.connectWorker(2)
        rig.order(job("a"), job("b", queue: "http"), job("c"))
        let status = try #require(rig.ask("status")?.value)
        #expect(status["program"] == "Workshop" && status["phase"] == "serving")
        #expect(status["turn"] == .int(4) && status["openEffects"] == .int(3) && status["sessions"] == .int(1))
        let waiting: MessagePackValue = [
            "name": "http", "waiting": 1, "oldestSeconds": 0.0, "behind": 0, "delayed": 0, "running": 0, "slots": 0,
            "served": false,
            "paused": false,
        ]
        let running: MessagePackValue = [
            "name": "default", "waiting": 0, "oldestSeconds": .nil, "behind": 0, "delayed": 0, "running": 2, "slots": 2,
            "served": true,
            "paused": false,
        ]
        guard case .array(var queues)? = status["queues"], queues.count == 2 else {
            Issue.record("\(status)")
            return
        }
        #expect(queues[0]["wait"]?["count"] == 2 && queues[0]["attempt"]?["count"] == 0 && queues[1]["wait"] == .nil)
        for index in queues.indices { (queues[index]["wait"], queues[index]["attempt"]) = (nil, nil) }
        #expect(queues == [running, waiting])
    }

    @Test func `A dead effect can be requeued once and runs with all its attempts`() throws {
        let rig = try Self.rig()
        rig.order(job("a", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.ask("requeue", effect: "3/0")?.refusal == "effect 3/0 is not dead")
        rig.exchange(.result([task.failed()], credit: 2), from: worker(1))
        #expect(rig.ask("requeue", effect: "3/0")?.value == ["requeued": "3/0"])
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.effect == task.effect && again.attempt == 1)
        #expect(rig.ask("requeue", effect: "3/0")?.refusal == "effect 3/0 is not dead")
        rig.exchange(.result([again.answered("a")], credit: 2), from: worker(1))
        #expect(try rig.state().done == ["a"])
    }

    @Test func `A dropped effect is cancelled and its answer too late`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.ask("drop", effect: "3/0")?.value == ["dropped": "3/0"])
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
        #expect(rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1)) == [.acknowledge([task.lease])])
        #expect(try rig.state().done == [])
        #expect(rig.ask("drop", effect: "3/0")?.refusal == "effect 3/0 is neither open nor dead")
    }

    @Test func `A request that is asked again is answered alike and done once, by a record of an operator`() throws {
        let rig = try Self.rig()
        rig.order(job("a", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 2), from: worker(1))
        let request = AdminRequest(id: 99, verb: "requeue", arguments: ["effects": ["3/0"]])
        let first = rig.exchange(.request(request), from: admin)
        let head = rig.machine.head
        #expect(first == [.reply(AdminReply(id: 99, value: ["requeued": ["3/0"], "dead": .int(0)]))])
        #expect(rig.exchange(.request(request), from: Route(listener: .admin, id: [0, 2])) == first)
        #expect(rig.machine.head == head)
        var origins: [Origin] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .requeued = record.event { origins.append(record.origin) }
            }
        }
        #expect(origins == [.operator])
        // A minute later it is another request that looks alike.
        rig.now = rig.now + .seconds(61)
        guard case .reply(let late)? = rig.exchange(.request(request), from: admin).last else {
            Issue.record("no reply")
            return
        }
        #expect(late.refusal == "effect 3/0 is not dead")
    }

    @Test func `Several effects are requeued or dropped at once, or none if one of them cannot be`() throws {
        let rig = try StoreWorkerTests.rig(credit: 9)
        rig.order(job("a", diesSilently: true), job("b", diesSilently: true), job("c", diesSilently: true))
        for task in rig.takeTasks(worker(1)) { rig.deliver(.result([task.failed()], credit: 9), from: worker(1)) }
        rig.round()
        func ask(_ verb: String, _ arguments: MessagePackValue, id: Int) -> AdminReply? {
            let frames = rig.exchange(.request(AdminRequest(id: id, verb: verb, arguments: arguments)), from: admin)
            for case .reply(let reply) in frames { return reply }
            return nil
        }
        #expect(ask("requeue", ["effects": ["3/0", "9/9"]], id: 1)?.refusal == "effect 9/9 is not dead")
        #expect(rig.durable.ledger.dead.count == 3)
        #expect(ask("requeue", ["effects": ["3/2", "3/0", "3/2"]], id: 2)?.value["requeued"] == ["3/2", "3/0"])
        #expect(rig.durable.ledger.dead.count == 1)
        #expect(ask("drop", ["all": true], id: 3)?.value == ["dropped": ["3/1"], "dead": .int(0)])
        #expect(rig.durable.ledger.dead.isEmpty && rig.durable.ledger.open.count == 2, "those that are open stay")
        #expect(ask("drop", ["all": true], id: 4)?.value == ["dropped": [], "dead": .int(0)])
    }

    @Test func `Effects lists open and dead ones`() throws {
        let rig = try Self.rig()
        rig.order(job("a", diesSilently: true), job("b"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 1), from: worker(1))
        let list = try #require(rig.ask("effects")?.value)
        #expect(list["openCount"] == .int(1))
        guard case .array(let open)? = list["open"], case .array(let dead)? = list["dead"] else {
            Issue.record("\(list)")
            return
        }
        #expect(open.first?["effect"] == "3/1" && open.first?["status"] == "waiting")
        #expect(open.first?["payload"]?["name"] == "b")
        #expect(dead.first?["effect"] == "3/0" && dead.first?["failure"] == "failed after 1 attempt: no luck")
    }

    @Test func `Inspect tells the whole state`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(7)]), from: client(1))
        let value = try #require(rig.ask("inspect")?.value)
        #expect(value["turn"] == .int(3) && value["state"]?["total"] == .int(7))
    }

    @Test(
        arguments: [
            (
                "dance", nil,
                "unknown request dance; there are status, metrics, inspect, effects, attempts, requeue, drop, pause, resume, rule, reloadKeys, export, history, drain"
            ),
            ("requeue", nil, "which effect? name it as turn/ordinal"),
            ("drop", "3", "“3” is not an effect; name it as turn/ordinal, as `effects` lists them"),
            ("drop", "9/9", "effect 9/9 is neither open nor dead"),
        ] as [(String, String?, String)])
    func `Refusals say why`(_ verb: String, _ effect: String?, _ text: String) throws {
        #expect(try Self.rig().ask(verb, effect: effect)?.refusal == text)
    }
}
