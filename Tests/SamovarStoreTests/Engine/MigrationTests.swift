import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// A program as it was: a message adds one, and every third one orders a job named by a text.
private enum Old: Program {
    struct State: Portable { var total = 0 }
    enum Message: Portable { case increment, loop(Int), watch, ticked }
    typealias Input = Message
    typealias Effect = String
    typealias ViewState = Int
    struct Seed: Portable { var first: Int }

    static var schema: Schema { Schema(name: "Shop", version: 1) }

    static func start(_ seed: Seed, _ turn: Turn) -> Next<Old> { .state(State(total: seed.first), .run("open")) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Old> {
        state.total += 1
        switch message {
        case .loop(let rest) where rest > 0: return .then(.loop(rest - 1))
        case .increment where state.total.isMultiple(of: 3): return .run("job \(state.total)")
        default: return .none
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Old>] {
        (4..<9).contains(state.total) ? [.every(.seconds(1), id: "tick", send: .ticked)] : []
    }

    static func view(_ state: State) -> Int { state.total }
    static func failed(_ effect: String, _ failure: Failure) -> Message? { nil }
}

/// The program as it is: other names for the same, a job for every message, and no follow-ups.
private enum New: Migrating {
    struct State: Portable { var sum: Int }
    enum Message: Portable { case add(by: Int), ticked }
    typealias Input = Message
    struct Effect: Portable {
        var name: String
        var isUrgent: Bool
    }
    typealias ViewState = Int
    struct Seed: Portable { var start: Int }

    static var schema: Schema { Schema(name: "Shop", version: 3) }

    static var migrations: [Migration] {
        [
            Migration(
                from: 1,
                message: { message in
                    if message["ticked"] != nil { return message }
                    return ["plus": [:]]
                },
                effect: { effect in ["name": effect] },
                seed: { seed in ["start": seed["first"] ?? nil] }),
            Migration(
                from: 2,
                message: { message in message["plus"] == nil ? message : ["add": ["by": 1]] },
                effect: { effect in ["name": effect["name"] ?? nil, "isUrgent": false] },
                state: { state in ["sum": state["total"] ?? nil] }),
        ]
    }

    static func start(_ seed: Seed, _ turn: Turn) -> Next<New> {
        .state(State(sum: seed.start), .run(Effect(name: "open", isUrgent: false)))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<New> {
        if case .add(let step) = message { state.sum += step } else { state.sum += 1 }
        return .run(Effect(name: "job \(state.sum)", isUrgent: true))
    }

    static func subscriptions(_ state: State) -> [Subscription<New>] {
        (4..<9).contains(state.sum) ? [.every(.seconds(1), id: "tick", send: .ticked)] : []
    }

    static func view(_ state: State) -> Int { state.sum }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// A program that has forgotten its migrations' bodies.
private enum Hasty: Migrating {
    typealias State = New.State
    typealias Message = New.Message
    typealias Input = New.Message
    typealias Effect = New.Effect
    typealias ViewState = Int

    static var schema: Schema { Schema(name: "Shop", version: 2) }
    static var migrations: [Migration] { [Migration(from: 1)] }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Hasty> { .state(State(sum: 0)) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Hasty> { .none }
    static func view(_ state: State) -> Int { state.sum }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// The same program with another start: it orders no job, and goes on by a message.
private enum Eager: Migrating {
    typealias State = New.State
    typealias Message = New.Message
    typealias Input = New.Message
    typealias Effect = New.Effect
    typealias ViewState = Int
    typealias Seed = New.Seed

    static var schema: Schema { New.schema }
    static var migrations: [Migration] { New.migrations }
    static func start(_ seed: Seed, _ turn: Turn) -> Next<Eager> { .state(State(sum: seed.start), .then(.add(by: 1))) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Eager> { .none }
    static func view(_ state: State) -> Int { state.sum }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// The same program, whose timer sends another message.
private enum Ringing: Migrating {
    typealias State = Old.State
    enum Message: Portable { case add(by: Int), rang(twice: Bool, at: Int) }
    typealias Input = Message
    typealias Effect = String
    typealias ViewState = Int
    typealias Seed = Old.Seed

    static var schema: Schema { Schema(name: "Shop", version: 2) }

    static var migrations: [Migration] {
        [
            Migration(
                from: 1,
                message: { message in
                    if message["ticked"] == nil { return ["add": ["by": 1]] }
                    return ["rang": ["twice": false, "at": 1]]
                })
        ]
    }

    static func start(_ seed: Seed, _ turn: Turn) -> Next<Ringing> { .state(State(total: seed.first)) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Ringing> {
        state.total += 1
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Ringing>] {
        (4..<9).contains(state.total) ? [.every(.seconds(1), id: "bell", send: .rang(twice: false, at: 1))] : []
    }

    static func view(_ state: State) -> Int { state.total }
    static func failed(_ effect: String, _ failure: Failure) -> Message? { nil }
}

@Suite struct MigrationTests {
    private func engine<P: Program>(_ program: P.Type) -> TypedEngine<P> { TypedEngine(P.self, secret: Secret(high: 1, low: 2)) }

    /// The old program at turn 1, with the log of it.
    private func started(first: Int = 0) throws -> (engine: TypedEngine<Old>, log: SharedLog) {
        let engine = engine(Old.self)
        let log = SharedLog(after: 0)
        let seed = try MessagePackEncoder().encode(Old.Seed(first: first))
        log.batch.append(
            Record(
                turn: engine.skip(), time: at(1), event: .started(number: 1, build: "", schema: Old.schema, seed: seed)))
        try engine.start(seed: seed, now: at(1), log: log)
        return (engine, log)
    }

    private func records(_ log: SharedLog) throws -> [Record] {
        var records: [Record] = []
        try RecordBatch.read(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes) { records.append($0) }
        return records
    }

    /// A journal of the old program: started, five increments, a loop of three turns, and a timer that fired.
    private func history(_ more: Old.Message...) throws -> [Record] {
        let (engine, log) = try started()
        let origin = Origin.client(session: SessionID(high: 1, low: 1), sequence: 1)
        for message in [.increment, .increment, .increment, .loop(2)] as [Old.Message] {
            #expect(try engine.take(try MessagePackEncoder().encode(message), now: at(2), origin: origin, log: log) == .applied)
        }
        // The subscription began with the last turn of the loop.
        try engine.take(
            firing: try MessagePackEncoder().encode(Old.Message.ticked),
            origin: .subscription(EffectID(turn: 7, ordinal: 0), nominal: at(3)), now: at(3), log: log)
        for message in more {
            #expect(try engine.take(try MessagePackEncoder().encode(message), now: at(3), origin: origin, log: log) == .applied)
        }
        return try records(log)
    }

    private func replay<P: Program>(_ records: [Record], as program: P.Type) throws -> StoreState {
        var state = StoreState(engine: engine(program), window: 16)
        let log = SharedLog(ofReplayAfter: 0)
        for record in records { try state.replay(record, log: log) }
        return state
    }

    private func failure<P: Program>(_ records: [Record], as program: P.Type) -> String? {
        do {
            _ = try replay(records, as: program)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    @Test func `An old journal is replayed through all migrations, message by message`() throws {
        let state = try replay(try history(), as: New.self)
        #expect(try MessagePackDecoder().decode(New.State.self, from: state.engine.state()) == New.State(sum: 7))
        #expect(state.head == 8)
    }

    @Test func `Messages that an effect has streamed are migrated, and it goes on from its checkpoint`() throws {
        let (engine, log) = try started()
        let open = EffectID(turn: 1, ordinal: 0)
        for index in 1...3 {
            try engine.take(
                streamed: try MessagePackEncoder().encode(Old.Message.increment), checkpoint: index == 2 ? [7] : nil,
                origin: .effect(open, lease: Lease(start: 1, counter: 1), index: index), root: 1, now: at(2), log: log)
        }
        let state = try replay(try records(log), as: New.self)
        #expect(try MessagePackDecoder().decode(New.State.self, from: state.engine.state()) == New.State(sum: 3))
        #expect(state.ledger.open[open]?.place == StreamPlace(index: 3, checkpoint: [7]))
        // The third one ordered a job, and still does.
        #expect(state.ledger.open.values.map(\.id).sorted() == [open, EffectID(turn: 4, ordinal: 0)])
    }

    @Test func `An answer of an older version closes its effect, and a message before the start is refused`() throws {
        let (engine, log) = try started()
        let open = EffectID(turn: 1, ordinal: 0)
        try engine.take(
            answer: [try MessagePackEncoder().encode(Old.Message.increment)], effect: open, lease: Lease(start: 1, counter: 1),
            root: 1, now: at(2), log: log)
        var records = try records(log)
        #expect(try replay(records, as: New.self).ledger.open[open] == nil)
        records[0].event = .drained
        #expect(failure(records, as: Old.self) == "turn 2: a message before the program has started")
    }

    @Test func `A message that no migration makes readable is refused, with its version`() throws {
        var records = try history()
        let foreign = failure(records, as: Hasty.self)
        #expect(
            foreign?.hasPrefix("turn 2: the message of version 1 cannot be read, migrated or not: ") == true, "\(foreign ?? "")")
        records[1].event = .applied(message: [], hash: 0, closes: false)
        let unreadable = failure(records, as: New.self)
        let text = "turn 2: the message cannot be read: the migration of a message from version 1 to 2 failed: "
        #expect(unreadable?.hasPrefix(text) == true, "\(unreadable ?? "")")
    }

    @Test func `Where nothing was ordered then nothing is ordered now, and elsewhere what update says now`() throws {
        let state = try replay(try history(), as: New.self)
        let effects = try state.ledger.open.values.sorted { $0.id < $1.id }.map {
            try MessagePackDecoder().decode(New.Effect.self, from: $0.payload)
        }
        // The start, the third increment, and two turns that ordered follow-ups.
        #expect(effects.map(\.name) == ["open", "job 3", "job 4", "job 5"])
    }

    @Test func `A start of an older version is not compared, and goes on as it is recorded`() throws {
        var records = try records(try started(first: 5).log)
        records.append(Record(turn: 2, time: at(2), event: .workerJoined(UniqueID(high: 2, low: 1))))
        let state = try replay(records, as: Eager.self)
        #expect(state.head == 2 && state.ledger.open.isEmpty)
    }

    @Test func `A state of an older version is not compared with what that had`() throws {
        let records = try records(try started(first: 5).log)
        let other = Record(turn: 2, time: at(2), event: .stateDigest(7))
        #expect(try replay(records + [other], as: New.self).head == 2)
        #expect(failure(records + [other], as: Old.self)?.hasPrefix("turn 2: the state before it is not the one") == true)
    }

    @Test func `A field that is gone is passed over in what was recorded`() throws {
        struct Wide: Portable { var sum = 7, limit = 3 }
        let (live, engine) = (engine(New.self), engine(New.self))
        for engine in [live, engine] {
            try engine.restore(state: try MessagePackEncoder().encode(Wide()), head: 4, writtenBy: New.schema.version)
            #expect(try MessagePackDecoder().decode(New.State.self, from: engine.state()) == New.State(sum: 7))
        }
        let wide = try MessagePackEncoder().encode(["add": ["by": 2, "note": 1]])
        let log = SharedLog(after: 4)
        let origin = Origin.client(session: SessionID(high: 1, low: 1), sequence: 1)
        let verdict = try live.take(try MessagePackEncoder().encode(New.Message.add(by: 2)), now: at(2), origin: origin, log: log)
        var record = try #require(try records(log).first)
        guard verdict == .applied, case .applied(_, let hash, let closes) = record.event else {
            Issue.record("\(record)")
            return
        }
        record.event = .applied(message: wide, hash: hash, closes: closes)
        try engine.replay(record, log: SharedLog(after: 4))
        #expect(engine.head == 5)
        // Of what comes now, a field that there is not is a mistake.
        #expect(throws: (any Error).self) {
            try engine.take(
                answer: [wide], effect: EffectID(turn: 1, ordinal: 0), lease: Lease(start: 1, counter: 1), root: 1, now: at(2),
                log: SharedLog(after: 5))
        }
    }

    @Test func `A state is migrated however large it is`() throws {
        let migrations = Migrations(Schema(name: "A", version: 2), [Migration(from: 1, state: { $0 })])
        var writer = MessagePackWriter()
        writer.writeBinary([UInt8](repeating: 0, count: 64 << 20))
        #expect(try migrations.migrated(writer.bytes, .state, from: 1).count == writer.bytes.count)
    }

    @Test func `Subscriptions keep their names, for they begin where chains ended`() throws {
        let records = try history()
        let old = try replay(records, as: Old.self)
        let new = try replay(records, as: New.self)
        #expect(old.subscriptions.activations.values.map(\.id.turn) == [7])
        #expect(new.subscriptions.activations.values.map(\.id) == old.subscriptions.activations.values.map(\.id))
        #expect(new.subscriptions.activations.values.map(\.due) == old.subscriptions.activations.values.map(\.due))
    }

    @Test func `A timer that has fired in an old version's turns goes on from there, also where its message is another one now`()
        throws
    {
        let state = try replay(try history(), as: Ringing.self)
        #expect(state.subscriptions.activations["bell"]?.due == at(4))
        #expect(state.subscriptions.activations["bell"]?.id == EffectID(turn: 7, ordinal: 0), "the name under which it has fired")
    }

    @Test func `What a state wanted from its start is known, and what it wanted no more is over`() throws {
        var records = try records(try started(first: 5).log)
        records.append(Record(turn: 2, time: at(2), event: .workerJoined(UniqueID(high: 2, low: 1))))
        let begun = try replay(records, as: New.self).subscriptions
        #expect(begun.activations.values.map(\.id.turn) == [1] && begun.nextDue == at(2))
        #expect(begun == (try replay(records, as: Old.self).subscriptions))
        records = try history(.increment, .increment, .increment)
        records.append(Record(turn: 12, time: at(4), event: .workerJoined(UniqueID(high: 2, low: 1))))
        #expect(try replay(records, as: Old.self).subscriptions.activations.isEmpty)
        #expect(try replay(records, as: New.self).subscriptions.activations.isEmpty)
    }

    @Test func `A store that starts behind an old chain wants what a replay of its start wants`() throws {
        var records = Array(try history().prefix(7))
        var live = try replay(records, as: New.self)
        let log = SharedLog(after: live.head)
        let start = Record(
            turn: live.engine.skip(), time: at(2), event: .started(number: 2, build: "", schema: New.schema, seed: []))
        live.absorb(start)
        live.engine.resubscribe(now: at(2), log: log)
        live.carryOut(log)
        records.append(start)
        #expect(live.subscriptions.activations.values.map(\.id.turn) == [7])
        #expect(try replay(records, as: New.self).subscriptions == live.subscriptions)
    }

    @Test func `What the state wanted after an old chain is known to the records behind it that call no update`() throws {
        var records = Array(try history().prefix(7))
        let activation = EffectID(turn: 7, ordinal: SubscriptionTable.firstSource)
        records.append(Record(turn: 8, time: at(2), event: .workerJoined(UniqueID(high: 2, low: 1))))
        let wanting = try replay(records, as: New.self)
        #expect(wanting.subscriptions.activations.values.map(\.id) == [activation])
        records.append(
            Record(turn: 9, time: at(3), origin: .subscription(activation, nominal: at(3)), event: .quarantined("why")))
        let old = try replay(records, as: Old.self)
        let new = try replay(records, as: New.self)
        #expect(old.subscriptions.activations.values.map(\.due) == [at(4)], "it is passed over")
        #expect(new.subscriptions.activations.values.map(\.due) == [at(4)])
    }

    @Test func `A record may be of what the old chain right before it wanted`() throws {
        var records = Array(try history().prefix(7))
        let activation = EffectID(turn: 7, ordinal: SubscriptionTable.firstSource)
        records.append(
            Record(turn: 8, time: at(3), origin: .subscription(activation, nominal: at(3)), event: .quarantined("why")))
        for state in [try replay(records, as: Old.self), try replay(records, as: New.self)] {
            #expect(state.subscriptions.activations.values.map(\.due) == [at(4)], "it is passed over")
        }
    }

    @Test func `A snapshot of an old version is read with its open effects`() throws {
        let old = try replay(try history(), as: Old.self)
        var new = StoreState(engine: engine(New.self), window: 16)
        try new.restore(try old.snapshot())
        #expect(try MessagePackDecoder().decode(New.State.self, from: new.engine.state()) == New.State(sum: 7))
        let effects = try new.ledger.open.values.sorted { $0.id < $1.id }.map {
            try MessagePackDecoder().decode(New.Effect.self, from: $0.payload)
        }
        #expect(effects == [New.Effect(name: "open", isUrgent: false), New.Effect(name: "job 3", isUrgent: false)])
    }

    @Test func `Records after an old snapshot are migrated, too`() throws {
        let records = try history()
        let old = try replay(Array(records.prefix(4)), as: Old.self)
        var new = StoreState(engine: engine(New.self), window: 16)
        try new.restore(try old.snapshot())
        let log = SharedLog(after: 4)
        for record in records.dropFirst(4) { try new.replay(record, log: log) }
        #expect(try MessagePackDecoder().decode(New.State.self, from: new.engine.state()) == New.State(sum: 7))
    }

    @Test func `After the upgrade a replay gives what the store had, and compares again`() throws {
        var records = try history()
        // As a store does: replay, write the start, ask for subscriptions, go on.
        let live = try replay(records, as: New.self)
        let log = SharedLog(after: live.head)
        log.batch.append(
            Record(
                turn: live.engine.skip(), time: at(9), event: .started(number: 2, build: "", schema: New.schema, seed: [])))
        live.engine.resubscribe(now: at(9), log: log)
        #expect(
            try live.engine.take(
                try MessagePackEncoder().encode(New.Message.add(by: 5)), now: at(9), origin: .operator, log: log) == .applied)
        try RecordBatch.read(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes) { records.append($0) }

        let replayed = try replay(records, as: New.self)
        #expect(try replayed.engine.state() == live.engine.state())

        guard case .applied(let message, let hash, let closes) = records.last?.event else {
            Issue.record("the last record is no message")
            return
        }
        records[records.count - 1].event = .applied(message: message, hash: hash &+ 1, closes: closes)
        #expect(failure(records, as: New.self)?.contains("returns another command than it did") == true)
    }

    @Test func `A snapshot whose state or effects no migration makes readable is refused, and not passed over`() throws {
        let old = try replay(try history(), as: Old.self)
        var state = StoreState(engine: engine(Hasty.self), window: 16)
        let error = #expect(throws: MigrationError.self) { try state.restore(try old.snapshot()) }
        #expect(error?.text.hasPrefix("the state of version 1 cannot be read, migrated or not: ") == true)
        #expect(throws: MigrationError.self) {
            try engine(Hasty.self).migrated(effect: try MessagePackEncoder().encode("open"), from: 1)
        }
    }

    @Test func `What a version cannot read keeps it from a start, with its name, unless it is a source, which it does not want`()
        throws
    {
        for root in [0, 3] {
            var old = try replay(try history(), as: Old.self)
            let id = EffectID(turn: 3, ordinal: 9)
            old.ledger.open(OpenEffect(id: id, root: root, options: RunOptions(), payload: [0xc1], now: at(2)))
            var new = StoreState(engine: engine(New.self), window: 16)
            let snapshot = try old.snapshot()
            if root == 0 {
                try new.restore(snapshot)
                #expect(new.ledger.open[id]?.payload == [0xc1] && new.ledger.open.values.contains(where: new.isAbandoned))
            } else {
                let error = #expect(throws: MigrationError.self) { try new.restore(snapshot) }
                #expect(error?.text.hasPrefix("effect 3/9: ") == true, "\(error?.text ?? "")")
            }
        }
    }

    @Test func `A journal or a snapshot of a newer version is refused`() throws {
        var records = try history()
        records.append(
            Record(turn: 9, time: at(9), event: .started(number: 2, build: "", schema: New.schema, seed: [])))
        #expect(
            failure(records, as: Old.self)
                == "turn 9: it was written by Shop version 3, which is newer than this program, Shop version 1")
        var state = StoreState(engine: engine(Old.self), window: 16)
        let snapshot = try replay(try history(), as: New.self).snapshot()
        let error = #expect(throws: MigrationError.self) { try state.restore(snapshot) }
        #expect(error?.text == "it is of version 3 of Shop; this program is version 1")
    }

    @Test func `A version without a migration is refused, and so is a value that a migration cannot read`() throws {
        enum Gap: Error { case nothing }
        let migrations = [
            Migration(from: 2, message: { _ in throw Gap.nothing }), Migration(from: 4),
        ]
        #expect(throws: MigrationError(text: "it is of version 3 of P, and no migration leads from there to version 5")) {
            try Migrations(Schema(name: "P", version: 5), [Migration(from: 4)]).migrated([0xc0], .message, from: 3)
        }
        #expect(throws: MigrationError(text: "the migration of a message from version 2 to 3 failed: nothing")) {
            try Migrations(Schema(name: "P", version: 3), migrations).migrated([0xc0], .message, from: 2)
        }
        let first = Migration(from: 1, message: { $0 })
        #expect(
            throws: MigrationError(text: "the migration of a message from version 2 to 3 failed: nothing"), "the step that failed"
        ) {
            try Migrations(Schema(name: "P", version: 3), [first] + migrations).migrated([0xc0], .message, from: 1)
        }
        #expect(throws: MigrationError.self) {
            try Migrations(Schema(name: "P", version: 3), migrations).migrated([], .message, from: 2)
        }
        // A number as another encoder may write it.
        let foreign: [UInt8] = [0xcd, 0, 1]
        let bodiless = Migrations(Schema(name: "P", version: 5), migrations)
        #expect(try bodiless.migrated(foreign, .message, from: 4) == foreign, "what no migration changes stays as it is")
        #expect(Migrations(Schema(name: "P", version: 5), migrations).oldest == 4)
        #expect(Migrations(Schema(name: "P", version: 3), migrations).oldest == 2)
    }
}
