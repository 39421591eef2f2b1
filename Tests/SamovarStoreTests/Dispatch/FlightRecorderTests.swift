import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What the store remembers of attempts.
@Suite struct FlightRecorderTests {
    private func effect(_ turn: Int, _ ordinal: Int = 0) -> EffectID { EffectID(turn: turn, ordinal: ordinal) }

    @Test func `A row has 32 bytes, and there is none before the first attempt`() {
        var recorder = FlightRecorder()
        #expect(MemoryLayout<FlightRecorder.Row>.stride == 32)
        let number = recorder.joined(workerID(1))
        #expect(recorder.rows.isEmpty)
        _ = recorder.handedOut(effect(1), attempt: 1, to: number, now: at(0))
        #expect(recorder.rows.count == FlightRecorder.limit)
    }

    @Test(arguments: [1, 2, UInt64.random(in: .min ... .max)])
    func `What is remembered are the newest attempts, each as it was`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = Random(seed: seed)
        var recorder = FlightRecorder()
        var all: [(effect: EffectID, attempt: FlightRecorder.Attempt)] = []
        var running: [(place: Int, number: Int)] = []
        let workers = (0..<20).map { (recorder.joined(workerID(UInt8($0))), workerID(UInt8($0))) }
        var now = at(1)
        for turn in 1...(FlightRecorder.limit + 5_000) {
            now = now + .microseconds(Int.random(in: 0...9_000, using: &random))
            let (number, worker) = workers[Int.random(in: 0..<20, using: &random)]
            let id = effect(Int.random(in: max(1, turn - 9)...turn, using: &random), Int.random(in: 0...1, using: &random))
            let attempt = Int.random(in: 1...300, using: &random)
            let isClaimed = Int.random(in: 0..<9, using: &random) == 0
            let record = recorder.handedOut(id, attempt: attempt, to: number, isClaimed: isClaimed, now: now)
            running.append((all.count, record))
            all.append(
                (
                    id,
                    .init(
                        number: min(attempt, 255), worker: worker, handedOut: now, isClaimed: isClaimed, heard: nil, duration: nil,
                        outcome: nil)
                ))
            guard running.count > 30 else { continue }
            let (place, ended) = running.remove(at: Int.random(in: 0..<running.count, using: &random))
            let since = all[place].attempt.handedOut
            if Bool.random(using: &random) {
                recorder.heard(ended, now: now)
                recorder.heard(ended, now: now + .seconds(1))
                all[place].attempt.heard = .microseconds((now - since).microseconds)
            }
            let outcome = try #require(AttemptOutcome.allCases.randomElement(using: &random))
            recorder.ended(ended, outcome, since: since, now: now)
            all[place].attempt.duration = .microseconds((now - since).microseconds)
            all[place].attempt.outcome = outcome
        }
        let kept = all.suffix(FlightRecorder.limit)
        #expect(recorder.since == kept.first?.attempt.handedOut)
        for number in [0, 3_000, 5_000, 5_010, 40_000, all.count - 1] {
            let id = all[number].effect
            let told = recorder.attempts(of: id, [:])
            #expect(told == kept.reversed().filter { $0.effect == id }.map(\.attempt), "\(id)")
        }
        var pages: [(effect: EffectID, attempt: FlightRecorder.Attempt)] = []
        var next: Int?
        repeat {
            let page = recorder.attempts(before: next, count: 1_000, [:])
            #expect(page.attempts.count <= 1_000)
            pages += page.attempts
            next = page.next
        } while next != nil
        #expect(pages.map(\.effect) == kept.reversed().map(\.effect) && pages.map(\.attempt) == kept.reversed().map(\.attempt))
    }

    @Test func `The end of an attempt that is not remembered any more changes no other`() {
        var recorder = FlightRecorder()
        let worker = recorder.joined(workerID(1))
        let first = recorder.handedOut(effect(1), attempt: 1, to: worker, now: at(0))
        for turn in 2...(FlightRecorder.limit + 1) { _ = recorder.handedOut(effect(turn), attempt: 1, to: worker, now: at(1)) }
        recorder.ended(first, .lost, since: at(0), now: at(2))
        recorder.heard(first, now: at(2))
        #expect(recorder.attempts(of: effect(1), [:]).isEmpty)
        let other = recorder.attempts(of: effect(FlightRecorder.limit + 1), [:])
        #expect(other.count == 1 && other[0].outcome == nil && other[0].heard == nil)
    }

    @Test func `The oldest attempt that is remembered is told of like any other`() {
        var recorder = FlightRecorder()
        let worker = recorder.joined(workerID(1))
        let first = recorder.handedOut(effect(1), attempt: 1, to: worker, now: at(0))
        for turn in 2...FlightRecorder.limit { _ = recorder.handedOut(effect(turn), attempt: 1, to: worker, now: at(1)) }
        recorder.heard(first, now: at(2))
        recorder.ended(first, .answered, since: at(0), now: at(3))
        let attempt = FlightRecorder.Attempt(
            number: 1, worker: workerID(1), handedOut: at(0), isClaimed: false, heard: .seconds(2), duration: .seconds(3),
            outcome: .answered)
        #expect(recorder.attempts(of: effect(1), [:]) == [attempt])
    }

    @Test func `As long as none is forgotten, all of this process are known, and then those since the oldest that is left`() {
        var recorder = FlightRecorder()
        let worker = recorder.joined(workerID(1))
        for turn in 1...FlightRecorder.limit {
            _ = recorder.handedOut(effect(turn), attempt: 1, to: worker, now: at(Double(turn)))
        }
        #expect(recorder.since == nil)
        _ = recorder.handedOut(effect(1), attempt: 2, to: worker, now: at(99_999))
        #expect(recorder.since == at(2))
    }

    @Test func `A worker that has left long ago has no name, and no other's; one that is here has its own`() {
        var recorder = FlightRecorder()
        let first = recorder.joined(workerID(1))
        _ = recorder.handedOut(effect(1), attempt: 1, to: first, now: at(0))
        for _ in 0..<5_000 { _ = recorder.joined(workerID(2)) }
        #expect(recorder.attempts(of: effect(1), [:])[0].worker == nil)
        #expect(recorder.attempts(of: effect(1), [first: workerID(1)])[0].worker == workerID(1))
    }

    @Test func `A worker that has just left has its own name, however many came before it`() {
        var recorder = FlightRecorder()
        for _ in 0..<5_000 { _ = recorder.joined(workerID(1)) }
        let last = recorder.joined(workerID(2))
        _ = recorder.handedOut(effect(1), attempt: 1, to: last, now: at(0))
        #expect(recorder.attempts(of: effect(1), [:])[0].worker == workerID(2))
    }

    @Test func `Effects of a turn beyond a million are not taken for others`() {
        var recorder = FlightRecorder()
        let worker = recorder.joined(workerID(1))
        _ = recorder.handedOut(effect(1, 1 << 20), attempt: 1, to: worker, now: at(0))
        #expect(recorder.attempts(of: effect(1), [:]).isEmpty && recorder.attempts(of: effect(1, 1 << 20), [:]).isEmpty)
        #expect(recorder.attempts(before: nil, count: 9, [:]).attempts.isEmpty)
        #expect(recorder.attempts(of: effect(0), [:]).isEmpty, "there is no turn 0")
    }
}

/// `attempts`, as a store answers it.
@Suite struct StoreAttemptsTests {
    private func ask(_ rig: Rig, _ effect: String) throws -> AdminReply {
        rig.requests += 1
        let request = AdminRequest(id: rig.requests, verb: "attempts", arguments: ["effect": .string(effect)])
        guard case .reply(let reply)? = rig.exchange(.request(request), from: admin).first else { throw CancellationError() }
        return reply
    }

    private func hows(_ reply: AdminReply) -> [MessagePackValue?] {
        guard case .array(let attempts)? = reply.value["attempts"] else { return [] }
        return attempts.map { $0["how"] }
    }

    @Test func `Without an effect, all attempts are told page by page, and read back as they were`() throws {
        let rig = try StoreWorkerTests.rig(slots: 300, credit: 300)
        for number in 1...300 { rig.order(job("\(number)"), sequence: number) }
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.count == 300)
        rig.now = rig.now + .milliseconds(3)
        rig.exchange(.result(JobResults(tasks.map { $0.answered() }), credit: 300), from: worker(1))
        var told: [RememberedAttempt] = []
        var next = MessagePackValue.nil
        var pages = 0
        repeat {
            let value = try #require(rig.ask("attempts", next == .nil ? .nil : ["before": next])).value
            guard case .array(let rows)? = value["attempts"] else { throw CancellationError() }
            #expect(rows.count <= 250)
            told += rows.compactMap { RememberedAttempt($0) }
            next = value["next"] ?? .nil
            pages += 1
        } while next != .nil
        #expect(pages == 2 && told.count == 300 && Set(told.map(\.effect)).count == 300)
        #expect(told.allSatisfy { $0.how == "answered" && $0.worker == "\(workerID(1))" && $0.number == 1 })
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.handedOut >= $1.handedOut })
        #expect(told.allSatisfy { $0.ended.map { $0 - told[0].handedOut <= .seconds(1) } == true })
        #expect(rig.ask("attempts", ["before": "x"])?.refusal == "before is what another answer has as next")
        #expect(rig.ask("attempts", ["before": 0])?.value["attempts"] == [])
    }

    @Test func `A time is told as a timestamp of MessagePack: nanoseconds, and below them 34 bits of seconds`() {
        let told = MessagePackValue.moment(Timestamp(microseconds: 1_700_000_001_500_001))
        #expect(told == .extension(type: -1, bytes: [0x77, 0x35, 0xa3, 0xa0, 0x65, 0x53, 0xf1, 0x01]))
    }

    @Test(arguments: [-1, 0] as [Int64])
    func `The beginning of 1970 is told to the microsecond, and an earlier time as that`(microseconds: Int64) {
        let told = MessagePackValue.moment(Timestamp(microseconds: microseconds))
        #expect(told == .extension(type: -1, bytes: [0, 0, 0, 0, 0, 0, 0, 0]))
    }

    @Test(arguments: [17_179_869_183_999_999, 17_179_869_184_000_000, .max] as [Int64])
    func `The end of 34 bits of seconds is told to the microsecond, and a later time as that`(microseconds: Int64) {
        let told = MessagePackValue.moment(Timestamp(microseconds: microseconds))
        #expect(told == .extension(type: -1, bytes: [0xee, 0x6b, 0x18, 0x63, 0xff, 0xff, 0xff, 0xff]))
    }

    @Test func `An effect is told with all its attempts: worker, times and how each ended`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.order(job("a", attempts: 3))
        let first = try #require(rig.takeTasks(worker(1)).first)
        let name = "\(first.effect)"
        #expect(hows(try ask(rig, name)) == ["running"])
        rig.now = rig.now + .milliseconds(3)
        rig.exchange(.result([first.failed()], credit: 9), from: worker(1))
        let failed = try ask(rig, name)
        #expect(failed.value["state"] == "open" && failed.value["open"]?["failures"] == .int(1))
        #expect(failed.value["attempts"]?[0]?["seconds"] == .double(0.003))
        rig.tick(.seconds(2))
        _ = rig.takeTasks(worker(1))
        rig.now = rig.now + .milliseconds(4)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        let third = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        rig.now = rig.now + .milliseconds(1)
        rig.exchange(
            .progress([ProgressReport(effect: third.effect, lease: third.lease, progress: JobProgress(text: "half"))]),
            from: worker(2))
        rig.now = rig.now + .milliseconds(1)
        rig.exchange(.result([third.answered("a")], credit: 9), from: worker(2))
        let reply = try ask(rig, name)
        #expect(reply.value["state"] == "closed" && reply.value["open"] == nil)
        #expect(hows(reply) == ["failed", "lost", "answered"])
        #expect(reply.value["attemptCount"] == .int(3) && reply.value["remembersSince"] == .moment(at(0)))
        #expect(reply.value["attempts"]?[1]?["seconds"] == .double(0.004))
        #expect(reply.value["attempts"]?[1]?["worker"] == .string("\(workerID(1))"), "it is named though it has left")
        let last = try #require(reply.value["attempts"]?[2])
        #expect(last["worker"] == .string("\(workerID(2))") && last["attempt"] == .int(3))
        #expect(last["startedBy"] == .moment(rig.now + .milliseconds(-1)) && last["ended"] == .moment(rig.now))
        #expect(last["claimed"] == .bool(false))
    }

    @Test func `The time of an attempt begins when it is handed out, however long its effect has waited`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.order(job("a"))
        rig.tick(.seconds(5))
        let task = try #require(rig.connectWorker(credit: 9).tasks.first)
        rig.now = rig.now + .milliseconds(3)
        rig.exchange(.result([task.answered("a")], credit: 9), from: worker(1))
        #expect(try ask(rig, "\(task.effect)").value["attempts"]?[0]?["seconds"] == .double(0.003))
    }

    @Test func `After a restart the attempts are forgotten, and a worker's claim is one that is marked`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let next = try rig.restarted()
        #expect(try ask(next, "\(task.effect)").value["attemptCount"] == .int(0))
        next.connectWorker(claims: [JobClaim(effect: task.effect, lease: task.lease, token: task.token)])
        let reply = try ask(next, "\(task.effect)")
        #expect(hows(reply) == ["running"] && reply.value["attempts"]?[0]?["claimed"] == .bool(true))
        // Another connection of the same worker goes on with the same attempt.
        next.connectWorker(claims: [JobClaim(effect: task.effect, lease: task.lease, token: task.token)], epoch: 2, at: worker(3))
        #expect(hows(try ask(next, "\(task.effect)")) == ["running"])
    }

    @Test func `What is dead, what nobody remembers, and what cannot be, are told apart`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.order(job("a", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed(permanent: true)], credit: 9), from: worker(1))
        let dead = try ask(rig, "\(task.effect)")
        #expect(dead.value["state"] == "dead" && dead.value["dead"]?["failure"] != nil && hows(dead) == ["failed"])
        #expect(try ask(rig, "1/7").value["state"] == "unknown")
        #expect(try ask(rig, "999/0").refusal == "there is no turn 999 yet")
        #expect(try ask(rig, "a").refusal?.hasPrefix("“a” is not an effect") == true)
    }

    @Test func `A reply has the newest 1,000 attempts`() throws {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order()
        for _ in 0..<1_010 {
            hall.assign()
            hall.dispatcher.takeBack(id, as: .returned)
            let effect = try #require(hall.ledger.open[id])
            hall.dispatcher.enqueue(effect, now: hall.now)
        }
        let bench = try PartBench()
        let operators = Operators(StoreSettings())
        let reply = try operators.describeAttempts(
            of: EffectID(turn: 1, ordinal: 0), bench.turns, hall.dispatcher, started: at(0), now: at(1))
        #expect(reply["attemptCount"] == .int(1_010))
        guard case .array(let rows)? = reply["attempts"] else {
            Issue.record("no attempts")
            return
        }
        #expect(rows.count == 1_000 && rows.allSatisfy { $0["how"] == "returned" })
        #expect(rows.allSatisfy { $0["attempt"] == .int(1) }, "one that was given back does not count")
    }
}

extension MessagePackValue {
    fileprivate subscript(index: Int) -> MessagePackValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
