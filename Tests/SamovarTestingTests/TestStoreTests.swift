import SamovarCore
import SamovarTesting
import Testing

/// What passes: each of these tests would fail by itself, because its store reports to Swift Testing.
@Suite struct TestStoreTests {
    @Test func `An input is applied at once, and its change of the state is expected in place`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.add("a")) { $0.sites = [Kiosk.Site(name: "a")] }
        store.send(.add("b")) { $0.sites.append(Kiosk.Site(name: "b")) }
        store.expectState { $0.sites[1].name = "b" }
        store.expectView(Kiosk.ViewState(sites: 2, ticks: 0))
        store.finish()
    }

    /// Writes a field that its type does not have, as a former version might have.
    enum Annotated: OpenProgram {
        struct State: Portable {
            var count = 0
            enum CodingKeys: CodingKey { case count }
            enum Written: CodingKey { case count, note }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Written.self)
                try container.encode(count, forKey: .count)
                try container.encode("a note", forKey: .note)
            }
        }
        enum Message: Portable { case count }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Annotated> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Annotated> {
            state.count += 1
            return .none
        }
    }

    @Test func `What is recorded may have fields that its type does not have, as in a store`() throws {
        let store = try TestStore(Annotated.self)
        store.send(.count) { $0.count = 1 }
        store.restart()
        store.expectState(Annotated.State(count: 1))
        store.finish()
    }

    @Test func `A refusal is expected with its value`() throws {
        let store = try TestStore(Kiosk.self)
        store.expectRefusal(of: .forbidden(0), .busy)
        store.expectRefusal(of: .forbidden(7), .tooMany(limit: 7))
    }

    @Test func `Effects stay open until the test ends their jobs`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.add("a")) { $0.sites = [Kiosk.Site(name: "a")] }
        store.send(.probe("a"))
        store.send(.probe("b"))
        store.expectEffects([.probe(name: "a"), .probe(name: "b")])
        store.complete(.probe(name: "b"))
        #expect(store.openEffects == [.probe(name: "a")])
        store.complete(.probe(name: "a"), with: .probed("a", up: false), .probed("a", up: true)) { $0.sites[0].up = true }
        store.expectEffects([])
    }

    @Test func `A worker that takes nothing more still answers what it has after a restart`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.add("a")) { $0.sites = [Kiosk.Site(name: "a")] }
        store.send(.probe("a"))
        store.workersLeave()
        store.restart()
        store.complete(.probe(name: "a"), with: .probed("a", up: true)) { $0.sites[0].up = true }
        store.expectEffects([])
    }

    @Test func `An effect that was requeued and died again is left, though its first death was expected`() throws {
        let reports = Reports()
        let store = try TestStore(Kiosk.self, reporter: reports.reporter)
        store.send(.probe("silent"))
        store.fail(.probe(name: "silent"))
        store.expectDeadEffects([.probe(name: "silent")])
        store.requeue(.probe(name: "silent"))
        store.fail(.probe(name: "silent"))
        store.finish()
        let texts = reports.takeAll()
        #expect(texts.count == 1 && texts.first?.contains("1 dead effect") == true, "\(texts)")
    }

    @Test func `An effect that failed for good is told to the program, or stays dead`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.probe("a"))
        store.fail(.probe(name: "a"), .unhandled, "no such site") {
            $0.tags = ["could not be handled after 1 attempt: no such site"]
        }
        store.send(.probe("silent"))
        store.fail(.probe(name: "silent"))
        store.expectDeadEffects([.probe(name: "silent")])
    }

    @Test func `A failed attempt is tried again after its pause, as often as the program says`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.probe("a"))
        store.failAttempt(.probe(name: "a"), "no route")
        store.expectEffects([.probe(name: "a")])
        store.advance(by: .seconds(1))
        store.failAttempt(.probe(name: "a"), "still none") { $0.tags = ["failed after 2 attempts: still none"] }
    }

    @Test func `Delays, labels and timeouts are those of the store`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.probe("a", delay: 5))
        store.send(.probe("a"))
        store.advance(by: .seconds(5))
        store.complete(.probe(name: "a"))
        store.complete(.probe(name: "a"))
        store.send(.probe("b"))
        store.advance(by: .seconds(10))
        store.advance(by: .seconds(1))
        store.advance(by: .seconds(10)) { $0.tags = ["timed out after 2 attempts: no answer within its timeout"] }
    }

    @Test func `Timers fire at their times while the clock is moved`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.watch(true)) { $0.isWatching = true }
        store.advance(by: .seconds(59))
        store.advance(by: .seconds(1)) { $0.ticks = 1 }
        store.advance(by: .seconds(3_600)) { $0.ticks = 61 }
        // In any order.
        store.expectSubscriptions([
            .source(.listen, id: "source"), .every(.seconds(60), id: "tick", send: .ticked),
            .on(.resumed, id: "resumed", send: .resumed),
        ])
        store.send(.watch(false)) { $0.isWatching = false }
        store.advance(by: .seconds(3_600))
        store.expectSubscriptions([])
        #expect(store.now == Timestamp(microseconds: 1_000_007_260_000_000))
    }

    @Test func `A source is a job as any other, and no open effect`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.watch(true)) { $0.isWatching = true }
        store.expectEffects([])
        store.complete(.listen, with: .ticked) { $0.ticks = 1 }
    }

    @Test func `Without workers effects wait until one returns`() throws {
        let store = try TestStore(Kiosk.self)
        store.workersLeave()
        store.send(.probe("a"))
        store.expectEffects([.probe(name: "a")])
        store.workersReturn()
        store.complete(.probe(name: "a"))
    }

    @Test func `After a restart the state is back, open effects are still with their worker, and the program hears of it`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.watch(true)) { $0.isWatching = true }
        store.send(.add("a")) { $0.sites = [Kiosk.Site(name: "a")] }
        store.send(.call("before"))
        store.advance(by: .seconds(30))
        store.send(.probe("a"))
        store.restart { $0.best = ["resumed": 1] }
        store.complete(.probe(name: "a"), with: .probed("a", up: true)) { $0.sites[0].up = true }
        store.advance(by: .seconds(30)) { $0.ticks = 1 }
        store.send(.chain(2)) { $0.ticks = 3 }
        store.restart { $0.best = ["resumed": 2] }
        store.expectOutputs([.called("before")])
    }

    @Test func `Outputs are expected once, in order`() throws {
        let store = try TestStore(Kiosk.self)
        store.send(.call("a"))
        store.send(.call("b"))
        store.expectOutputs([.called("a"), .called("b")])
        store.expectOutputs([])
    }

    /// Emits a text of so many characters.
    enum Speaker: OpenProgram {
        struct State: Portable {}
        enum Message: Portable { case say(Int) }
        typealias Output = String

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Speaker> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Speaker> {
            guard case .say(let length) = message else { return .none }
            return .emit(String(repeating: "x", count: length))
        }
    }

    @Test func `Outputs that the store has forgotten are reported once, and it goes on with those after them`() throws {
        let reports = Reports()
        let store = try TestStore(Speaker.self, reporter: reports.reporter)
        for _ in 0..<17 { store.send(.say(1 << 20)) }
        store.expectOutputs([])
        #expect(
            reports.takeAll() == [
                "expectOutputs: outputs since the last expectOutputs are forgotten: the store keeps 65536 of them and 16777216 bytes; "
                    + "call expectOutputs before there are more"
            ])
        store.send(.say(1))
        store.expectOutputs(["x"])
        for _ in 0..<17 { store.send(.say(1 << 20)) }
        store.finish()
        let told = reports.takeAll()
        #expect(told.count == 1 && told.first?.hasPrefix("finish(): outputs since") == true, "\(told)")
    }

    @Test func `What no client and no worker sends, because it is too large, is reported`() throws {
        let reports = Reports()
        let store = try TestStore(Kiosk.self, exhaustive: false, reporter: reports.reporter)
        func told() -> [String] { reports.takeAll().compactMap { $0.split(separator: "): ").last.map(String.init) } }
        let large = String(repeating: "x", count: 2 << 20)
        store.send(.call(large))
        store.expectOutputs([])
        let sent = told()
        #expect(sent.count == 1 && sent.first?.hasPrefix("an input of 20971") == true, "\(sent)")
        store.send(.probe("a"))
        let head = store.head
        store.stream(.lost(large), from: .probe(name: "a"))
        store.stream(.ticked, from: .probe(name: "a"), checkpoint: String(repeating: "x", count: 100 << 10))
        let streamed = told()
        #expect(streamed.count == 2 && streamed.first?.hasPrefix("a streamed message of 20971") == true, "\(streamed)")
        #expect(streamed.last?.hasPrefix("a checkpoint of 1024") == true, "\(streamed)")
        #expect(store.head == head)
        store.complete(.probe(name: "a"), with: .lost(large), .lost(large), .lost(large))
        let answered = told()
        #expect(answered.count == 1 && answered.first?.hasPrefix("an answer of 6291") == true, "\(answered)")
        #expect(store.state.tags.first?.hasPrefix("could not be handled after 1 attempt: an answer of 6291") == true)
    }

    /// Each of its effects has a queue and a need of its own.
    enum Guilds: OpenProgram {
        struct State: Portable {}
        enum Message: Portable {
            case order(Int)
            case orders(from: Int, to: Int, hasNeeds: Bool)
        }
        enum Effect: Portable { case work(Int) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Guilds> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Guilds> {
            switch message {
            case .order(let number): work(number, hasNeeds: true)
            case .orders(let first, let end, let hasNeeds): .batch((first..<end).map { work($0, hasNeeds: hasNeeds) })
            }
        }

        private static func work(_ number: Int, hasNeeds: Bool) -> Command<Guilds> {
            .run(.work(number), RunOptions(queue: Queue("guild\(number)"), needs: hasNeeds ? ["craft\(number)"] : []))
        }

        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    @Test func `The worker serves any number of queues and needs, one after the other`() throws {
        let store = try TestStore(Guilds.self)
        for number in 0..<1_100 {
            store.send(.order(number))
            store.complete(.work(number))
        }
        store.finish()
    }

    @Test(arguments: [(true, 64, "66 capabilities; 64 at most"), (false, 1_024, "1026 queues; 1024 at most")])
    func `That open effects want more than one worker can offer is reported, and over when they want less`(
        hasNeeds: Bool, limit: Int, objection: String
    ) throws {
        let reports = Reports()
        let store = try TestStore(Guilds.self, exhaustive: false, reporter: reports.reporter)
        let text = "one worker cannot offer all that is wanted, so nothing new: \(objection); use workersServe(_:can:) with less"
        store.send(.orders(from: 0, to: limit, hasNeeds: hasNeeds))
        #expect(reports.takeAll() == [])
        store.send(.orders(from: limit, to: limit + 2, hasNeeds: hasNeeds))
        let call = "send(.orders(from: \(limit), to: \(limit + 2), hasNeeds: \(hasNeeds)))"
        #expect(reports.takeAll() == ["\(call): \(text)"])
        store.complete(.work(limit))
        #expect(reports.takeAll() == ["complete(.work(\(limit))): no worker has it yet: \(text)"])
        store.complete(.work(0))
        store.complete(.work(1))
        store.complete(.work(limit))
        #expect(reports.takeAll() == [])
    }

    @Test func `A gate's rejection is expected with its text, and observers see what is applied`() throws {
        let reports = Reports()
        let store = try TestStore(
            Kiosk.self, gates: [.rateLimit(1, per: .seconds(1))],
            observers: [
                TurnObserver { _, state, turn in
                    "\(turn.number): \(state.ticks)"
                } deliver: {
                    reports.note($0)
                }
            ])
        store.send(.chain(2)) { $0.ticks = 2 }
        store.expectRejection(of: .chain(1), "rate limit: more than 1 inputs in 1.0 seconds")
        store.advance(by: .seconds(1))
        store.send(.chain(1)) { $0.ticks = 3 }
        #expect(reports.takeAll() == ["3: 1", "4: 2", "6: 3"])
    }

    // MARK: Not exhaustive

    @Test func `A store that is not exhaustive compares what a closure changes, and minds no leftovers`() throws {
        let store = try TestStore(Kiosk.self, exhaustive: false)
        store.send(.chain(3))
        store.send(.add("a")) { $0.sites = [Kiosk.Site(name: "a")] }
        store.send(.chain(1)) { $0.ticks += 1 }
        store.send(.probe("a"))
        store.send(.call("a"))
        store.finish()
    }

    @Test func `The clock never goes back, and that it was asked to is reported`() throws {
        let reports = Reports()
        let store = try TestStore(Kiosk.self, exhaustive: false, reporter: reports.reporter)
        let now = store.now
        store.advance(by: .seconds(-5))
        #expect(store.now == now)
        #expect(reports.takeAll() == ["advance(by: \(Duration.seconds(-5))): the clock of a store never goes back"])
        store.advance(by: .zero)
        #expect(store.now == now && reports.takeAll().isEmpty)
    }

    @Test func `The default reporter records an issue at the line of the call`() throws {
        let line = #line + 3
        try withKnownIssue {
            let store = try TestStore(Kiosk.self)
            store.send(.chain(1))
            store.finish()
        } matching: { issue in
            issue.comments.map(\.rawValue) == ["send(.chain(1)): the state is not as expected\n  state.ticks: expected 0, is 1"]
                && issue.sourceLocation?.line == line
        }
    }
}
