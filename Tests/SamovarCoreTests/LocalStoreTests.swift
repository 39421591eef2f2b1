import Foundation
import SamovarCore
import Testing

/// A program with effects, labels, refusals, outputs and a timer, as numbers and words.
private enum Mill: Program {
    struct State: Portable {
        var log: [String] = []
        var isTurning = false
        var dice = 0
    }

    enum Input: Portable {
        case turn(Bool)
        case grind(String, id: String? = nil, policy: String = "all")
        case stop(String)
        case twice
        case endless
        case forbidden
        case ring
    }

    indirect enum Message: Portable {
        case input(Input)
        case ground(String)
        case ticked
        case broke(String)
    }

    typealias Effect = String
    typealias Output = String
    typealias ViewState = Int
    enum Refusal: Error, Portable { case notAllowed(lines: Int) }

    struct Sealed: Error {}

    static func start(_ seed: String, _ turn: Turn) throws -> Next<Mill> {
        guard seed != "sealed" else { throw Sealed() }
        if seed == "slide" {
            return .state(State(), (1...3).reduce(Command.none) { $0.run("slide \($1)", id: "lane", policy: .serial(limit: 2)) })
        }
        if seed == "pile" {
            return .state(
                State(log: []),
                (1...8).reduce(Command.none) { $0.run("sack \($1)", id: "lane", policy: .serial(limit: 2)) })
        }
        return .state(State(log: [seed]), seed == "chain" ? .then(.ground("first")).run("start") : .none)
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        if case .forbidden = input { throw .notAllowed(lines: state.log.count) }
        return .input(input)
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Mill> {
        switch message {
        case .input(.turn(let isTurning)): state.isTurning = isTurning
        case .input(.grind(let grain, let id, let policy)):
            let policies: [String: Policy] = ["latest": .latest, "first": .first, "serial": .serial(limit: 2)]
            return .run(grain, id: id.map { Label($0) }, policy: policies[policy] ?? .all)
        case .input(.stop(let id)): return .cancel(Label(id))
        case .input(.twice): return .then(.ground("a")).then(.ground("b")).run("c")
        case .input(.endless): return .then(.input(.endless))
        case .input(.ring): return .emit("ring \(turn.number)")
        case .input(.forbidden): break
        case .ground(let flour): state.log.append("\(turn.number) \(flour)")
        case .ticked: state.log.append("\(turn.number) tick at \(turn.now.microseconds)")
        case .broke(let why): state.log.append("\(turn.number) \(why)")
        }
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Mill>] {
        state.isTurning ? [.every(.seconds(1), id: "tick", send: .ticked)] : []
    }

    static func view(_ state: State) -> Int { state.log.count }

    static func failed(_ effect: String, _ failure: Failure) -> Message? {
        // One that finds no room comes back, without an end.
        if effect.hasPrefix("slide") { return .input(.grind(effect, id: "lane", policy: "serial")) }
        return effect == "quiet" ? nil : .broke("\(effect) \(failure)")
    }
}

@Suite struct LocalStoreTests {
    private static func names(_ effects: [LocalEffect<Mill>]) -> [String] { effects.map(\.effect) }

    // MARK: Turns

    @Test func `What a send does has happened when it returns`() throws {
        var store = try LocalStore(Orchard.self)
        #expect(try store.send(.then([.quiet])) == .applied(turn: 2))
        #expect(store.state.log == ["2", "3 after 2"])
        #expect(store.head == 3)
    }

    @Test func `The start is turn 1, with what follows from it`() throws {
        var store = try LocalStore(Mill.self, seed: "chain")
        #expect(store.state.log == ["chain", "2 first"])
        #expect(Self.names(store.takeEffects()) == ["start"])
        #expect(store.view == 2)
    }

    @Test func `A seed that the program refuses makes no store`() {
        #expect(throws: Mill.Sealed.self) { _ = try LocalStore(Mill.self, seed: "sealed") }
    }

    @Test func `A refusal is the program's own value, takes a turn, and changes nothing`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        #expect(try store.send(.forbidden) == .refused(.notAllowed(lines: 1), turn: 2))
        #expect(store.state.log == ["mill"])
        #expect(try store.send(.ring) == .applied(turn: 3))
    }

    @Test func `Time moves when the caller says so, and never back`() throws {
        var store = try LocalStore(Mill.self, seed: "mill", now: noon)
        store.advance(to: noon + .seconds(5))
        store.advance(to: noon)
        #expect(store.now == noon + .seconds(5))
    }

    @Test func `One secret gives the same random numbers again`() throws {
        func dice(_ secret: Secret) throws -> UInt64 {
            var store = try JournalingLocalStore(
                Orchard.self, journal: EachTurn<Orchard.Message> { _, _ in }, secret: secret)
            try store.send(.quiet)
            var random = Turn(number: 2, now: noon, origin: .store, secret: secret).random()
            return random.next()
        }
        #expect(try dice(secret) == dice(secret))
    }

    // MARK: Journal

    @Test func `A journal gets each message with its turn, in order, and no refusal`() throws {
        var lines: [String] = []
        var store = try JournalingLocalStore(
            Mill.self, seed: "mill", journal: EachTurn { message, turn in lines.append("\(turn.number) \(turn.origin)") })
        try store.send(.twice)
        try store.send(.forbidden)
        try store.send(.ring)
        #expect(lines.count == 4)
        #expect(lines.map { $0.prefix(1) } == ["2", "3", "4", "6"])
        #expect(lines[1] == "3 followUp(of: 2)")
    }

    // MARK: Effects

    @Test func `Effects are taken once, in their order, and an answer is applied once`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        try store.send(.grind("rye"))
        try store.send(.grind("oats"))
        let effects = store.takeEffects()
        #expect(Self.names(effects) == ["rye", "oats"])
        #expect(store.takeEffects().isEmpty)
        #expect(try store.answer(effects[1].id, with: .ground("oats"), .ground("bran")))
        #expect(store.state.log == ["mill", "4 oats", "5 bran"])
        #expect(try !store.answer(effects[1].id, with: .ground("oats")), "it is closed")
        #expect(try store.answer(effects[0].id))
        #expect(store.head == 6)
    }

    @Test func `A failure becomes the program's message, or nothing`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        try store.send(.grind("rye"))
        try store.send(.grind("quiet"))
        let effects = store.takeEffects()
        let failure = Failure(reason: .threw, text: "stone", attempts: 1)
        #expect(try store.fail(effects[0].id, failure))
        #expect(try !store.fail(effects[1].id, failure))
        #expect(store.state.log == ["mill", "4 rye failed after 1 attempt: stone"])
    }

    @Test func `Cancelled effects are told once taken, and an answer to one is not applied`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        try store.send(.grind("rye", id: "grain"))
        let taken = store.takeEffects()
        try store.send(.grind("oats", id: "grain"))
        try store.send(.stop("grain"))
        #expect(store.takeEffects().isEmpty, "nobody took it before it was cancelled")
        #expect(store.takeCancelled() == taken.map(\.id))
        #expect(try !store.answer(taken[0].id, with: .ground("late")))
        #expect(store.state.log == ["mill"])
    }

    @Test func `What nobody has taken is cancelled and replaced in a time that grows with its number`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        let count = 30_000
        for number in 0..<count { try store.send(.grind("sack \(number)")) }
        let begun = processorTime()
        for _ in 0..<count { try store.send(.grind("rye", id: "grain")) }
        let ordered = processorTime()
        try store.send(.stop("grain"))
        let cancelled = processorTime()
        for _ in 0..<count { try store.send(.grind("oats", id: "newest", policy: "latest")) }
        let replaced = processorTime()
        // With the square, either would take ten times as long and more.
        #expect(cancelled - ordered < (ordered - begun) * 4)
        #expect(replaced - cancelled < (ordered - begun) * 4)
        #expect(Self.names(store.takeEffects()) == (0..<count).map { "sack \($0)" } + ["oats"])
        #expect(store.takeCancelled().isEmpty)
    }

    /// That of this thread, so that what else the machine does counts for nothing.
    private func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func `Of all with a label, those are told as cancelled that were taken, in their order`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        for grain in ["rye", "oats"] { try store.send(.grind(grain, id: "grain")) }
        let taken = store.takeEffects()
        #expect(Self.names(taken) == ["rye", "oats"])
        for grain in ["millet", "spelt"] { try store.send(.grind(grain, id: "grain")) }
        try store.send(.grind("wheat"))
        try store.send(.stop("grain"))
        #expect(store.takeCancelled() == taken.map(\.id))
        #expect(Self.names(store.takeEffects()) == ["wheat"])
    }

    @Test func `Policies are kept`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        for grain in ["a", "b"] { try store.send(.grind(grain, id: "latest", policy: "latest")) }
        for grain in ["c", "d"] { try store.send(.grind(grain, id: "first", policy: "first")) }
        #expect(Self.names(store.takeEffects()) == ["b", "c"])
        for grain in ["e", "f", "g"] { try store.send(.grind(grain, id: "serial", policy: "serial")) }
        #expect(
            store.state.log.last
                == "9 g found too many others with its label after 0 attempts: "
                + "2 effects “serial” are open, which is its limit")
        let first = store.takeEffects()
        #expect(Self.names(first) == ["e"])
        try store.answer(first[0].id)
        #expect(Self.names(store.takeEffects()) == ["f"])
    }

    @Test func `More effects than a group may have turns fail where there is no room for them`() throws {
        var settings = LocalStoreSettings()
        settings.group.turns = 5
        var store = try LocalStore(Mill.self, seed: "pile", settings: settings)
        #expect(store.state.log.count == 6)
        #expect(store.state.log.allSatisfy { $0.hasSuffix("2 effects “lane” are open, which is its limit") }, "\(store.state.log)")
        #expect(Self.names(store.takeEffects()) == ["sack 1"])
        #expect(try store.send(.turn(true)) == .applied(turn: 8))
    }

    @Test func `A store whose first effects lead to too many turns says so before anything is sent`() throws {
        var settings = LocalStoreSettings()
        settings.group.turns = 5
        var store = try LocalStore(Mill.self, seed: "slide", settings: settings)
        let obstacle = store.obstacle
        guard case .group(.turns(5, root: _))? = obstacle else { return #expect(Bool(false), "\(String(describing: obstacle))") }
        #expect(Self.names(store.takeEffects()) == ["slide 1"])
        #expect(store.obstacle == obstacle, "it stays")
        do throws(LocalStoreError) {
            try store.send(.ring)
            Issue.record("a broken store took an input")
        } catch let caught {
            #expect(caught == obstacle)
        }
    }

    @Test func `What keeps a store from taking inputs is there to be asked for, and gone with it`() throws {
        var settings = LocalStoreSettings()
        settings.untaken = 1
        var store = try LocalStore(Mill.self, seed: "mill", settings: settings)
        #expect(store.obstacle == nil)
        try store.send(.ring)
        #expect(store.obstacle == .untaken(1))
        _ = store.takeOutputs()
        #expect(store.obstacle == nil)
    }

    @Test func `Outputs are taken once, in order`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        try store.send(.ring)
        try store.send(.ring)
        #expect(store.takeOutputs() == ["ring 2", "ring 3"])
        #expect(store.takeOutputs().isEmpty)
    }

    @Test func `A timer fires when the caller says so, while the state wants it`() throws {
        var store = try LocalStore(Mill.self, seed: "mill")
        #expect(try !store.fire("tick"))
        try store.send(.turn(true))
        #expect(store.subscriptions.map(\.id) == ["tick"])
        store.advance(to: Timestamp(microseconds: 7))
        #expect(try store.fire("tick"))
        #expect(store.state.log == ["mill", "3 tick at 7"])
    }

    // MARK: Limits

    @Test func `A group beyond its limits is an error, and the store says so from then on`() throws {
        var settings = LocalStoreSettings()
        settings.group.turns = 10
        var count = 0
        var store = try JournalingLocalStore(
            Mill.self, seed: "mill", journal: EachTurn { _, _ in count += 1 }, settings: settings)
        let error = LocalStoreError.group(.turns(10, root: 2))
        do throws(LocalStoreError) {
            try store.send(.endless)
            Issue.record("an endless chain came to an end")
        } catch let caught {
            #expect(caught == error)
        }
        do throws(LocalStoreError) {
            try store.send(.ring)
            Issue.record("a broken store took an input")
        } catch let caught {
            #expect(
                "\(caught)"
                    == "the group of turn 2 has more than 10 turns: an endless chain of follow-ups?; this store cannot be used any more"
            )
        }
        #expect(count == 0, "a group that is too long is not written down")
    }

    @Test func `Inputs are turned away while too much is open or not taken, and taken again afterwards`() throws {
        var settings = LocalStoreSettings()
        settings.openEffects = 2
        settings.untaken = 1
        var store = try LocalStore(Mill.self, seed: "mill", settings: settings)
        try store.send(.grind("rye"))
        try store.send(.grind("oats"))
        let effects = store.takeEffects()
        do throws(LocalStoreError) {
            try store.send(.ring)
            Issue.record("an input was taken beyond the limit")
        } catch let caught {
            #expect("\(caught)" == "2 effects are open; answer some of them first")
        }
        try store.answer(effects[0].id)
        try store.send(.ring)
        do throws(LocalStoreError) {
            try store.send(.ring)
            Issue.record("an input was taken beyond the limit")
        } catch let caught {
            #expect(
                "\(caught)" == "1 outputs and cancellations wait; call takeOutputs() and takeCancelled() first")
        }
        #expect(store.takeOutputs() == ["ring 5"])
        #expect(try store.send(.turn(true)) == .applied(turn: 6))
    }
}
