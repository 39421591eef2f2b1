import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// A process on the same machine follows the journal of a store that nobody else can read.
@Suite struct FollowersTests {
    private static let other = Route(listener: .admin, id: [0, 2])

    private static func rig(isFenced: Bool = false, keys: KeyTable = .none) throws -> Rig {
        let rig = try Rig(keys: keys, isFenced: isFenced)
        rig.connectClient()
        return rig
    }

    private static func question(_ turn: Int?, of timeline: Timeline = home, compared: Int? = nil) -> MessagePackValue {
        HistoryRequest(after: turn.map { HistoryRequest.Place(timeline: timeline, turn: $0) }, compared: compared).value
    }

    private static func ask(
        _ arguments: MessagePackValue, _ rig: Rig, from route: Route = admin, by identity: Identity = .local
    ) -> [AdminReply] {
        rig.requests += 1
        let request = AdminRequest(id: rig.requests, verb: "history", arguments: arguments)
        return replies(rig.exchange(.request(request), from: route, by: identity))
    }

    private static func replies(_ frames: [Frame]) -> [AdminReply] {
        frames.compactMap { if case .reply(let reply) = $0 { reply } else { nil } }
    }

    private static func digests(in rig: Rig) throws -> Int {
        var count = 0
        for batch in rig.journal {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .stateDigest = record.event { count += 1 }
            }
        }
        return count
    }

    /// Seconds in each of which there is an input.
    private static func pass(_ seconds: Int, _ rig: Rig, asking: Bool) throws {
        for _ in 0..<seconds {
            rig.exchange(inputs([.add(1)], from: rig.nextInput), from: client(1))
            if asking { _ = ask(question(rig.machine.durable, compared: 0), rig) }
            rig.tick(.seconds(1))
        }
    }

    // MARK: Digests

    @Test func `The store writes digests while somebody asks, and ends with that some seconds after the last question`() throws {
        let rig = try Self.rig()
        try Self.pass(5, rig, asking: false)
        #expect(try Self.digests(in: rig) == 0)
        try Self.pass(20, rig, asking: true)
        let followed = try Self.digests(in: rig)
        #expect(followed >= 20)
        try Self.pass(60, rig, asking: false)
        let after = try Self.digests(in: rig)
        #expect(after - followed <= 11)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(try Self.digests(in: rig) == after && rig.stop == .drained)
    }

    @Test func `The digest of an orderly end has the store's time, also if its clock was set back before the start`() throws {
        let before = try Self.rig(isFenced: true)
        try Self.pass(2, before, asking: false)
        let rig = try Rig(journal: before.committedBatches, now: before.now + .seconds(-3_600), isFenced: true)
        rig.connectClient(2)
        let told = try Self.digests(in: rig)
        rig.deliver(inputs([.add(1)]), from: client(2))
        rig.machine.advance(now: rig.now)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.machine.flush(now: rig.now)
        rig.performAndCommit()
        #expect(try Self.digests(in: rig) == told + 1)
        var times: [Timestamp] = []
        for batch in rig.journal {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { times.append($0.time) }
        }
        #expect(times == times.sorted() && (times.last ?? at(0)) <= before.now + .seconds(1), "\(times)")
    }

    @Test func `Status tells who follows, how far it is, and of which state it has compared`() throws {
        let rig = try Self.rig()
        #expect(rig.ask("status")?.value["follower"] == .nil)
        _ = Self.ask(Self.question(1, compared: 1), rig)
        rig.tick(.seconds(3))
        #expect(rig.ask("status")?.value["follower"] == ["turn": 1, "comparedTurn": 1, "seconds": 3])
        rig.tick(.seconds(8))
        #expect(rig.ask("status")?.value["follower"] == .nil)
        _ = Self.ask(Self.question(nil, compared: 0), rig)
        #expect(rig.ask("status")?.value["follower"] == ["turn": 0, "comparedTurn": .nil, "seconds": 0], "it has nothing yet")
    }

    // MARK: Answers

    @Test func `What an answer has is on disk, and the host reads no further`() throws {
        let rig = try Self.rig()
        let durable = rig.machine.durable
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.machine.head > durable)
        let reply = try #require(Self.ask(Self.question(durable), rig).first.flatMap { HistoryReply($0.value) })
        #expect(reply == HistoryReply(timeline: home, build: "test", head: durable, .batches([])) && rig.follows.isEmpty)
        #expect(Self.ask(Self.question(durable - 1), rig).isEmpty)
        #expect(rig.follows.map(\.after) == [durable - 1] && rig.follows.map(\.through) == [durable])
        let batch = HistoryBatch(first: durable, last: durable, bytes: [1, 2, 3])
        rig.machine.historyRead(.batches([batch]))
        rig.round()
        let answer = try #require(Self.replies(rig.take(admin)).first.flatMap { HistoryReply($0.value) })
        #expect(answer == HistoryReply(timeline: home, build: "test", head: durable, .batches([batch])))
    }

    @Test func `Whoever has nothing is told where to begin, with program and secret`() throws {
        let rig = try Self.rig()
        #expect(Self.ask(.nil, rig).isEmpty && rig.follows.count == 1 && rig.follows.first?.after == nil)
        let beginning = HistoryBeginning(journal: UniqueID(high: 7, low: 8), first: 3, snapshots: [9, 2])
        rig.machine.historyRead(.beginning(beginning, schema: shop, secret: workshopSecret))
        rig.round()
        let answer = try #require(Self.replies(rig.take(admin)).first.flatMap { HistoryReply($0.value) })
        #expect(answer.content == .beginning(beginning, schema: shop, secret: workshopSecret))
    }

    @Test func `Several questions are answered in their order, and one that is asked again where it was asked last`() throws {
        let rig = try Self.rig()
        #expect(Self.ask(Self.question(0), rig).isEmpty && Self.ask(.nil, rig).isEmpty)
        let again = AdminRequest(id: rig.requests - 1, verb: "history", arguments: Self.question(0))
        #expect(Self.replies(rig.exchange(.request(again), from: Self.other)).isEmpty)
        #expect(rig.follows.map(\.after) == [0, nil])
        let batch = HistoryBatch(first: 1, last: 1, bytes: [1])
        rig.machine.historyRead(.batches([batch]))
        rig.machine.historyRead(.damaged("batch 2"))
        rig.machine.historyRead(.anew(.trimmed))
        rig.round()
        #expect(Self.replies(rig.take(Self.other)).map { HistoryReply($0.value)?.content } == [.batches([batch])])
        #expect(Self.replies(rig.take(admin)).map { HistoryReply($0.value)?.content } == [.damaged("batch 2")])
    }

    @Test func `A question with the number of another, and another place, is another question`() throws {
        let rig = try Self.rig()
        for turn in [0, nil] as [Int?] {
            let request = AdminRequest(id: 7, verb: "history", arguments: Self.question(turn))
            #expect(Self.replies(rig.exchange(.request(request), from: admin)).isEmpty)
        }
        #expect(rig.follows.map(\.after) == [0, nil])
    }

    @Test func `Beyond eight questions that wait, the next is refused until one is answered`() throws {
        let rig = try Self.rig()
        for _ in 0..<8 { #expect(Self.ask(.nil, rig).isEmpty) }
        #expect(Self.ask(.nil, rig).map(\.refusal) == ["8 questions about the journal wait for their answer: ask again"])
        rig.machine.historyRead(.anew(.trimmed))
        #expect(Self.ask(.nil, rig).map(\.refusal) == [nil] && rig.follows.count == 9)
    }

    @Test func `What the host has read when the store has stopped is told to nobody`() throws {
        let rig = try Self.rig()
        #expect(Self.ask(.nil, rig).isEmpty && rig.follows.count == 1)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(rig.stop == .drained)
        rig.machine.historyRead(.anew(.trimmed))
        let actions = rig.machine.takeActions()
        #expect(actions.isEmpty)
    }

    @Test func `Who only reads does not follow, and a full disk keeps nobody from reading`() throws {
        let rig = try Self.rig()
        _ = Self.ask(Self.question(0), rig)
        #expect(rig.ask("status")?.value["follower"] == .nil)
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        rig.round()
        #expect(Self.ask(Self.question(0), rig).isEmpty && rig.follows.count == 2)
    }

    @Test func `A place that leads nowhere is named: another timeline, a turn that is not there, one that was trimmed`() throws {
        let rig = try Self.rig()
        func reason(_ replies: [AdminReply]) -> HistoryReply.Content? { replies.first.flatMap { HistoryReply($0.value) }?.content }
        #expect(reason(Self.ask(Self.question(1, of: UniqueID(high: 98, low: 99)), rig)) == .anew(.timeline))
        #expect(reason(Self.ask(Self.question(99), rig)) == .anew(.ahead))
        #expect(rig.ask("status")?.value["follower"] == .nil, "neither follows this journal")
        _ = Self.ask(Self.question(0), rig)
        rig.machine.historyRead(.anew(.trimmed))
        rig.round()
        #expect(reason(Self.replies(rig.take(admin))) == .anew(.trimmed))
    }

    // MARK: Refusals

    @Test func `A key, the network, a journal of several stores, and arguments that say too little are refused`() throws {
        let table = try KeyTable([key(1, "ops", .operator)])
        let rig = try Self.rig(keys: table)
        let local = "history tells the secret of the timeline, and is for the user of the store alone, on its machine"
        #expect(Self.ask(.nil, rig, from: remoteAdmin, by: by(1)).map(\.refusal) == [local])
        #expect(Self.ask(.nil, rig, from: remoteAdmin).map(\.refusal) == [local])
        #expect(Self.ask(.nil, rig, by: by(1)).map(\.refusal) == [local])
        let incomplete: [MessagePackValue] = [
            ["after": 3], ["timeline": "x", "after": 3], ["timeline": .string("\(home)"), "after": -1],
        ]
        for arguments in incomplete {
            let text = "history takes a timeline and after, a turn of it, or neither, and compared, a turn, or not"
            #expect(Self.ask(arguments, rig).map(\.refusal) == [text])
        }
        #expect(Self.ask(["from": 3], rig).first?.refusal?.contains("history has no argument “from”") == true)
        let shared = try Self.rig(isFenced: true)
        #expect(
            Self.ask(.nil, shared).map(\.refusal) == [
                "several stores reach this journal, and so does who wants to read it: name it with --journal"
            ])
        #expect(rig.follows.isEmpty && shared.follows.isEmpty)
    }

    // MARK: The wire

    @Test func `Each answer is read as it was written`() {
        let contents: [HistoryReply.Content] = [
            .anew(.trimmed), .damaged("batch 2"), .batches([]), .batches([HistoryBatch(first: 4, last: 9, bytes: [0, 255])]),
            .beginning(
                HistoryBeginning(journal: home, first: 1, snapshots: [], ancestor: "turn 3", anchor: [7, 8], seed: [128]),
                schema: shop,
                secret: Secret(high: 1, low: .max)),
        ]
        for content in contents {
            let reply = HistoryReply(timeline: home, build: "b", head: 9, content)
            #expect(HistoryReply(reply.value) == reply)
        }
    }

    @Test func `What is no answer is nil`() {
        let good: MessagePackValue = ["timeline": .string("\(home)"), "build": "b", "turn": 9]
        let wrong: [(String, MessagePackValue)] = [
            ("anew", "because"), ("batches", [[1, 2]]), ("batches", [[2, 1, .binary([])]]), ("batches", [[1, 2, "x"]]),
            ("batches", [3]), ("program", "p"),
        ]
        for (key, value) in wrong {
            #expect(HistoryReply(good.setting(key, to: value)) == nil, "\(key) \(value)")
        }
        #expect(HistoryReply(.nil) == nil)
        #expect(HistoryReply(["timeline": "x", "build": "b", "turn": 9, "batches": []]) == nil)
        #expect(HistoryReply(good.setting("turn", to: -1).setting("batches", to: [])) == nil)
    }
}
