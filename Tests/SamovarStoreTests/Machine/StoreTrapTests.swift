import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Items that end the store: suspected, taken alone, and given up.
@Suite struct StoreTrapTests {
    static let poison = Shop.Input.add(666)
    static let why =
        "quarantined: the store ended 3 times while it took input 2 of session \(session(1)), each time alone (a trap, signal 4)"

    static func store() throws -> TrappedStore { try TrappedStore { $0 == .input(poison) } }

    /// Two clients send, the first one poison in the middle; the store dies as often as it must.
    static func deaths(_ store: TrappedStore, by death: TrappedStore.Death = .trap, most: Int = 20) throws {
        for _ in 0..<most {
            store.rig.connectClient(1)
            store.rig.connectClient(2)
            store.rig.deliver(inputs([.add(1), poison, .add(10)]), from: client(1))
            store.rig.deliver(inputs([.add(100), .add(1_000)]), from: client(2))
            store.rig.round()
            guard store.hasTrapped else { return }
            try store.restart(death)
        }
    }

    @Test func `An input that traps is quarantined after three deaths alone, and all others are applied once`() throws {
        let store = try Self.store()
        try Self.deaths(store)
        #expect(!store.hasTrapped && store.starts == 5, "one death among others, three alone")
        #expect(try store.rig.state().total == 1_111)
        #expect(store.rig.machine.turns.counts.quarantined == 1)
        let outcomes = store.rig.take(client(1)).outcomes
        #expect(outcomes.map(\.sequence) == [1, 2, 3])
        #expect(outcomes[1].verdict == .rejected(Self.why))
        #expect(outcomes[0].verdict == .applied && outcomes[2].verdict == .applied)
    }

    @Test func `Who sends a quarantined input again hears the same, also after a restart`() throws {
        let store = try Self.store()
        try Self.deaths(store)
        _ = store.rig.take(client(1))
        store.rig.exchange(inputs([Self.poison], from: 2), from: client(1))
        let again = try store.rig.restarted()
        again.connectClient(1)
        let outcomes = again.exchange(inputs([Self.poison], from: 2), from: client(1)).outcomes
        #expect(outcomes.map(\.verdict) == [.rejected(Self.why)])
    }

    @Test func `What came after a quarantined input has its own outcome, also when it is sent again`() throws {
        let store = try Self.store()
        try Self.deaths(store)
        let outcome = try #require(store.rig.take(client(1)).outcomes.last)
        #expect(outcome.sequence == 3 && outcome.verdict == .applied)
        #expect(store.rig.exchange(inputs([.add(10)], from: 3), from: client(1)).outcomes == [outcome])
    }

    @Test func `What is given up needs not be alone, for it is not tried`() throws {
        let store = try Self.store()
        for _ in 1...4 {
            store.rig.connectClient(1)
            store.rig.exchange(inputs([.add(1), Self.poison, .add(10)]), from: client(1))
            #expect(store.hasTrapped)
            try store.restart()
        }
        for number: UInt8 in [1, 2] { store.rig.connectClient(number) }
        store.rig.commits = false
        // This one is on its way to the disk when the others come.
        store.rig.exchange(inputs([.add(100)]), from: client(2))
        store.rig.exchange(inputs([.add(1), Self.poison, .add(10)]), from: client(1))
        #expect(!store.hasTrapped && store.rig.suspects.isEmpty)
        #expect(try store.rig.state().total == 111)
    }

    @Test func `A suspect is taken when all before it is on disk, and nothing follows in its batch`() throws {
        let store = try Self.store()
        store.rig.connectClient(1)
        store.rig.exchange(inputs([.add(1), Self.poison]), from: client(1))
        #expect(store.hasTrapped)
        try store.restart(.kill)
        let rig = store.rig
        rig.commits = false
        rig.deliver(
            .hello(Hello(role: .client(session: session(1)), schema: shop)), from: client(1))
        rig.deliver(inputs([.add(1), Self.poison, .add(2)]), from: client(1))
        rig.round()
        rig.round()
        #expect(!store.hasTrapped, "the turns before it are not on disk")
        let hasWork = rig.machine.hasWork
        #expect(!hasWork, "nothing to do but to wait")
        while rig.commit(), !store.hasTrapped { rig.round() }
        #expect(store.hasTrapped && rig.durable.sessions.last(of: session(1)) == 1)
    }

    @Test func `An answer that is suspected is taken when all before it is on disk`() throws {
        let store = try TrappedStore { $0 == .answer("poison") }
        store.rig.connectClient()
        store.rig.order(job("a"), job("b"))
        let tasks = store.rig.connectWorker(slots: 2, credit: 2).tasks
        store.rig.exchange(.result([tasks[1].answered("poison")], credit: 2), from: worker(1))
        #expect(store.hasTrapped)
        try store.restart(.kill)
        let rig = store.rig
        rig.connectWorker(slots: 2, claims: tasks.map { JobClaim($0) }, credit: 2, epoch: 2)
        rig.commits = false
        rig.exchange(.result([tasks[0].answered("a"), tasks[1].answered("poison")], credit: 2), from: worker(1))
        rig.round()
        #expect(!store.hasTrapped, "the answer before it is not on disk")
        let (hasWork, wakeUp) = (rig.machine.hasWork, rig.machine.wakeUp(now: rig.now))
        #expect(!hasWork && wakeUp > rig.now, "nothing to do but to wait")
        while rig.commit(), !store.hasTrapped { rig.round() }
        #expect(store.hasTrapped)
    }

    /// A store that was killed while it took a failure, and has met that failure again while an input before it is not on disk.
    ///
    /// - Parameter others: how many jobs there are beside it, whose answers have come with the failure.
    private static func postponed(
        _ settings: StoreSettings = StoreSettings(), others: Int = 0, traps: @escaping () -> Bool = { true }
    ) throws -> TrappedStore {
        let store = try TrappedStore(settings) { $0 == .failure && traps() }
        store.rig.connectClient()
        store.rig.exchange(inputs([.order([job("a")] + (0..<others).map { job("b\($0)") })]), from: client(1))
        let tasks = store.rig.connectWorker(credit: 1 + others).tasks
        let task = try #require(tasks.first { $0.name == "a" })
        store.rig.exchange(.result([task.failed()], credit: 1), from: worker(1))
        #expect(store.hasTrapped)
        try store.restart(.kill)
        let rig = store.rig
        rig.connectClient(epoch: 2)
        rig.connectWorker(claims: tasks.map { JobClaim($0) }, epoch: 2)
        rig.commits = false
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        let answers = tasks.map { $0.name == "a" ? $0.failed() : $0.answered($0.name) }
        rig.exchange(.result(JobResults(answers), credit: 1), from: worker(1))
        #expect(!store.hasTrapped, "the input before it is not on disk")
        return store
    }

    @Test func `A failure that is suspected is taken when all before it is on disk`() throws {
        let store = try Self.postponed()
        let (hasWork, wakeUp) = (store.rig.machine.hasWork, store.rig.machine.wakeUp(now: store.rig.now))
        #expect(!hasWork && wakeUp > store.rig.now, "nothing to do but to wait")
        while store.rig.commit(), !store.hasTrapped { store.rig.round() }
        #expect(store.hasTrapped)
    }

    @Test func `A failure that waits to be taken alone waits for no further event once it can be taken`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 1
        let store = try Self.postponed(settings)
        let rig = store.rig
        rig.commit()
        // An answer for an effect that is not open gives no turn, and is all that the next round takes.
        let (closed, lease) = (EffectID(turn: 1, ordinal: 0), Lease(start: 1, counter: 9))
        let token = JobProof(home, workshopSecret).token(of: closed, under: lease)
        rig.deliver(.result([JobResult(effect: closed, lease: lease, token: token, answer: .done([]))], credit: 1), from: worker(1))
        rig.commits = true
        rig.round()
        let late = rig.machine.workers.lateResults
        #expect(store.hasTrapped && late == 1)
    }

    @Test func `A failure that waits to be taken alone has its turn, though answers go on`() throws {
        let store = try Self.postponed(others: 24)
        while store.rig.commit(), !store.hasTrapped { store.rig.round() }
        let areAnswersLeft = !store.rig.machine.workers.answers.isEmpty
        #expect(store.hasTrapped && areAnswersLeft)
    }

    @Test func `A failure that waits to be taken alone is forgotten with its effect`() throws {
        let store = try Self.postponed()
        _ = store.rig.ask("drop", effect: "2/0")
        while store.rig.commit() { store.rig.round() }
        let hasWork = store.rig.machine.hasWork
        #expect(!store.hasTrapped && !hasWork && store.rig.durable.ledger.open.isEmpty)
    }

    @Test func `A failure that waits to be taken alone is forgotten if another worker has the job by then, whose answer counts`()
        throws
    {
        let store = try Self.postponed()
        let rig = store.rig
        let open = try #require(rig.durable.ledger.open.keys.first { _ in true })
        let lease = Lease(start: 1, counter: 1)
        let token = JobProof(home, workshopSecret).token(of: open, under: lease)
        rig.connectWorker(2, claims: [JobClaim(effect: open, lease: lease, token: token)])
        while rig.commit(), !store.hasTrapped { rig.round() }
        let hasWork = rig.machine.hasWork
        #expect(!store.hasTrapped && !hasWork && rig.durable.ledger.open[open] != nil)
        rig.commits = true
        let answer = JobResult.Answer.done(MessageList([packed(Shop.Message.finished("a"))]))
        rig.exchange(.result([JobResult(effect: open, lease: lease, token: token, answer: answer)], credit: 1), from: worker(2))
        #expect(try rig.state().done == ["a"] && rig.durable.ledger.open.isEmpty)
    }

    @Test func `A failure that waits to be taken alone takes its effect out of the line that it has got into meanwhile`() throws {
        var calls = 0
        let store = try Self.postponed {
            calls += 1
            return calls == 1
        }
        let rig = store.rig
        // Another worker says that it has the job, and leaves; the first one gets nothing more.
        rig.deliver(.drain, from: worker(1))
        let open = try #require(rig.durable.ledger.open.keys.first { _ in true })
        let lease = Lease(start: 1, counter: 1)
        let claim = JobClaim(effect: open, lease: lease, token: JobProof(home, workshopSecret).token(of: open, under: lease))
        rig.connectWorker(2, claims: [claim])
        rig.exchange(.goodbye, from: worker(2))
        let waited = rig.machine.scheduler.dispatcher.waits(open) != nil
        while rig.commit() { rig.round() }
        let waits = rig.machine.scheduler.dispatcher.waits(open) != nil
        #expect(waited && !waits && calls == 2 && rig.durable.ledger.open.isEmpty)
    }

    @Test func `What is not suspected shares its batch, whatever else is`() throws {
        let store = try Self.store()
        store.rig.connectClient(1)
        store.rig.exchange(inputs([.add(1), Self.poison]), from: client(1))
        try store.restart(.kill)
        #expect(!store.rig.suspects.isEmpty)
        store.rig.connectClient(2)
        let batches = store.rig.committedBatches.count
        #expect(store.rig.exchange(inputs([.add(1), .add(2), .add(3)]), from: client(2)).outcomes.count == 3)
        #expect(store.rig.committedBatches.count == batches + 1)
    }

    @Test func `A suspect that does no harm is free again`() throws {
        let store = try Self.store()
        store.rig.connectClient(1)
        store.rig.exchange(inputs([.add(1), Self.poison]), from: client(1))
        try store.restart()
        store.rig.connectClient(1)
        // It was never answered, so the client may send something else under this number.
        let outcomes = store.rig.exchange(inputs([.add(1), .add(2), .add(3)]), from: client(1)).outcomes
        #expect(outcomes.map(\.verdict) == [.applied, .applied, .applied])
        #expect(store.rig.suspects.isEmpty)
        let note = "the store has survived what it was suspected of: it took input 2 of session \(session(1))"
        #expect(store.rig.takeNotes().count { $0 == note } == 1)
    }

    @Test func `Kills are no proof: nine in a row at the same place give nothing up, ten do`() throws {
        let store = try Self.store()
        try Self.deaths(store, by: .kill, most: 10)
        let verdict = store.rig.suspects.verdict(on: .input(session(1), sequence: 2))
        #expect(store.starts == 11 && verdict == nil)
        try Self.deaths(store, by: .kill)
        #expect(store.starts == 12)
        #expect(store.rig.suspects.isEmpty)
        guard case .rejected(let text)? = store.rig.take(client(1)).outcomes.first(where: { $0.sequence == 2 })?.verdict else {
            Issue.record("no verdict")
            return
        }
        #expect(text.hasSuffix("each time alone (killed, or out of memory)"))
    }

    @Test func `A group that breaks a limit is quarantined like a trap, with the limit in the text`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        func engine() -> any ProgramEngine {
            TypedEngine(Shop.self, secret: workshopSecret, limits: GroupLimits(turns: 5))
        }
        var rig = try Rig(engine: engine(), marker: TrapMarker(page))
        for _ in 1...4 {
            rig.connectClient(1)
            rig.exchange(inputs([.add(1), .chain(9), .add(2)]), from: client(1))
            guard rig.stop != nil else { break }
            #expect(rig.stop?.isCuredByRestart == true)
            rig = try Rig(journal: rig.committedBatches, now: rig.now + .seconds(1), engine: engine(), marker: TrapMarker(page))
        }
        rig.connectClient(1)
        let outcomes = rig.exchange(inputs([.add(1), .chain(9), .add(2)]), from: client(1)).outcomes
        guard case .rejected(let text)? = outcomes.first(where: { $0.sequence == 2 })?.verdict else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(text.hasSuffix("each time alone (more than 5 turns in one group: an endless chain of follow-ups?)"))
        #expect(try rig.state().total == 3)
    }

    @Test func `An answer that traps leaves its effect dead with the reason, and the worker is told to forget it`() throws {
        let store = try TrappedStore { $0 == .answer("poison") }
        store.rig.connectClient()
        store.rig.order(job("a"))
        let task = try #require(store.rig.connectWorker().tasks.first)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        for epoch in 2...6 {
            let frames = store.rig.exchange(.result([task.answered("poison")], credit: 2), from: worker(1))
            guard store.hasTrapped else {
                #expect(frames.contains(.acknowledge([task.lease])))
                break
            }
            try store.restart()
            store.rig.connectWorker(claims: [claim], epoch: epoch)
        }
        let dead = store.rig.durable.ledger.dead.values.map(\.failure)
        #expect(dead.count == 1 && dead.first?.reason == .unhandled && dead.first?.attempts == 1)
        #expect(dead.first?.text.contains("took the answer of effect 2/0, each time alone (a trap, signal 4)") == true, "\(dead)")
        #expect(store.rig.durable.ledger.open.isEmpty)
    }

    @Test func `A failure that traps leaves its effect dead`() throws {
        let store = try TrappedStore { $0 == .failure }
        store.rig.connectClient()
        store.rig.order(job("a"))
        for start in 1...6 {
            let tasks = store.rig.connectWorker(UInt8(start)).tasks
            store.rig.tick(.seconds(7))
            let task = try #require((tasks + store.rig.takeTasks(worker(UInt8(start)))).first)
            store.rig.exchange(.result([task.failed()], credit: 1), from: worker(UInt8(start)))
            guard store.hasTrapped else { break }
            try store.restart()
        }
        #expect(!store.hasTrapped)
        #expect(store.rig.durable.ledger.dead.values.map(\.failure.reason) == [.unhandled])
    }

    @Test func `What an operator asks for is done although the program does not survive to hear of it, which is given up`() throws {
        for verb in ["requeue", "drop", "pause"] {
            let store = try TrappedStore { $0 == .operated }
            store.rig.connectClient()
            store.rig.order(job("a", diesSilently: true))
            let task = try #require(store.rig.connectWorker().tasks.first)
            store.rig.exchange(.result([task.failed(permanent: true)], credit: 1), from: worker(1))
            let arguments: MessagePackValue = verb == "pause" ? ["queue": "mail"] : ["effect": .string("\(task.effect)")]
            var reply: AdminReply?
            for _ in 1...6 {
                store.rig.tick(.seconds(7))
                reply = store.rig.ask(verb, arguments)
                guard store.hasTrapped else { break }
                try store.restart()
            }
            #expect(!store.hasTrapped && store.starts == 4, "\(verb)")
            #expect(reply != nil && reply?.refusal == nil)
            let ledger = store.rig.durable.ledger
            #expect(ledger.open.count == (verb == "requeue" ? 1 : 0) && ledger.dead.count == (verb == "pause" ? 1 : 0))
            #expect(ledger.controls.paused == (verb == "pause" ? [.queue("mail")] : []))
        }
    }

    @Test func `That the program does not survive to hear of a requeue is not held against a drop of the same effect`() throws {
        var (isDeadly, told) = (true, 0)
        let store = try TrappedStore {
            guard $0 == .operated else { return false }
            told += 1
            return isDeadly
        }
        store.rig.connectClient()
        store.rig.order(job("a", diesSilently: true))
        let task = try #require(store.rig.connectWorker().tasks.first)
        store.rig.exchange(.result([task.failed(permanent: true)], credit: 1), from: worker(1))
        for _ in 1...3 {
            store.rig.tick(.seconds(7))
            _ = store.rig.ask("requeue", effect: "\(task.effect)")
            #expect(store.hasTrapped)
            try store.restart()
        }
        (isDeadly, told) = (false, 0)
        store.rig.tick(.seconds(7))
        let reply = store.rig.ask("drop", effect: "\(task.effect)")
        #expect(reply != nil && reply?.refusal == nil && told == 1)
        #expect(store.rig.durable.ledger.dead.isEmpty)
    }

    @Test func `Of what an operator lists, what ends the store comes alone and is given up, and the rest is done`() throws {
        var (calls, harmless) = (0, 1)
        let store = try TrappedStore {
            guard $0 == .operated else { return false }
            calls += 1
            return calls > harmless
        }
        store.rig.connectClient()
        store.rig.order(job("a", diesSilently: true), job("b", diesSilently: true))
        let tasks = store.rig.connectWorker(credit: 9).tasks
        for task in tasks { store.rig.exchange(.result([task.failed(permanent: true)], credit: 9), from: worker(1)) }
        #expect(store.rig.durable.ledger.dead.count == 2)
        for _ in 1...8 {
            store.rig.tick(.seconds(7))
            // The notice of the second one is the poison.
            (calls, harmless) = (0, store.rig.durable.ledger.dead.count - 1)
            _ = store.rig.ask("requeue", ["all": true])
            if store.hasTrapped { try store.restart() } else if store.rig.durable.ledger.dead.isEmpty { break }
        }
        #expect(!store.hasTrapped && store.starts == 5)
        #expect(store.rig.durable.ledger.open.count == 2 && store.rig.durable.ledger.dead.isEmpty)
    }

    @Test func `A timer that traps is skipped once by a record, and the store goes on`() throws {
        var isPoison = true
        let store = try TrappedStore { isPoison && $0 == .firing }
        store.rig.connectClient()
        store.rig.exchange(inputs([.watch([StoreTimerTests.every(3)])]), from: client(1))
        for _ in 1...6 {
            store.rig.tick(.seconds(3))
            // The commit of what was before the suspect wakes the loop again.
            store.rig.round()
            guard store.hasTrapped else { break }
            try store.restart()
        }
        #expect(!store.hasTrapped && store.starts <= 5)
        let notes = store.rig.takeNotes()
        #expect(notes.contains { $0.contains("while it fired subscription 2/1048576, each time alone") }, "\(notes)")
        isPoison = false
        let before = try store.rig.state().ticks.count
        #expect(before == 0)
        store.rig.tick(.seconds(4))
        #expect(try store.rig.state().ticks.count == 1)
        // A replay comes to the same.
        let again = try store.rig.restarted()
        #expect(try again.state().ticks.count == 1)
    }

    @Test func `A view that traps is not made any more after three deaths, and turns go on`() throws {
        let store = try TrappedStore { $0 == .view }
        for _ in 1...5 {
            // What the host does: the view comes before the commit.
            store.rig.machine.publishView(now: store.rig.now)
            guard store.hasTrapped else { break }
            try store.restart()
        }
        #expect(!store.hasTrapped && store.starts == 4)
        let rig = store.rig
        rig.connectClient()
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)).outcomes.map(\.verdict) == [.applied])
        let isDue = rig.machine.viewIsDue(now: rig.now + .seconds(9))
        #expect(!isDue)
        let note = "no views are made any more: the store ended 3 times while it made a view"
        #expect(rig.takeNotes().contains { $0.hasPrefix(note) })
        guard case .waiting(_, let text)? = rig.exchange(.viewRequest(instance: .main, atLeast: 0), from: client(1)).last else {
            Issue.record("who asks for a view is told that there is none")
            return
        }
        #expect(text.hasPrefix("there is no view: "))
        let told = rig.machine.status(now: rig.now)["views"]
        #expect(told != "on")
        rig.tick(.milliseconds(100))
        #expect(rig.takePublished().contains { if case .tick(_, _, _, idle: true) = $0 { true } else { false } })
    }

    @Test func `A view that cannot be encoded turns views off at once`() throws {
        let store = try TrappedStore { $0 == .view }
        store.rig.round()
        let viewsOff = store.rig.machine.readers.views.off
        #expect(store.rig.stop == nil && viewsOff != nil)
    }

    @Test func `A store without views sleeps until its tick`() throws {
        let store = try TrappedStore { $0 == .view }
        for _ in 0..<3 { store.rig.tick(.milliseconds(100)) }
        #expect(store.rig.machine.wakeUp(now: store.rig.now) == at(1.1))
    }

    @Test func `A view that could not be encoded leaves nothing in the marker`() throws {
        let page = Self.page(.view, signal: nil)
        defer { page.deallocate() }
        let rig = try Rig(engine: TrapEngine { $0 == .view }, marker: TrapMarker(page))
        rig.round()
        let viewsOff = rig.machine.readers.views.off
        #expect(viewsOff != nil)
        #expect(TrapMarker(page).take(timeline: home, build: KeyedHash.of(Array("test".utf8))).death == nil)
    }

    // MARK: Start and replay

    @Test func `A turn that traps in replay is refused by the next start, which names it`() throws {
        var isChanged = false
        let store = try TrappedStore { isChanged && $0 == .replay(3) }
        store.rig.connectClient()
        store.rig.exchange(inputs([.add(1), .add(2)]), from: client(1))
        isChanged = true
        // The trap ends this process …
        #expect(throws: ReplayError.self) { try store.restart(.kill) }
    }

    @Test func `A death in replay counts against the turn only with proof, and only once`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .add(2)]), from: client(1))
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        func die(_ signal: Int32?) {
            let marker = TrapMarker(page)
            _ = marker.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
            marker.begin(.replay(turn: 2), isAlone: true, after: 0)
            if let signal { TrapMarker.note(signal: signal, in: page) }
        }
        for _ in 1...20 {
            die(nil)
            _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page))
        }
        die(5)
        let refusal = #expect(throws: TrapError.self) {
            _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page))
        }
        #expect(refusal?.turn == 2)
        let text = "turn 2: the program ended the store when it replayed this turn (a trap, signal 5)"
        #expect(refusal?.description.hasPrefix(text) == true)
        // Who starts it again by hand may have mended it.
        _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page))
        // Another build is another matter.
        die(5)
        _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page), build: "mended")
    }

    @Test func `A replay leaves in the marker which turn it takes`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .add(2)]), from: client(1))
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        #expect(throws: ReplayError.self) {
            _ = try Rig(journal: rig.committedBatches, engine: TrapEngine { $0 == .replay(2) }, marker: TrapMarker(page))
        }
        TrapMarker.note(signal: 5, in: page)
        let refusal = #expect(throws: TrapError.self) {
            _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page))
        }
        #expect(refusal?.turn == 2)
    }

    // MARK: Recovery

    /// A page that a process has left which ended in this call.
    private static func page(_ call: ProgramCall, signal: Int32? = 4) -> UnsafeMutableRawPointer {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let marker = TrapMarker(page)
        _ = marker.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
        marker.begin(call, isAlone: true, after: 0)
        if let signal { TrapMarker.note(signal: signal, in: page) }
        return page
    }

    @Test func `A snapshot that ended the store when it was read is not read again, and a journal is`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(3)]), from: client(1))
        let bytes = try rig.machine.snapshot()
        for (call, isRefused) in [(ProgramCall.restore, true), (.view, false)] {
            let page = Self.page(call)
            defer { page.deallocate() }
            let marker = TrapMarker(page)
            var refusal: TrapError?
            do {
                _ = try Rig(journal: rig.committedBatches, snapshot: bytes, marker: marker)
            } catch let error as TrapError {
                refusal = error
            }
            #expect(refusal == (isRefused ? TrapError(turn: 0, "its state ended the store when it was read") : nil))
            guard isRefused else { continue }
            #expect(try Rig(journal: rig.committedBatches, marker: TrapMarker(page)).state().total == 3)
        }
    }

    @Test func `A snapshot and a batch that were read leave nothing in the marker`() throws {
        let rig = try Rig()
        rig.round()
        let snapshot = try rig.machine.snapshot()
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let batch = try #require(rig.committedBatches.last)
        let page = Self.page(.view, signal: nil)
        defer { page.deallocate() }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { copy.deallocate() }
        func expectNothing() {
            copy.copyMemory(from: page, byteCount: TrapMarker.byteCount)
            #expect(TrapMarker(copy).take(timeline: home, build: KeyedHash.of(Array("test".utf8))).death == nil)
        }
        var machine = Rig.machine(marker: TrapMarker(page))
        try machine.restore(snapshot: snapshot)
        expectNothing()
        try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
        expectNothing()
    }

    @Test func `A snapshot that traps when it is read is not read by the next start`() throws {
        let rig = try Rig()
        rig.round()
        let bytes = try rig.machine.snapshot()
        let page = Self.page(.view, signal: nil)
        defer { page.deallocate() }
        let engine = TrapEngine { $0 == .restore }
        let marker = TrapMarker(page)
        engine.marker = marker
        #expect(throws: GroupLimit.self) { _ = try Rig(snapshot: bytes, engine: engine, marker: marker) }
        let trapped = try #require(engine.page)
        page.copyMemory(from: trapped, byteCount: trapped.count)
        TrapMarker.note(signal: 4, in: page)
        #expect(throws: TrapError(turn: 0, "its state ended the store when it was read")) {
            _ = try Rig(snapshot: bytes, marker: TrapMarker(page))
        }
    }

    @Test func `A program that ended the store when asked for its subscriptions is refused, with proof`() throws {
        let rig = try Rig()
        rig.round()
        for signal: Int32? in [4, nil] {
            let page = Self.page(.subscriptions, signal: signal)
            defer { page.deallocate() }
            var refusal: TrapError?
            do {
                _ = try Rig(journal: rig.committedBatches, marker: TrapMarker(page))
            } catch let error as TrapError {
                refusal = error
            }
            let text = "the program ended the store when asked for its subscriptions (a trap, signal 4)"
            #expect(refusal == (signal == nil ? nil : TrapError(turn: 1, text)))
        }
    }

    @Test func `Between its calls into the program a store has nothing in the marker`() throws {
        let page = Self.page(.view, signal: nil)
        let copy = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer {
            page.deallocate()
            copy.deallocate()
        }
        let rig = try Rig(marker: TrapMarker(page))
        func expectNothing(_ what: String) {
            copy.copyMemory(from: page, byteCount: TrapMarker.byteCount)
            #expect(TrapMarker(copy).take(timeline: home, build: KeyedHash.of(Array("test".utf8))).death == nil, "\(what)")
        }
        expectNothing("the start")
        rig.connectClient()
        rig.connectWorker(slots: 9, credit: 99)
        expectNothing("a view")
        // A view would end what went before it.
        rig.machine.turnViewsOff("why")
        var sequence = 0
        func send(_ input: Shop.Input) {
            sequence += 1
            rig.exchange(inputs([input], from: sequence), from: client(1))
            expectNothing("\(input)")
        }
        send(.add(1))
        send(.forbidden)
        send(.order([job("a"), job("b"), job("c", diesSilently: true), job("d"), job("e"), job("f")]))
        let tasks = rig.takeTasks(worker(1))
        let message = packed(Shop.Message.finished("x"))
        let answers = [
            tasks[0].answered("a"), tasks[1].result(.done([[0xc1]])), tasks[2].failed(), tasks[3].failed(),
            tasks[4].result(.streamed(index: 1, message: message, checkpoint: nil)), tasks[4].answered("x", "y"),
            tasks[5].result(.streamed(index: 1, message: [0xc1], checkpoint: nil)),
        ]
        for answer in answers {
            rig.exchange(.result([answer], credit: 99), from: worker(1))
            expectNothing("\(answer.answer)")
        }
        send(.watch([StoreTimerTests.every(1)]))
        rig.tick(.seconds(1))
        expectNothing("a timer")
        #expect(rig.ask("inspect")?.value["turn"] != nil)
        expectNothing("the state")
        rig.machine.saveSnapshot()
        expectNothing("a snapshot")
        let later = try Rig(journal: rig.committedBatches, now: rig.now, marker: TrapMarker(page))
        later.machine.turnViewsOff("why")
        expectNothing("a restart")
    }

    @Test func `A view and a state that can be encoded now acquit nobody of a proven death`() throws {
        for call in [ProgramCall.state, .view] {
            let page = Self.page(call)
            defer { page.deallocate() }
            let rig = try Rig(marker: TrapMarker(page))
            rig.round()
            #expect(rig.takeNotes().count { $0.hasPrefix("the store ended while it ") } == 1)
            #expect(rig.ask("inspect")?.refusal == nil)
            rig.tick(.seconds(1))
            #expect(rig.suspects.list.map(\.call) == [call] && rig.suspects.list.map(\.deaths) == [1])
            #expect(rig.takeNotes() == [])
        }
    }

    @Test func `A state that ended the store again and again is neither shown nor saved, and a stop in order forgets that`() throws
    {
        var settings = StoreSettings()
        settings.trapDeaths = 1
        settings.snapshotBytes = 0
        let page = Self.page(.state)
        defer { page.deallocate() }
        let rig = try Rig(settings, marker: TrapMarker(page))
        rig.connectClient()
        #expect(rig.snapshotRequests.isEmpty && rig.takeNotes().contains { $0.hasPrefix("no snapshot is taken: ") })
        #expect(rig.ask("inspect")?.refusal?.hasPrefix("the state cannot be encoded: ") == true)
        #expect(rig.ask("status")?.value["snapshots"] != "on")
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(rig.snapshots.count == 1, "the operator may have mended it")
    }

    @Test func `Of a state that ended the store again and again no digest is written, and turns go on`() throws {
        var settings = StoreSettings()
        settings.trapDeaths = 1
        let page = Self.page(.state)
        defer { page.deallocate() }
        let rig = try Rig(settings, marker: TrapMarker(page), isFenced: true)
        rig.connectClient()
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)).outcomes.map(\.verdict) == [.applied])
        rig.tick(.seconds(1))
        #expect(rig.machine.digests.written == nil)
    }

    @Test func `Views that ended the store again and again stay off over restarts, until it is stopped in order`() throws {
        var settings = StoreSettings()
        settings.trapDeaths = 1
        let page = Self.page(.view)
        defer { page.deallocate() }
        var rig = try Rig(settings, marker: TrapMarker(page))
        func restart() throws {
            rig = try Rig(settings, journal: rig.committedBatches, now: rig.now + .seconds(1), marker: TrapMarker(page))
            rig.round()
        }
        func showsViews() -> Bool { rig.takePublished().contains { $0.kind == .view } }
        rig.round()
        #expect(!showsViews())
        try restart()
        #expect(!showsViews() && rig.machine.readers.views.off != nil)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(rig.stop == .drained && !showsViews())
        try restart()
        #expect(showsViews() && rig.machine.readers.views.off == nil, "the operator may have mended it")
    }

    @Test(arguments: [false, true])
    func `A stop in order turns views on again, also while the journal is held up`(isAway: Bool) throws {
        var settings = StoreSettings()
        settings.trapDeaths = 1
        let page = Self.page(.view)
        defer { page.deallocate() }
        let rig = try Rig(settings, marker: TrapMarker(page))
        rig.round()
        #expect(rig.machine.readers.views.off != nil)
        rig.machine.journalIsFull(true, isAway: isAway, now: rig.now)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.tick(.seconds(1))
        #expect(rig.stop == .drained)
        let later = try Rig(settings, journal: rig.committedBatches, now: rig.now + .seconds(1), marker: TrapMarker(page))
        later.round()
        #expect(later.machine.readers.views.off == nil && later.takePublished().contains { $0.kind == .view })
    }

    @Test func `A snapshot that ended the store when it was read is read again after a stop in order, and not before`() throws {
        let former = try Rig()
        former.connectClient()
        former.exchange(inputs([.add(3)]), from: client(1))
        let bytes = try former.machine.snapshot()
        let page = Self.page(.restore)
        defer { page.deallocate() }
        func expectRefusal(_ journal: [StoredBatch]) {
            #expect(throws: TrapError(turn: 0, "its state ended the store when it was read")) {
                _ = try Rig(journal: journal, snapshot: bytes, marker: TrapMarker(page))
            }
        }
        expectRefusal(former.committedBatches)
        let rig = try Rig(journal: former.committedBatches, marker: TrapMarker(page))
        rig.round()
        expectRefusal(rig.committedBatches)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        let later = try Rig(journal: rig.committedBatches, snapshot: bytes, marker: TrapMarker(page))
        #expect(try later.state().total == 3)
    }

    @Test func `A view and a state that return are cleared of kills, also for the next start`() throws {
        for call in [ProgramCall.view, .state] {
            let page = Self.page(call, signal: nil)
            defer { page.deallocate() }
            var rig = try Rig(marker: TrapMarker(page))
            func restart() throws {
                rig = try Rig(journal: rig.committedBatches, now: rig.now + .seconds(1), marker: TrapMarker(page))
            }
            func die() throws {
                TrapMarker(page).begin(call, isAlone: true, after: 0)
                try restart()
            }
            for _ in 2...9 { try die() }
            #expect(rig.suspects.list.map(\.kills) == [9] && rig.suspects.verdict(on: call) == nil)
            rig.round()
            #expect(rig.takePublished().contains { $0.kind == .view } && rig.ask("inspect")?.refusal == nil)
            #expect(rig.suspects.list.map(\.call) == [call] && rig.suspects.list.map(\.kills) == [0])
            try restart()
            #expect(rig.suspects.list.map(\.kills) == [0])
            for _ in 1...9 { try die() }
            #expect(rig.suspects.verdict(on: call) == nil)
            try die()
            #expect(rig.suspects.verdict(on: call)?.hasSuffix("each time alone (killed, or out of memory)") == true)
        }
    }

    /// A snapshot is made when the batch before it is on its way to the disk, so that its call is never the only thing that is lost.
    @Test func `A state that traps at a snapshot is not encoded any more after three deaths, and turns go on`() throws {
        var settings = StoreSettings()
        settings.snapshotBytes = 0
        let store = try TrappedStore(settings) { $0 == .state }
        var sequence = 0
        repeat {
            if store.hasTrapped { try store.restart() }
            sequence += 1
            store.rig.connectClient(epoch: sequence)
            store.rig.machine.snapshotSaved(bytes: 1)
            store.rig.exchange(inputs([.add(1)], from: sequence), from: client(1))
        } while store.hasTrapped && sequence < 9
        #expect(store.starts == 4)
        #expect(try unpacked(Shop.State.self, store.rig.durable.engine.state()).total == 4)
        let text = "the store ended 3 times while it encoded the state, each time alone (a trap, signal 4)"
        let notes = store.rig.takeNotes()
        #expect(notes.contains("no snapshot is taken: \(text)"), "\(notes)")
        #expect(store.rig.ask("inspect")?.refusal == "the state cannot be encoded: \(text)")
    }

    @Test func `A start that ends the store three times is refused once, without a call, and then it is tried again`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        var calls = 0
        func engine(traps: Bool) -> TrapEngine {
            TrapEngine { call in
                if call == .start { calls += 1 }
                return traps && call == .start
            }
        }
        func start(traps: Bool) throws -> Rig { try Rig(engine: engine(traps: traps), marker: TrapMarker(page)) }
        func die() throws {
            let (engine, marker) = (engine(traps: true), TrapMarker(page))
            engine.marker = marker
            #expect(throws: GroupLimit.self) { _ = try Rig(engine: engine, marker: marker) }
            // The process ends within the call.
            let bytes = try #require(engine.page)
            page.copyMemory(from: bytes, byteCount: bytes.count)
            TrapMarker.note(signal: 4, in: page)
        }
        let text = "the store ended 3 times while it began the program, each time alone (a trap, signal 4)"
        for round in 1...2 {
            for _ in 1...3 { try die() }
            #expect(throws: TrapError(turn: 1, text)) { _ = try start(traps: false) }
            #expect(calls == 3 * round)
        }
        for _ in 1...2 { try die() }
        let rig = try start(traps: false)
        #expect(rig.suspects.isEmpty, "who has begun is suspected no more")
        rig.round()
        #expect(rig.durable.starts == 1)
    }

    @Test func `A program that traps when asked for its subscriptions is refused by the next start`() throws {
        let store = try TrappedStore { $0 == .subscriptions }
        store.rig.round()
        #expect(!store.hasTrapped, "a new timeline has none to ask for anew")
        try store.restart(.kill)
        #expect(store.hasTrapped)
        store.rig.round()
        let text = "the program ended the store when asked for its subscriptions (a trap, signal 4)"
        #expect(throws: TrapError(turn: 2, text)) { try store.restart() }
    }

    @Test func `A start that traps three times is refused`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        for number in 1...3 {
            let marker = TrapMarker(page)
            // A timeline that was never begun has another name each time.
            _ = marker.take(timeline: Timeline(high: 9, low: UInt64(number)), build: KeyedHash.of(Array("test".utf8)))
            let suspects = Suspects(
                TrapMarker(page).take(timeline: Timeline(high: 9, low: UInt64(number)), build: 0), settings: StoreSettings())
            #expect(suspects.isEmpty, "another build")
            _ = suspects
        }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        for number in 1...4 {
            let marker = TrapMarker(page)
            let timeline = Timeline(high: 9, low: UInt64(number))
            let suspects = Suspects(marker.take(timeline: timeline, build: 1), settings: StoreSettings())
            marker.write(suspects.list)
            #expect((suspects.verdict(on: .start) != nil) == (number == 4))
            marker.begin(.start, isAlone: true, after: 0)
            TrapMarker.note(signal: 4, in: page)
        }
    }

    // MARK: The page

    @Test func `A seed that is refused is no death, however often`() throws {
        let page = Self.page(.view, signal: nil)
        defer { page.deallocate() }
        for _ in 1...12 {
            var machine = Rig.machine(marker: TrapMarker(page))
            let error = #expect(throws: (any Error).self) { try machine.start(seed: [0xc1], now: at(0)) }
            #expect(error is SeedError, "\(String(describing: error))")
        }
    }

    @Test func `Another build begins without suspicion`() throws {
        let store = try Self.store()
        store.rig.connectClient(1)
        store.rig.exchange(inputs([.add(1), Self.poison]), from: client(1))
        try store.restart(build: "mended")
        #expect(store.rig.suspects.isEmpty)
    }

    @Test func `Whatever is in the page, a store starts or names a turn`() throws {
        let journal = try Rig().afterTurns(3)
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        var random = Random(seed: 5)
        for round in 0..<300 {
            let words = page.assumingMemoryBound(to: UInt64.self)
            for index in 0..<TrapMarker.byteCount / 8 {
                words[index] = round % 2 == 0 ? random.next() : random.next() % 9
            }
            // What makes it worth reading.
            words[0] = 0x5341_4d56_4d4b_5231
            (words[1], words[2], words[3]) = (home.high, home.low, KeyedHash.of(Array("test".utf8)))
            do {
                let rig = try Rig(journal: journal, marker: TrapMarker(page))
                rig.connectClient()
                #expect(rig.exchange(inputs([.add(1)], from: 4), from: client(1)).outcomes.map(\.sequence) == [4])
            } catch let refusal as TrapError {
                #expect((1...journal.count).contains(refusal.turn))
            }
        }
    }

    @Test func `No more suspects are kept than there is room for, those with the most against them`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        var settings = StoreSettings()
        settings.trapSuspects = 4
        for number in 0..<40 {
            let marker = TrapMarker(page)
            let suspects = Suspects(marker.take(timeline: home, build: 1), settings: settings)
            marker.write(suspects.list)
            #expect(suspects.list.count <= 4)
            marker.begin(.input(session(1), sequence: number), isAlone: number == 0, after: 0)
            TrapMarker.note(signal: 4, in: page)
        }
        let last = Suspects(TrapMarker(page).take(timeline: home, build: 1), settings: settings)
        #expect(last.contains(.input(session(1), sequence: 0)) && last.contains(.input(session(1), sequence: 39)))
    }
}

extension [Frame] {
    /// The outcomes of all receipts, in order.
    var outcomes: [Outcome] {
        flatMap { frame -> [Outcome] in
            if case .receipt(let outcomes, _) = frame { outcomes } else { [] }
        }
    }
}

extension Rig {
    /// The journal after so many inputs of client 1.
    fileprivate func afterTurns(_ number: Int) -> [StoredBatch] {
        connectClient()
        for sequence in 1...number { exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        return committedBatches
    }

    @Test func `A firing that traps is passed over after three deaths alone, and the timer goes on`() throws {
        var isHarmful = true
        let store = try TrappedStore { isHarmful && $0 == .firing }
        store.rig.connectClient(1)
        store.rig.exchange(inputs([.watch([Shop.Watch(id: "tick", seconds: 2)])]), from: client(1))
        store.rig.tick(.seconds(2))
        for _ in 0..<20 {
            guard store.hasTrapped else { break }
            try store.restart()
            store.rig.round()
        }
        #expect(!store.hasTrapped && store.starts <= 5)
        #expect(try store.rig.state().ticks == [])
        isHarmful = false
        store.rig.tick(.seconds(2))
        #expect(try store.rig.state().ticks == ["tick"])
    }
}
