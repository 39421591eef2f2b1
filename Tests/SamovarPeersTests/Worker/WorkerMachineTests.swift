import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// One test per row of the table of `WorkerMachine`.
@Suite struct WorkerMachineTests {
    static let id = WorkerID(high: 7, low: 7)

    static func machine(
        slots: Int = 1, readAhead: Int = 1, limits: (inout WorkerMachine.Settings) -> Void = { _ in }
    ) -> WorkerMachine {
        var settings = WorkerMachine.Settings(
            connection: ConnectionSettings(firstPause: .zero, longestPause: .zero))
        limits(&settings)
        return WorkerMachine(
            WorkerOffer(id: id, slots: slots, queues: [.default]), schema: counter, readAhead: readAhead, settings: settings,
            random: Random(seed: 1))
    }

    /// A machine that is welcomed and has told its credit.
    static func welcomed(
        slots: Int = 1, readAhead: Int = 1, limits: (inout WorkerMachine.Settings) -> Void = { _ in }
    ) -> WorkerMachine {
        var machine = machine(slots: slots, readAhead: readAhead, limits: limits)
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(), now: at(0))
        _ = machine.flush(now: at(0))
        return machine
    }

    static func welcome(head: Int = 9, of timeline: Timeline = home) -> Envelope {
        Envelope(.welcome(Welcome(schema: counter, head: head, silence: .seconds(6))), timeline: timeline)
    }

    static func task(_ number: Int, timeout: Duration? = nil) -> JobTask {
        JobTask(
            effect: EffectID(turn: number, ordinal: 0), lease: lease(number), token: UInt64(number), attempt: 1,
            timeout: timeout, payload: [0xc0])
    }

    static func lease(_ number: Int) -> Lease { Lease(start: 1, counter: number) }

    static func tasks(_ numbers: [Int], number: Int) -> Envelope {
        Envelope(.task(numbers.map { task($0) }, number: number), timeline: home)
    }

    static func result(_ number: Int, _ answer: JobResult.Answer) -> JobResult {
        JobResult(effect: EffectID(turn: number, ordinal: 0), lease: lease(number), token: UInt64(number), answer: answer)
    }

    static func results(_ results: [JobResult], credit: Int) -> WorkerMachine.Action {
        .send(Envelope(.result(JobResults(results), credit: credit), timeline: home))
    }

    static func hello(
        _ claims: [Int], witness: Int, proof: UInt64? = nil, epoch: Int, of timeline: Timeline = home, slots: Int = 1
    ) -> WorkerMachine.Action {
        let running = claims.map { JobClaim(task($0)) }
        let offer = WorkerOffer(id: id, slots: slots, queues: [.default], running: running)
        return .send(
            Envelope(
                .hello(Hello(role: .worker(offer), schema: counter, witness: witness, proof: proof, epoch: epoch)),
                timeline: timeline))
    }

    static func send(_ frame: Frame) -> WorkerMachine.Action { .send(Envelope(frame, timeline: home)) }

    // MARK: Greeting and credit

    @Test func `It connects and says hello`() {
        var machine = Self.machine()
        let actions = machine.ticked(now: at(0))
        #expect(actions == [.connect, Self.hello([], witness: 0, epoch: 1, of: .zero)])
    }

    @Test func `That no store is there is told once, and not before one that starts could have answered`() {
        var machine = Self.machine()
        var told: [Timestamp] = []
        for second in stride(from: 0.0, through: 60, by: 1) {
            for action in machine.ticked(now: at(second)) {
                guard case .note(let text) = action else { continue }
                #expect(text == "no store has let this worker in so far, which is tried again: no WELCOME within 1.0 seconds")
                told.append(at(second))
            }
        }
        #expect(told.count == 1 && told[0] >= at(4) && told[0] <= at(10), "\(told)")
        _ = machine.received(Self.welcome(), now: at(60))
        #expect(machine.disconnected(now: at(61)).contains(.note("lost the store: the connection broke")))
    }

    @Test func `All that keeps a worker out is told together, three seconds after the first of it`() {
        var machine = Self.machine()
        var told: [WorkerMachine.Action] = []
        let ends: [(Double, Disconnection)] = [(0, .broken), (2, .impossible("no such name")), (3, .broken)]
        for (second, end) in ends {
            _ = machine.ticked(now: at(second))
            told += machine.disconnected(now: at(second), because: end)
        }
        let note = "no store has let this worker in so far, which is tried again: the connection broke; no such name"
        #expect(told == [.disconnect, .disconnect, .disconnect, .note(note)])
    }

    @Test func `After welcome it gives credit`() {
        var machine = Self.machine(slots: 2, readAhead: 3)
        _ = machine.ticked(now: at(0))
        let welcomed = machine.received(Self.welcome(), now: at(0))
        let flushed = machine.flush(now: at(0))
        let again = machine.flush(now: at(0))
        #expect(welcomed == [])
        #expect(flushed == [Self.send(.credit(5))])
        #expect(again == [])
    }

    @Test func `A ping carries the credit`() {
        var machine = Self.welcomed()
        let actions = machine.ticked(now: at(1))
        #expect(actions == [Self.send(.ping(2))])
    }

    // MARK: TASK

    @Test func `A task starts if a slot is free and else waits`() {
        var machine = Self.welcomed()
        let actions = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let jobs = machine.jobs
        #expect(actions == [.start(Self.task(1), in: home)])
        #expect(jobs == 2)
    }

    @Test func `Tasks start in their order`() {
        var machine = Self.welcomed(slots: 1, readAhead: 2)
        _ = machine.received(Self.tasks([3, 1, 2], number: 3), now: at(0))
        let second = machine.finished(Self.lease(3), .done([]), now: at(0))
        let third = machine.finished(Self.lease(1), .done([]), now: at(0))
        #expect(second == [.start(Self.task(1), in: home)])
        #expect(third == [.start(Self.task(2), in: home)])
    }

    @Test func `A task that it holds is ignored and costs no credit`() {
        var machine = Self.welcomed(slots: 1, readAhead: 1)
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        let again = machine.received(Self.tasks([1], number: 2), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(again == [])
        #expect(flushed == [Self.send(.credit(3))])
    }

    @Test func `A task that is answered is not run again`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        let again = machine.received(Self.tasks([1], number: 2), now: at(0))
        #expect(again == [])
    }

    @Test(arguments: [1, 2, 3])
    func `A task that it holds or has answered is not taken again, however many came after it`(_ number: Int) {
        var machine = Self.welcomed(slots: 1, readAhead: 3)
        _ = machine.received(Self.tasks([1, 2, 3, 4], number: 4), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        let again = machine.received(Self.tasks([number], number: 5), now: at(0))
        let jobs = machine.jobs
        #expect(again == [])
        #expect(jobs == 3)
    }

    @Test(arguments: [(3, [1, 2, 3]), (9, [1]), (Int.max, [1]), (Int.min, [1, 2, 3])])
    func `More tasks than credit begin anew`(_ number: Int, _ numbers: [Int]) {
        var machine = Self.welcomed()
        let actions = machine.received(Self.tasks(numbers, number: number), now: at(0))
        let opened = machine.ticked(now: at(0))
        #expect(actions == [.disconnect, .note("lost the store: the store overdrew its credit")])
        #expect(opened == [.connect, Self.hello([], witness: 9, epoch: 2)])
    }

    @Test func `A TASK frame that comes twice is taken once`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        _ = machine.received(Envelope(.acknowledge([Self.lease(1)]), timeline: home), now: at(0))
        let again = machine.received(Self.tasks([1], number: 1), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(again == [.note("dropped a TASK that came twice")])
        #expect(flushed == [Self.send(.result([Self.result(1, .done([]))], credit: 3))] || flushed == [Self.send(.credit(3))])
    }

    @Test func `A worker that misses tasks before those that come begins anew, so that the store hears of it`() {
        var machine = Self.welcomed()
        let actions = machine.received(Self.tasks([2], number: 2), now: at(0))
        let opened = machine.ticked(now: at(0))
        #expect(actions == [.disconnect, .note("lost the store: a TASK was lost")])
        #expect(opened == [.connect, Self.hello([], witness: 9, epoch: 2)])
    }

    @Test func `A worker that misses the last tasks learns it from PONG, and begins anew when they do not come`() {
        var machine = Self.welcomed()
        // PONG may overtake tasks that wait for the disk.
        let first = machine.received(Envelope(.pong(1), timeline: home), now: at(1))
        let second = machine.received(Envelope(.pong(1), timeline: home), now: at(3))
        let third = machine.received(Envelope(.pong(2), timeline: home), now: at(4))
        #expect(first == [] && second == [])
        #expect(third == [.disconnect, .note("lost the store: a TASK was lost")])
    }

    @Test func `A worker whose tasks come after the PONG that counts them stays`() {
        var machine = Self.welcomed()
        _ = machine.received(Envelope(.pong(1), timeline: home), now: at(1))
        _ = machine.received(Self.tasks([1], number: 1), now: at(2))
        let actions = machine.received(Envelope(.pong(2), timeline: home), now: at(5))
        #expect(actions == [])
    }

    // MARK: Answers

    @Test func `Many answers are one frame`() {
        var machine = Self.welcomed(slots: 2, readAhead: 0)
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        _ = machine.finished(Self.lease(2), .done([[0x05]]), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        let actions = machine.flush(now: at(0))
        #expect(actions == [Self.results([Self.result(2, .done([[0x05]])), Self.result(1, .done([]))], credit: 4)])
    }

    @Test func `A frame of answers has a limit`() {
        var machine = Self.welcomed(slots: 3, readAhead: 0) { $0.frameBytes = 200 }
        _ = machine.received(Self.tasks([1, 2, 3], number: 3), now: at(0))
        for number in 1...3 { _ = machine.finished(Self.lease(number), .done([]), now: at(0)) }
        let actions = machine.flush(now: at(0))
        #expect(
            actions == [
                Self.results([Self.result(1, .done([])), Self.result(2, .done([])), Self.result(3, .done([]))], credit: 6)
            ])
        _ = machine.received(Envelope(.acknowledge((1...3).map(Self.lease)), timeline: home), now: at(0))
        _ = machine.received(Self.tasks([4, 5, 6], number: 6), now: at(0))
        let large = [UInt8](repeating: 0xc0, count: 100)
        for number in 4...6 { _ = machine.finished(Self.lease(number), .done([large]), now: at(0)) }
        let split = machine.flush(now: at(0))
        #expect(split == (4...6).map { Self.results([Self.result($0, .done([large]))], credit: 9) })
    }

    @Test func `An answer that is too large fails`() {
        var machine = Self.welcomed { $0.answerBytes = 64 + 3 + 5 }
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = machine.finished(Self.lease(1), .done([[1, 2], [3, 4]]), now: at(0))
        let actions = machine.flush(now: at(0))
        let failure = JobResult.Answer.failed(.unhandled, "an answer of 78 bytes; 72 at most", permanent: true)
        #expect(actions == [Self.results([Self.result(1, failure)], credit: 3)])
    }

    @Test func `The answer of an unknown job is ignored`() {
        var machine = Self.welcomed()
        let actions = machine.finished(Self.lease(5), .done([]), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(actions == [])
        #expect(flushed == [])
    }

    @Test func `A waiting task cannot be finished`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let actions = machine.finished(Self.lease(2), .done([]), now: at(0))
        let jobs = machine.jobs
        #expect(actions == [])
        #expect(jobs == 2)
    }

    @Test func `An acknowledged answer is forgotten`() {
        var machine = Self.answered()
        _ = machine.received(Envelope(.acknowledge([Self.lease(1)]), timeline: home), now: at(0))
        let count = machine.unacknowledged
        let hello = Self.reconnected(&machine)
        #expect(count == 0)
        #expect(hello == [.connect, Self.hello([], witness: 9, epoch: 2)])
    }

    @Test func `Answers are forgotten in whatever order they are acknowledged, sent or not`() {
        var machine = Self.welcomed(slots: 4, readAhead: 0)
        _ = machine.received(Self.tasks([1, 2, 3, 4], number: 4), now: at(0))
        for number in 1...3 { _ = machine.finished(Self.lease(number), .done([]), now: at(0)) }
        _ = machine.flush(now: at(0))
        _ = machine.finished(Self.lease(4), .done([]), now: at(0))
        _ = machine.received(Envelope(.acknowledge([3, 4, 1].map(Self.lease)), timeline: home), now: at(0))
        let count = machine.unacknowledged
        let flushed = machine.flush(now: at(0))
        let hello = Self.reconnected(&machine)
        #expect(count == 1)
        #expect(flushed == [Self.send(.credit(8))])
        #expect(hello == [.connect, Self.hello([2], witness: 9, epoch: 2, slots: 4)])
    }

    @Test func `An answer is sent again after welcome`() {
        var machine = Self.answered()
        let hello = Self.reconnected(&machine)
        let welcomed = machine.received(Self.welcome(head: 12), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(hello == [.connect, Self.hello([1], witness: 9, epoch: 2)])
        #expect(welcomed == [])
        #expect(flushed == [Self.results([Self.result(1, .done([]))], credit: 2)])
    }

    @Test func `An answer is sent again if no acknowledgement comes`() {
        var machine = Self.answered()
        for second in 1...5 {
            _ = machine.received(Envelope(.pong(0), timeline: home), now: at(Double(second)))
            _ = machine.ticked(now: at(Double(second)))
        }
        let early = machine.flush(now: at(5))
        _ = machine.ticked(now: at(6))
        let due = machine.flush(now: at(6))
        #expect(early == [])
        #expect(due == [Self.results([Self.result(1, .done([]))], credit: 3)])
    }

    @Test func `An answer whose acknowledgement was lost is sent again, though those of others keep coming`() {
        var machine = Self.answered()
        var sent: [WorkerMachine.Action] = []
        for number in 2...11 {
            let now = at(Double(number))
            sent += machine.ticked(now: now)
            _ = machine.received(Self.tasks([number], number: number), now: now)
            _ = machine.finished(Self.lease(number), .done([]), now: now)
            sent += machine.flush(now: now)
            _ = machine.received(Envelope(.acknowledge([Self.lease(number)]), timeline: home), now: now)
        }
        let again = sent.filter { action in
            guard case .send(let envelope) = action, case .result(let results, _) = envelope.frame else { return false }
            return results.contains { $0.lease == Self.lease(1) }
        }
        #expect(again.count == 1, "once in a silence")
    }

    @Test func `What keeps being acknowledged is not sent again`() {
        var machine = Self.welcomed()
        var results = 0
        for number in 1...40 {
            let now = at(Double(number) / 2)
            for case .send(let envelope) in machine.ticked(now: now) where envelope.frame.kind == .result { results += 1 }
            _ = machine.received(Self.tasks([number], number: number), now: now)
            _ = machine.finished(Self.lease(number), .done([]), now: now)
            for case .send(let envelope) in machine.flush(now: now) {
                if case .result(let sent, _) = envelope.frame { results += sent.count }
            }
            // Always one of them waits.
            _ = machine.received(Envelope(.acknowledge([Self.lease(number - 1)]), timeline: home), now: now)
        }
        #expect(results == 40)
    }

    @Test func `The credit stops at the limit of unacknowledged answers`() {
        var machine = Self.welcomed(slots: 1, readAhead: 0) { $0.unacknowledged = 2 }
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        let first = machine.flush(now: at(0))
        _ = machine.received(Self.tasks([2], number: 2), now: at(0))
        _ = machine.finished(Self.lease(2), .done([]), now: at(0))
        let second = machine.flush(now: at(0))
        _ = machine.received(Envelope(.acknowledge([Self.lease(1)]), timeline: home), now: at(0))
        let third = machine.flush(now: at(0))
        #expect(first == [Self.results([Self.result(1, .done([]))], credit: 2)])
        #expect(second == [Self.results([Self.result(2, .done([]))], credit: 2)])
        #expect(third == [Self.send(.credit(3))])
    }

    @Test func `The credit stops at the limit of unacknowledged bytes`() {
        var machine = Self.welcomed(slots: 1, readAhead: 0) { $0.unacknowledgedBytes = 10 }
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(flushed == [Self.results([Self.result(1, .done([]))], credit: 1)])
    }

    // MARK: A lost connection

    @Test func `Jobs go on without a connection`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let lost = machine.disconnected(now: at(0))
        let next = machine.finished(Self.lease(1), .done([]), now: at(0))
        let flushed = machine.flush(now: at(0))
        let opened = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        let sent = machine.flush(now: at(0))
        #expect(lost == [.disconnect, .note("lost the store: the connection broke")])
        #expect(next == [.start(Self.task(2), in: home)])
        #expect(flushed == [])
        #expect(opened == [.connect, Self.hello([1, 2], witness: 9, epoch: 2)])
        #expect(sent == [Self.results([Self.result(1, .done([]))], credit: 1)])
    }

    @Test func `Hello witnesses the newest turn of a task`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([30], number: 1), now: at(0))
        let hello = Self.reconnected(&machine)
        #expect(hello == [.connect, Self.hello([30], witness: 30, epoch: 2)])
    }

    @Test func `Hello shows the newest proof`() {
        var machine = Self.welcomed()
        _ = machine.received(Envelope(.acknowledge([]), timeline: home, proof: TurnProof(turn: 12, code: 7)), now: at(0))
        _ = machine.received(Self.tasks([30], number: 1), now: at(0))
        #expect(Self.reconnected(&machine) == [.connect, Self.hello([30], witness: 12, proof: 7, epoch: 2)])
    }

    @Test func `A proof of another timeline is forgotten with it`() {
        var machine = Self.welcomed()
        _ = machine.received(Envelope(.pong(0), timeline: home, proof: TurnProof(turn: 12, code: 7)), now: at(0))
        _ = Self.reconnected(&machine)
        let welcome = Welcome(schema: counter, head: 3, silence: .seconds(6))
        _ = machine.received(Envelope(.welcome(welcome), timeline: abroad), now: at(0))
        #expect(Self.reconnected(&machine) == [.connect, Self.hello([], witness: 3, epoch: 3, of: abroad)])
    }

    @Test func `An unknown peer says hello on the same socket`() {
        var machine = Self.welcomed()
        let actions = machine.received(Envelope(.error(PeerError(.unknownPeer, "who?")), timeline: home), now: at(0))
        #expect(actions == [Self.hello([], witness: 9, epoch: 2)])
    }

    @Test func `Another timeline drops everything`() {
        var machine = Self.welcomed(slots: 1, readAhead: 2)
        _ = machine.received(Self.tasks([1, 2, 3], number: 3), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        _ = Self.reconnected(&machine)
        let actions = machine.received(Self.welcome(of: abroad), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(
            actions == [
                .note("the timeline is \(abroad) and no more \(home): dropped 2 jobs and 1 answers"), .cancel(Self.lease(2)),
            ])
        #expect(flushed == [.send(Envelope(.credit(2), timeline: abroad))])
        // The slot is busy until the handler has ended; its answer is not wanted.
        let ended = machine.finished(Self.lease(2), .done([]), now: at(0))
        let after = machine.flush(now: at(0))
        #expect(ended == [])
        #expect(after == [.send(Envelope(.credit(3), timeline: abroad))])
        // Leases begin anew with the timeline.
        let task = machine.received(Envelope(.task([Self.task(1)], number: 1), timeline: abroad), now: at(0))
        #expect(task == [.start(Self.task(1), in: abroad)])
    }

    @Test func `A task under the lease of a handler that was left with its timeline waits until that has ended`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        _ = Self.reconnected(&machine)
        _ = machine.received(Self.welcome(of: abroad), now: at(0))
        _ = machine.flush(now: at(0))
        let task = machine.received(Envelope(.task([Self.task(1)], number: 1), timeline: abroad), now: at(0))
        let ended = machine.finished(Self.lease(1), .done([]), now: at(0))
        #expect(task == [] && ended == [.start(Self.task(1), in: abroad)])
    }

    // MARK: CANCEL and timeouts

    @Test func `Cancel stops a running job and keeps its slot`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let cancelled = machine.received(Envelope(.cancel([Self.lease(1)], number: 1), timeline: home), now: at(0))
        let ended = machine.finished(Self.lease(1), .done([]), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(cancelled == [.cancel(Self.lease(1))])
        #expect(ended == [.start(Self.task(2), in: home)])
        #expect(flushed == [Self.send(.credit(3))])
    }

    @Test func `Cancel drops a waiting task`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let cancelled = machine.received(Envelope(.cancel([Self.lease(2)], number: 1), timeline: home), now: at(0))
        let ended = machine.finished(Self.lease(1), .done([]), now: at(0))
        #expect(cancelled == [])
        #expect(ended == [])
    }

    @Test func `Cancel forgets an answer`() {
        var machine = Self.answered()
        let cancelled = machine.received(Envelope(.cancel([Self.lease(1)], number: 1), timeline: home), now: at(0))
        let count = machine.unacknowledged
        #expect(cancelled == [])
        #expect(count == 0)
    }

    static func cancel(_ numbers: Int..., number: Int, of timeline: Timeline = home) -> Envelope {
        Envelope(.cancel(numbers.map { lease($0) }, number: number), timeline: timeline)
    }

    @Test func `A worker that missed a CANCEL learns it from the next, and claims its job anew`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        #expect(machine.received(Self.cancel(2, number: 1), now: at(0)) == [], "it waited")
        _ = machine.flush(now: at(0))
        _ = machine.received(Self.tasks([3], number: 3), now: at(0))
        let lost = [.disconnect, .note("lost the store: a CANCEL was lost")] as [WorkerMachine.Action]
        #expect(machine.received(Self.cancel(3, number: 3), now: at(0)) == lost, "which takes what it names all the same")
        #expect(machine.ticked(now: at(0)) == [.connect, Self.hello([1], witness: 9, epoch: 2)])
        _ = machine.received(Self.welcome(), now: at(0))
        #expect(machine.received(Self.cancel(1, number: 1), now: at(0)) == [.cancel(Self.lease(1))], "the count begins anew")
    }

    @Test func `A worker that missed the last CANCEL learns it from the one without jobs`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        for _ in 1...2 { #expect(machine.received(Self.cancel(2, number: 1), now: at(0)) == [], "twice is as good") }
        #expect(machine.received(Self.cancel(number: 1), now: at(1)) == [])
        let actions = machine.received(Self.cancel(number: 2), now: at(2))
        #expect(actions == [.disconnect, .note("lost the store: a CANCEL was lost")])
    }

    @Test func `A worker that leaves with nothing left says GOODBYE, whatever it has missed`() {
        var machine = Self.answered()
        _ = machine.drain(now: at(0))
        #expect(machine.received(Self.cancel(1, number: 2), now: at(0)) == [Self.send(.goodbye), .stop])
    }

    @Test func `From a store that does not count CANCELs none is missed`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        #expect(machine.received(Self.cancel(2, number: 0), now: at(0)) == [])
        #expect(machine.received(Self.cancel(1, number: 0), now: at(0)) == [.cancel(Self.lease(1))])
    }

    @Test func `A job that runs out of time is answered and keeps its slot`() {
        var machine = Self.welcomed()
        let tasks = [Self.task(1, timeout: .seconds(2)), Self.task(2)]
        _ = machine.received(Envelope(.task(tasks, number: 2), timeline: home), now: at(0))
        let deadline = machine.deadline
        let early = machine.ticked(now: at(0.9))
        _ = machine.ticked(now: at(1))
        let due = machine.ticked(now: at(2))
        let flushed = machine.flush(now: at(2))
        let ended = machine.finished(Self.lease(1), .done([]), now: at(3))
        #expect(deadline == at(1))
        #expect(early == [])
        #expect(due == [.cancel(Self.lease(1)), Self.send(.ping(2))])
        let timedOut = JobResult.Answer.failed(.timedOut, "the attempt ran out of time", permanent: false)
        #expect(flushed == [Self.results([Self.result(1, timedOut)], credit: 2)])
        #expect(ended == [.start(Self.task(2), in: home)])
    }

    @Test func `A worker whose handlers all go on after a cancellation says so, gives back what waits and takes no more`() {
        var machine = Self.welcomed(slots: 1, readAhead: 2)
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        _ = machine.received(Envelope(.cancel([Self.lease(1)], number: 1), timeline: home), now: at(0))
        _ = machine.ticked(now: at(2.9))
        let waits = machine.flush(now: at(2.9))
        let told = machine.ticked(now: at(3)).filter { if case .note = $0 { true } else { false } }
        let givenBack = machine.flush(now: at(3))
        let again = machine.ticked(now: at(3))
        let late = machine.received(Self.tasks([3], number: 3), now: at(3))
        let refused = machine.flush(now: at(3))
        let ended = machine.finished(Self.lease(1), .done([]), now: at(3))
        let freed = machine.flush(now: at(3))
        let next = machine.received(Self.tasks([4], number: 4), now: at(3))
        #expect(waits == [])
        #expect(
            told == [
                .note("the handler of effect 1/0 goes on 3 s after it was told to stop, and keeps its slot"),
                .note("no slot is left: this worker takes no more tasks until a handler ends"),
            ])
        #expect(givenBack == [Self.results([Self.result(2, .returned)], credit: 3)])
        #expect(again == [], "it has said so")
        #expect(late == [] && refused == [Self.results([Self.result(3, .returned)], credit: 3)])
        #expect(ended == [] && freed == [Self.send(.credit(6))])
        #expect(next == [.start(Self.task(4), in: home)])
    }

    @Test func `Of two slots one that is not given back leaves the worker the other`() {
        var machine = Self.welcomed(slots: 2, readAhead: 0)
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        _ = machine.received(Envelope(.cancel([Self.lease(1)], number: 1), timeline: home), now: at(0))
        _ = machine.ticked(now: at(3))
        _ = machine.flush(now: at(3))
        _ = machine.finished(Self.lease(2), .done([]), now: at(3))
        let flushed = machine.flush(now: at(3))
        let next = machine.received(Self.tasks([3], number: 3), now: at(3))
        #expect(flushed == [Self.results([Self.result(2, .done([]))], credit: 3)])
        #expect(next == [.start(Self.task(3), in: home)])
    }

    @Test func `Each job has its own time`() {
        var machine = Self.welcomed(slots: 2, readAhead: 0)
        let tasks = [Self.task(1, timeout: .seconds(3)), Self.task(2, timeout: .milliseconds(500))]
        _ = machine.received(Envelope(.task(tasks, number: 2), timeline: home), now: at(0))
        let first = machine.ticked(now: at(0.5))
        let deadline = machine.deadline
        #expect(first == [.cancel(Self.lease(2))])
        #expect(deadline == at(1))
    }

    // MARK: At the limits

    @Test func `An answer as large as the limit is taken, as a value and as bytes`() {
        for isBytes in [false, true] {
            var machine = Self.welcomed { $0.answerBytes = 64 + 3 + 5 }
            _ = machine.received(Self.tasks([1], number: 1), now: at(0))
            var actions: [WorkerMachine.Action] = []
            let job = RunningJob(Self.task(1), in: home)
            if isBytes {
                _ = [UInt8](arrayLiteral: 1, 2, 3).withUnsafeBytes {
                    machine.finished(job.lease, message: $0, now: { at(0) }, into: &actions, next: job)
                }
            } else {
                _ = machine.finished(Self.lease(1), .done([[1, 2, 3]]), now: at(0))
            }
            let flushed = machine.flush(now: at(0))
            #expect(flushed == [Self.results([Self.result(1, .done([[1, 2, 3]]))], credit: 3)])
        }
    }

    @Test func `The credit stops when the unacknowledged bytes reach their limit, and not before`() {
        var batch = AnswerBatch()
        let bytes = batch.append(JobClaim(Self.task(1)), .done([]))
        for (limit, credit) in [(bytes, 1), (bytes + 1, 2)] {
            var machine = Self.welcomed(slots: 1, readAhead: 0) { $0.unacknowledgedBytes = limit }
            _ = machine.received(Self.tasks([1], number: 1), now: at(0))
            _ = machine.finished(Self.lease(1), .done([]), now: at(0))
            let flushed = machine.flush(now: at(0))
            #expect(flushed == [Self.results([Self.result(1, .done([]))], credit: credit)])
        }
    }

    @Test func `Nothing is read ahead unless it is asked for`() {
        let offer = WorkerOffer(id: Self.id, slots: 3, queues: [.default])
        var machine = WorkerMachine(offer, schema: counter, random: Random(seed: 1))
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        #expect(machine.flush(now: at(0)) == [Self.send(.credit(3))])
    }

    @Test func `A worker has at least one slot`() {
        var machine = Self.machine(slots: 0, readAhead: -3)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        #expect(machine.flush(now: at(0)) == [Self.send(.credit(1))])
        let started = machine.received(Self.tasks([1], number: 1), now: at(0))
        #expect(started == [.start(Self.task(1), in: home)] && machine.jobs == 1)
    }

    @Test func `The newest task is not taken twice while it waits`() {
        var machine = Self.welcomed(slots: 1, readAhead: 2)
        _ = machine.received(Self.tasks([1, 2, 3], number: 3), now: at(0))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        #expect(machine.received(Self.tasks([3], number: 4), now: at(0)) == [])
        #expect(machine.jobs == 2)
    }

    // MARK: Time

    @Test func `It wakes for what it has to repeat, and for nothing once that is acknowledged`() {
        var machine = Self.answered()
        _ = machine.received(Envelope(.pong(0), timeline: home), now: at(5.5))
        _ = machine.ticked(now: at(5.5))
        #expect(machine.deadline == at(6), "the answer")
        _ = machine.received(Envelope(.acknowledge([Self.lease(1)]), timeline: home), now: at(5.6))
        #expect(machine.deadline == at(6.5), "a PING")
        var streaming = Self.welcomed()
        _ = streaming.received(Self.tasks([1], number: 1), now: at(0))
        streaming.streamed(Self.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = streaming.flush(now: at(0))
        _ = streaming.received(Envelope(.pong(1), timeline: home), now: at(5.5))
        _ = streaming.ticked(now: at(5.5))
        #expect(streaming.deadline == at(6), "the message")
        _ = streaming.received(Envelope(.streamed([StreamMark(lease: Self.lease(1), index: 1)]), timeline: home), now: at(5.6))
        #expect(streaming.deadline == at(6.5))
    }

    @Test func `Without a connection it wakes for the next attempt and for its jobs, and repeats nothing`() {
        var machine = Self.answered()
        let error = Envelope(.error(PeerError(.retryLater, "full", wait: .seconds(30))), timeline: home)
        _ = machine.received(error, now: at(1))
        #expect(machine.deadline == at(31))
        #expect(machine.ticked(now: at(20)) == [] && machine.flush(now: at(20)) == [] && machine.deadline == at(31))
        var greeting = Self.answered()
        _ = greeting.received(Envelope(.error(PeerError(.unknownPeer, "who?")), timeline: home), now: at(5.5))
        #expect(greeting.deadline == at(6.5))
        var refused = Self.welcomed { $0.connection.longestPause = .seconds(10) }
        _ = refused.received(Self.tasks([1], number: 1), now: at(0))
        _ = refused.finished(Self.lease(1), .done([]), now: at(0))
        _ = refused.flush(now: at(0))
        let checked = refused.received(Envelope(.error(PeerError(.keyRefused, "unknown")), timeline: home), now: at(2))
        let deadline = refused.deadline
        // The pause after a key that is not taken is at least half of the longest one.
        #expect(checked == [.disconnect, .checkKey] && deadline.map { $0 >= at(7) } == true)
    }

    @Test func `A busy worker says PING as well, for only PONG tells what was lost`() {
        var machine = Self.machine()
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        _ = machine.flush(now: at(0.6))
        _ = machine.received(Self.tasks([1], number: 1), now: at(0.8))
        _ = machine.finished(Self.lease(1), .done([]), now: at(0.9))
        _ = machine.flush(now: at(0.9))
        _ = machine.received(Envelope(.acknowledge([Self.lease(1)]), timeline: home), now: at(0.9))
        #expect(machine.deadline == at(1))
        #expect(machine.ticked(now: at(1)) == [Self.send(.ping(3))])
    }

    @Test func `A worker that has stopped does nothing more, though a handler still runs out of time`() {
        var machine = Self.welcomed { $0.drain = .seconds(1) }
        _ = machine.received(Envelope(.task([Self.task(1, timeout: .seconds(3))], number: 1), timeline: home), now: at(0))
        _ = machine.drain(now: at(0))
        _ = machine.ticked(now: at(1))
        let last = machine.ticked(now: at(2))
        #expect(last.last == .stop)
        #expect(machine.ticked(now: at(9)) == [] && machine.flush(now: at(9)) == [] && machine.deadline == nil)
        #expect(machine.received(Self.tasks([2], number: 2), now: at(9)) == [] && machine.drain(now: at(9)) == [])
    }

    // MARK: What the store says

    @Test func `It answers PING, notes what is of another timeline or no use, and leaves a store that closes`() {
        var machine = Self.welcomed()
        #expect(machine.received(Envelope(.ping(7), timeline: home), now: at(0)) == [Self.send(.pong(7))])
        let foreign = machine.received(Envelope(.pong(7), timeline: abroad), now: at(0))
        #expect(foreign == [.note("dropped a pong of another timeline")])
        #expect(machine.received(Envelope(.drain, timeline: home), now: at(0)) == [.note("the store is about to stop")])
        let closed = machine.received(Envelope(.goodbye, timeline: home), now: at(0))
        #expect(closed == [.disconnect, .note("lost the store: the store closes")] && !machine.isConnected)
    }

    @Test func `HELLO shows the proof that came with WELCOME, and the witness does not go back`() {
        var machine = Self.welcomed()
        _ = Self.reconnected(&machine)
        _ = machine.received(Self.welcome(head: 3), now: at(0))
        #expect(Self.reconnected(&machine) == [.connect, Self.hello([], witness: 9, epoch: 3)])
        let welcome = Welcome(schema: counter, head: 12, silence: .seconds(6))
        _ = machine.received(
            Envelope(.welcome(welcome), timeline: home, proof: TurnProof(turn: 12, code: 7)), now: at(0))
        #expect(Self.reconnected(&machine) == [.connect, Self.hello([], witness: 12, proof: 7, epoch: 4)])
    }

    @Test func `HELLO lists what it holds by the leases, answered or not`() {
        var machine = Self.welcomed(slots: 2, readAhead: 2)
        _ = machine.received(Self.tasks([4, 2, 3, 1], number: 4), now: at(0))
        _ = machine.finished(Self.lease(4), .done([]), now: at(0))
        #expect(Self.reconnected(&machine) == [.connect, Self.hello([1, 2, 3, 4], witness: 9, epoch: 2, slots: 2)])
    }

    @Test func `Of an ended job nothing is kept but its answer`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        machine.streamed(Self.lease(1), index: 1, message: [1], checkpoint: [1])
        _ = machine.finished(Self.lease(1), .done([]), now: at(0))
        let told = machine.received(Envelope(.streamed([StreamMark(lease: Self.lease(1), index: 1)]), timeline: home), now: at(0))
        #expect(told == [] && machine.checkpointed.isEmpty, "nobody is left to be told")
    }

    @Test func `Whoever streams on without a checkpoint may finish when the worker drains`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        machine.streamed(Self.lease(1), index: 1, message: [1], checkpoint: [1])
        machine.streamed(Self.lease(1), index: 2, message: [1], checkpoint: nil)
        #expect(machine.drain(now: at(0)) == [Self.send(.drain)])
    }

    @Test func `What was told of progress in one timeline is not told in the next`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1], number: 1), now: at(0))
        machine.progressed(Self.lease(1), JobProgress(fraction: 0.5))
        _ = Self.reconnected(&machine)
        #expect(machine.deadline == at(1), "nothing is told before WELCOME")
        _ = machine.received(Self.welcome(of: abroad), now: at(0))
        #expect(machine.flush(now: at(0)) == [.send(Envelope(.credit(1), timeline: abroad))] && machine.deadline == at(1))
    }

    // MARK: Refusal

    @Test func `A refusal ends everything`() {
        var machine = Self.welcomed()
        _ = machine.received(Self.tasks([1, 2], number: 2), now: at(0))
        let error = PeerError(.schema, "another program")
        let refused = machine.received(Envelope(.error(error), timeline: home), now: at(0))
        let state = machine.state
        let deadline = machine.deadline
        let after = machine.ticked(now: at(100))
        #expect(
            refused == [
                .cancel(Self.lease(1)),
                .note("the store refuses this worker: another program; it waits for the handler told to stop, and ends"),
                .disconnect, .refused(error),
            ])
        #expect(state == .stopped && deadline == nil)
        #expect(after == [])
    }

    @Test func `A refused worker says that it waits for each handler that goes on, and nothing if there is none`() {
        let error = PeerError(.forbidden, "not for this key")
        var idle = Self.welcomed()
        let refused = idle.received(Envelope(.error(error), timeline: home), now: at(0))
        #expect(refused == [.disconnect, .refused(error)])
        var machine = Self.welcomed(slots: 3)
        _ = machine.received(Self.tasks([1, 2, 3], number: 3), now: at(0))
        _ = machine.received(Self.cancel(1, number: 1), now: at(0))
        _ = machine.finished(Self.lease(2), .done([]), now: at(0))
        let notes = machine.received(Envelope(.error(error), timeline: home), now: at(0)).compactMap { action in
            if case .note(let text) = action { text } else { nil }
        }
        #expect(notes == ["the store refuses this worker: not for this key; it waits for 2 handlers told to stop, and ends"])
    }

    @Test func `A frame for others is dropped`() {
        var machine = Self.welcomed()
        let actions = machine.received(Envelope(.settled(turn: 1, dead: []), timeline: home), now: at(0))
        #expect(actions == [.note("dropped a settled, which is not for workers")])
    }

    @Test(arguments: FrameExample.all)
    func `Every frame has its answer in every state`(_ example: FrameExample) {
        let frame = Envelope(example.envelope.frame, timeline: home)
        var idle = Self.machine()
        let ignored = idle.received(frame, now: at(0))
        #expect(ignored == [])
        var working = Self.answered()
        _ = working.received(frame, now: at(0))
        var draining = Self.answered()
        _ = draining.drain(now: at(0))
        _ = draining.received(frame, now: at(0))
        var leaving = Self.answered()
        _ = leaving.drain(now: at(0))
        _ = leaving.ticked(now: at(5))
        _ = leaving.received(frame, now: at(5))
        var stopped = Self.welcomed()
        _ = stopped.drain(now: at(0))
        let late = stopped.received(frame, now: at(0))
        #expect(late == [])
    }

    // MARK: Beginnings

    /// A machine that has sent one answer.
    static func answered() -> WorkerMachine {
        var machine = welcomed()
        _ = machine.received(tasks([1], number: 1), now: at(0))
        _ = machine.finished(lease(1), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        return machine
    }

    /// Loses the connection and opens another.
    static func reconnected(_ machine: inout WorkerMachine) -> [WorkerMachine.Action] {
        _ = machine.disconnected(now: at(0))
        return machine.ticked(now: at(0))
    }
}
