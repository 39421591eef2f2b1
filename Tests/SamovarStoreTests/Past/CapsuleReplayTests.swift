import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Turns that happen again, as a whole and in parts.
@Suite struct CapsuleReplayTests {
    /// Fixed ones, and one that nobody has seen.
    static let seeds: [UInt64] = [1, 2, 3, 4, 5, .random(in: 0...UInt64.max)]

    /// What a journal has: its records, and the state after each.
    private struct History {
        var records: [Record] = []
        var states: [[UInt8]] = []

        init(_ batches: [StoredBatch]) throws {
            let past = PastMachine(TypedEngine(Shop.self, secret: workshopSecret))
            for batch in batches {
                try past.replay(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                    records.append(record)
                    states.append(try past.state())
                }
            }
        }

        /// Of the turns from one that begins a chain to the end of another.
        func content(from first: Int, through last: Int, secret: Secret = workshopSecret) -> CapsuleContent {
            var content = CapsuleContent(
                schema: Shop.schema, secret: secret, turn: first - 1, state: first == 1 ? [] : states[first - 2], last: last,
                items: [])
            for record in records[(first - 1)..<last] { content.note(record) }
            return content
        }

        /// Turns behind which a capsule may end.
        var ends: [Int] { (1...records.count).filter { $0 == records.count || !records[$0].continuesGroup } }
    }

    private static func history(_ body: (Rig) throws -> Void) throws -> History {
        let rig = try StoreWorkerTests.rig(slots: 99, credit: 99)
        try body(rig)
        return try History(rig.committedBatches)
    }

    private static func run(
        _ content: CapsuleContent, _ places: [Int]? = nil, matching orders: [EffectID: UInt64]? = nil
    ) throws -> CapsuleReplay<Shop>.Outcome {
        try CapsuleReplay<Shop>(content).run(places, matching: orders)
    }

    // MARK: All of them

    @Test(arguments: seeds)
    func `Whatever turns are cut out of a journal, they lead to the state that they led to`(_ seed: UInt64) throws {
        var world = try StoreRandomTests.World(seed: seed)
        for _ in 0..<300 { try world.step() }
        world.rig.commits = true
        world.rig.round()
        let history = try History(world.rig.committedBatches)
        let ends = history.ends
        var cuts = 0
        for _ in 0..<40 {
            guard let one = ends.randomElement(using: &world.random), let other = ends.randomElement(using: &world.random) else {
                break
            }
            let (before, last) = (min(one, other), max(one, other))
            for first in Set([1, before + 1]) where first <= last {
                let content = history.content(from: first, through: last)
                let read = try CapsuleContent(bytes: content.bytes)
                #expect(read == content)
                let outcome = try Self.run(read)
                #expect(packed(outcome.state) == history.states[last - 1], "seed \(seed), turns \(first) to \(last)")
                #expect(outcome.taken == Array(content.items.indices), "seed \(seed), turns \(first) to \(last)")
                cuts += 1
            }
        }
        #expect(cuts > 20)
    }

    /// Labels, policies, deaths, cancellations, timers and operators, at random.
    static func eventfulRig(_ random: inout Random) throws -> Rig {
        let rig = try StoreWorkerTests.rig(slots: 99, credit: 999)
        let labels = ["l1", "l2"]
        var held: [JobTask] = []
        func input(_ input: Shop.Input) {
            rig.exchange(inputs([input], from: rig.nextInput), from: client(1))
        }
        func label() -> String { labels[Int.random(in: 0..<2, using: &random)] }
        for step in 0..<250 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...3:
                var job = Shop.Job(name: "\(step)", attempts: Int.random(in: 1...2, using: &random))
                job.id = Bool.random(using: &random) ? label() : nil
                job.policy = ["all", "latest", "first", "serial"][Int.random(in: 0..<4, using: &random)]
                job.limit = 2
                job.keepsDead = Bool.random(using: &random)
                job.diesSilently = Bool.random(using: &random)
                input(.order([job]))
            case 4: input(.cancel(label()))
            case 5: input(.chain(Int.random(in: 1...3, using: &random)))
            case 6: input(.watch(Bool.random(using: &random) ? [Shop.Watch(id: "tick", seconds: 1)] : []))
            case 7: rig.tick(.milliseconds(Int.random(in: 1...1_500, using: &random)))
            case 8: input(.wish([Shop.Wish(verb: Bool.random(using: &random) ? "requeue" : "drop", label: label())]))
            default:
                guard let task = held.randomElement(using: &random) else { break }
                let results = [
                    task.answered("a"), task.answered("a", "b"), task.answered(), task.failed(), task.failed("no", permanent: true),
                ]
                guard let result = results.randomElement(using: &random) else { break }
                rig.exchange(.result([result], credit: 999), from: worker(1))
                held.removeAll { $0.lease == task.lease }
            }
            held += rig.takeTasks(worker(1))
        }
        #expect(rig.stop == nil)
        return rig
    }

    @Test(arguments: seeds)
    func `Policies, cancellations and requeues let through what they let through`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        let history = try History(Self.eventfulRig(&random).committedBatches)
        let ends = history.ends
        var answers = 0
        for _ in 0..<60 {
            guard let one = ends.randomElement(using: &random), let other = ends.randomElement(using: &random), one != other else {
                continue
            }
            let (before, last) = (min(one, other), max(one, other))
            let content = history.content(from: before + 1, through: last)
            let outcome = try Self.run(content)
            #expect(outcome.taken == Array(content.items.indices), "seed \(seed), turns \(before + 1) to \(last)")
            #expect(packed(outcome.state) == history.states[last - 1], "seed \(seed), turns \(before + 1) to \(last)")
            answers += content.items.count { if case .effect = $0.record.origin { true } else { false } }
        }
        #expect(answers > 50, "the histories do too little to show anything")
    }

    @Test func `Random numbers are those of the secret, and of the number that a turn had`() throws {
        let history = try Self.history { rig in
            rig.exchange(inputs([.add(1)]), from: client(1))
            rig.order(job("a"), sequence: 2)
        }
        let content = history.content(from: 3, through: 4)
        let dice = try unpacked(Shop.State.self, history.states[3]).dice
        #expect(dice != 0)
        // Without the input before it, it is the same turn.
        #expect(try Self.run(content, [1]).state.dice == dice)
        var other = content
        other.secret = Secret(high: 9, low: 9)
        #expect(try Self.run(other).state.dice != dice)
    }

    // MARK: Parts of them

    @Test func `An answer falls away with its effect, with all its messages, and so does a follow-up with what ordered it`() throws
    {
        let history = try Self.history { rig in
            rig.order(job("a"))
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.answered("x", "y")], credit: 99), from: worker(1))
            rig.exchange(inputs([.chain(3)], from: 2), from: client(1))
            rig.exchange(inputs([.add(5)], from: 3), from: client(1))
        }
        let content = history.content(from: 3, through: history.records.count)
        #expect(content.units == [[0], [1, 2], [3], [4]] && content.items[3].followUps == 2)
        let all = try Self.run(content)
        #expect(all.state.done == ["x", "y"] && all.state.total == 8)
        let without = try Self.run(content, [1, 2, 4], matching: all.orders)
        #expect(without.state.done == [] && without.taken == [4] && without.state.total == 5)
    }

    @Test func `An answer falls away if its effect was cancelled, is another now, or was answered`() throws {
        let history = try Self.history { rig in
            rig.order(StorePolicyTests.job("a"))
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.answered("x")], credit: 99), from: worker(1))
        }
        var content = history.content(from: 3, through: history.records.count)
        let all = try Self.run(content)
        #expect(all.taken == [0, 1])
        #expect(try Self.run(content, [0, 1, 1]).taken == [0, 1])
        let other = all.orders.mapValues { $0 ^ 1 }
        #expect(try Self.run(content, matching: other).taken == [0])
        // A cancellation in between.
        content.items[1].record.turn = 5
        let message = packed(Shop.Message.cancel("label"))
        let cancel = Record(
            turn: 4, time: content.items[1].record.time, origin: .client(session: session(1), sequence: 9),
            event: .applied(message: message, hash: 0, closes: false))
        content.items.insert(CapsuleContent.Item(record: cancel, followUps: 0), at: 1)
        #expect(try Self.run(content).taken == [0, 1])
    }

    @Test func `A firing falls away if its subscription is not wanted`() throws {
        let history = try Self.history { rig in
            rig.exchange(inputs([.watch([Shop.Watch(id: "tick", seconds: 1)])]), from: client(1))
            rig.tick(.seconds(1))
        }
        let content = history.content(from: 3, through: history.records.count)
        #expect(try Self.run(content).state.ticks == ["tick"])
        #expect(try Self.run(content, Array(content.items.indices.dropFirst())).taken.isEmpty)
    }

    @Test func `An effect that was open before is answered once`() throws {
        let history = try Self.history { rig in
            rig.order(job("a"))
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.answered("x")], credit: 99), from: worker(1))
        }
        let content = history.content(from: 4, through: 4)
        #expect(try Self.run(content, [0, 0]).taken == [0])
    }

    @Test func `An effect that was passed over, for one that was open before, stands in nobody's way`() throws {
        let history = try Self.history { rig in
            rig.order(StorePolicyTests.job("x", "first"))
            let x = try #require(rig.takeTasks(worker(1)).first)
            rig.order(StorePolicyTests.job("y", "first"), sequence: 2)
            rig.exchange(.result([x.answered("x")], credit: 99), from: worker(1))
            rig.order(StorePolicyTests.job("z", "first"), sequence: 3)
            let z = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([z.answered("z")], credit: 99), from: worker(1))
        }
        let outcome = try Self.run(history.content(from: 4, through: history.records.count))
        #expect(outcome.taken == [0, 1, 2, 3] && outcome.state.done == ["x", "z"])
    }

    // MARK: What cannot be

    @Test func `A chain without an end is an error`() throws {
        var content = CapsuleContent(
            schema: Shop.schema, secret: workshopSecret, turn: 1, state: packed(Shop.State()), last: 2, items: [])
        let chain = packed(Shop.Message.chain(1_000_000))
        content.note(
            Record(
                turn: 2, time: at(0), origin: .client(session: session(1), sequence: 1),
                event: .applied(message: chain, hash: 0, closes: false)))
        let error = #expect(throws: CapsuleError.self) { try Self.run(content) }
        #expect(error?.description == "more than 1000 turns follow from turn 2")
    }

    @Test func `Bytes that are no capsule are refused, whichever of them is wrong`() throws {
        let history = try Self.history { $0.order(job("a")) }
        let content = history.content(from: 1, through: history.records.count)
        let bytes = content.bytes
        for count in bytes.indices {
            #expect(throws: CapsuleError.self) { try CapsuleContent(bytes: Array(bytes[..<count])) }
        }
        #expect(throws: CapsuleError.self) { try CapsuleContent(bytes: bytes + [0]) }
        var random = Random(seed: .random(in: 0...UInt64.max))
        for _ in 0..<2_000 {
            var damaged = bytes
            damaged[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            // It may still be one. What is read ends in a state, or in an error.
            guard let read = try? CapsuleContent(bytes: damaged) else { continue }
            _ = try? CapsuleReplay<Shop>(read).run()
        }
    }

    @Test func `A capsule of another program or another version is refused by name`() throws {
        var content = CapsuleContent(
            schema: Schema(name: "Workshop", version: 2), secret: workshopSecret, turn: 1, state: [], last: 1, items: [])
        let version = #expect(throws: CapsuleError.self) { try CapsuleReplay<Shop>(content) }
        #expect(version?.description == "it is a capsule of Workshop version 2; this program is Workshop version 1")
        content.schema = Shop.schema
        let state = #expect(throws: CapsuleError.self) { try CapsuleReplay<Shop>(content) }
        #expect(state?.description.hasPrefix("the state after turn 1 cannot be read: ") == true)
    }
}
