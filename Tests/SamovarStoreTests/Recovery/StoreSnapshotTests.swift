import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When a store makes a snapshot itself and when it leaves that to its host, and backups.
@Suite struct StoreSnapshotTests {
    /// A store to which a snapshot is due after each batch.
    static func rig(inline: Int = 1 << 20) throws -> Rig {
        var settings = StoreSettings()
        settings.snapshotBytes = 0
        settings.snapshotInlineBytes = inline
        let rig = try Rig(settings)
        rig.connectClient()
        return rig
    }

    @Test func `The first snapshot is made from the journal for nobody knows how large it is`() throws {
        let rig = try Self.rig()
        #expect(rig.snapshotRequests == [1])
        #expect(rig.snapshots.isEmpty)
    }

    @Test func `A small one is made by the engine`() throws {
        let rig = try Self.rig()
        rig.machine.snapshotSaved(bytes: 1)
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.snapshotRequests == [1])
        #expect(rig.snapshots.map(\.turn) == [2])
    }

    @Test func `While the host keeps one, no other is made, so what it tells is of the newest`() throws {
        let rig = try Self.rig()
        rig.machine.snapshotSaved(bytes: 1)
        for sequence in 1...3 { rig.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        #expect(rig.snapshots.map(\.turn) == [2] && rig.machine.snapshots.newest?.turn == 1)
        rig.machine.snapshotSaved(bytes: 1)
        #expect(rig.machine.snapshots.newest?.turn == 2)
        rig.exchange(inputs([.add(1)], from: 4), from: client(1))
        #expect(rig.snapshots.map(\.turn) == [2, 5])
        rig.machine.snapshotSaved(bytes: nil)
        #expect(rig.machine.snapshots.newest?.turn == 2, "the other one was not kept")
    }

    @Test func `A large one is left to the host one at a time`() throws {
        let rig = try Self.rig(inline: 20)
        rig.machine.snapshotSaved(bytes: 21)
        for sequence in 1...20 { rig.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        #expect(rig.snapshots.isEmpty)
        #expect(rig.snapshotRequests.count == 2, "no other one before the host is done")
        rig.machine.snapshotSaved(bytes: nil)
        for sequence in 21...40 { rig.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        #expect(rig.snapshotRequests.count == 3, "one that failed is asked for again")
    }

    @Test func `One is due after so many turns even if they are small`() throws {
        var settings = StoreSettings()
        settings.snapshotTurns = 10
        let rig = try Rig(settings)
        rig.connectClient()
        rig.exchange(inputs((1...9).map { _ in .add(1) }), from: client(1))
        #expect(rig.snapshotRequests.isEmpty)
        rig.exchange(inputs([.add(1)], from: 10), from: client(1))
        #expect(rig.snapshotRequests == [11])
    }

    @Test func `What a start has replayed counts towards the next one`() throws {
        let rig = try Rig()
        rig.connectClient()
        for sequence in 1...5 { rig.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        let bytes = rig.committedBatches.reduce(0) { $0 + $1.bytes.count }
        for (limit, isDue) in [(bytes, true), (bytes + 10_000, false)] {
            var settings = StoreSettings()
            settings.snapshotBytes = limit
            let later = try Rig(settings, journal: rig.committedBatches, now: rig.now)
            later.round()
            #expect(later.snapshotRequests == (isDue ? [later.durable.head] : []))
        }
    }

    @Test func `Nothing is asked for before its turn is on disk`() throws {
        let rig = try Self.rig()
        rig.machine.snapshotSaved(bytes: 1)
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.snapshots.isEmpty)
        rig.commit()
        #expect(rig.snapshots.map(\.turn) == [rig.durable.head])
        #expect(try rig.durable.snapshot() == rig.snapshots.last?.bytes)
    }

    @Test func `Of a state that cannot be encoded no snapshot is taken, the operator is told, and the next may be due`() throws {
        let rig = try Rig(engine: TrapEngine { $0 == .state })
        rig.round()
        _ = rig.takeNotes()
        rig.machine.saveSnapshot()
        rig.round()
        #expect(rig.takeNotes().count { $0.hasPrefix("no snapshot is taken, the state cannot be encoded: ") } == 1)
        #expect(rig.snapshots.isEmpty && !rig.machine.snapshots.isUnderWay)
    }

    /// A snapshot of a state that waits for missing workers brings that knowledge back.
    @Test func `Missing workers are in the snapshot`() throws {
        let rig = try Rig()
        rig.connectWorker()
        let later = try rig.restarted()
        #expect(later.durable.missing.isEmpty)
        later.round()
        #expect(later.durable.missing.count == 1)
        var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
        try restored.restore(try later.durable.snapshot())
        #expect(restored.missing == later.durable.missing && restored.joined == later.durable.joined)
    }

    @Test func `Which builds have written what a snapshot holds is not known`() throws {
        let rig = try Rig()
        rig.round()
        let (replayed, snapshot) = (try rig.restarted(), try rig.machine.turns.state.snapshot())
        let restored = try Rig(journal: rig.committedBatches, snapshot: snapshot, now: rig.now)
        let isOfOneBuild = [rig.machine.isOfOneBuild, replayed.machine.isOfOneBuild, restored.machine.isOfOneBuild]
        #expect(isOfOneBuild == [true, true, false])
    }

    @Test(arguments: [1, 11] as [UInt8])
    func `Another format is refused, and said with those that are read`(_ format: UInt8) throws {
        let rig = try Rig()
        rig.round()
        var bytes = try rig.durable.snapshot()
        // Behind the header of an array of 18.
        #expect(bytes[3] == 10, "another format needs another number, and a build that reads this one")
        bytes[3] = format
        var machine = Rig.machine()
        do {
            try machine.restore(snapshot: bytes)
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".contains("a snapshot of format \(format); this build reads the formats 6 to 10"), "\(error)")
        }
        #expect(throws: SnapshotFormatError(format: Int(format))) { try StoreSnapshot.check(bytes, turn: 1) }
    }

    @Test func `Turns behind a snapshot of a build whose cancellations left the dead as they were leave them, too`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        rig.order(Shop.Job(name: "a", diesSilently: true, id: "label"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed(permanent: true)], credit: 1), from: worker(1))
        for (version, isLeft) in [(10, false), (9, false), (8, false), (7, true)] as [(UInt8, Bool)] {
            var bytes = try rig.durable.snapshot()
            bytes[3] = version
            if version == 7 {
                // It ends before the list of what is paused and of rules, which is empty.
                bytes[2] = 17
                bytes.removeLast()
            }
            try StoreSnapshot.check(bytes, turn: rig.durable.head)
            var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
            try restored.restore(bytes)
            let before = restored.ledger.dead.count
            restored.ledger.cancel("label")
            #expect(before == 1 && restored.ledger.dead.isEmpty == !isLeft, "format \(version)")
        }
    }

    @Test func `What is paused and the rules of queues are read from each format of snapshots that has them`() throws {
        let rig = try Rig()
        rig.connectClient()
        let wishes = [Shop.Wish(verb: "pause", queue: "mail"), Shop.Wish(verb: "rule", queue: "mail", rate: 5)]
        rig.exchange(inputs([.wish(wishes)]), from: client(1))
        let controls = rig.durable.ledger.controls
        #expect(controls.count == 2)
        for version in [8, 9, 10] as [UInt8] {
            var bytes = try rig.durable.snapshot()
            bytes[3] = version
            var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
            try restored.restore(bytes)
            #expect(restored.ledger.controls == controls, "format \(version)")
        }
    }

    @Test func `Subscriptions go by label behind a start of this build, and behind its snapshots`() throws {
        var state = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
        let schema = Shop.schema
        for (mark, isByLabel) in [("", false), ("; cancels the dead", false), ("; subscribes by label; cancels the dead", true)] {
            let build = "1" + mark
            state.absorb(Record(turn: 1, time: at(1), event: .started(number: 1, build: build, schema: schema, seed: [])))
            #expect(state.subscriptions.isByLabel == isByLabel)
            #expect(Record.Event.name(ofBuild: build) == "1")
        }
        var formats: [UInt8] = []
        let rig = try Rig()
        rig.round()
        for isByLabel in [true, false] {
            state = rig.durable
            state.subscriptions.isByLabel = isByLabel
            let bytes = try state.snapshot()
            formats.append(bytes[3])
            var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
            try restored.restore(bytes)
            #expect(restored.subscriptions.isByLabel == isByLabel)
        }
        #expect(formats == [10, 9])
    }

    @Test func `A snapshot is checked without its program`() throws {
        let rig = try Rig()
        rig.round()
        let bytes = try rig.durable.snapshot()
        try StoreSnapshot.check(bytes, turn: 1)
        #expect(throws: WireError.self) { try StoreSnapshot.check(bytes, turn: 2) }
        #expect(throws: (any Error).self) { try StoreSnapshot.check(bytes + [0], turn: 1) }
        #expect(throws: (any Error).self) { try StoreSnapshot.check(Array(bytes.dropLast()), turn: 1) }
    }

    // MARK: Backups

    private func ask(_ rig: Rig, id: String = "a", folder: String = "/copy") -> AdminReply? {
        let request = AdminRequest(id: 7, verb: "export", arguments: ["id": .string(id), "folder": .string(folder)])
        for case .reply(let reply) in rig.exchange(.request(request), from: admin) { return reply }
        return nil
    }

    @Test func `A backup of the durable turns is asked for once and answers how far it is`() throws {
        let rig = try Rig()
        rig.round()
        #expect(ask(rig)?.value == ["turn": 1, "copied": 0, "done": false])
        #expect(rig.exports.map(\.turn) == [1] && rig.exports.map(\.folder) == ["/copy"])
        rig.machine.exportCopied(through: 1)
        #expect(ask(rig)?.value == ["turn": 1, "copied": 1, "done": false])
        #expect(ask(rig, id: "b")?.refusal == "another backup is being made, up to turn 1: ask again")
        rig.machine.exportEnded(nil)
        #expect(ask(rig)?.value == ["turn": 1, "copied": 1, "done": true])
        #expect(rig.exports.count == 1)
        #expect(ask(rig, id: "b")?.value["done"] == false)
        rig.machine.exportEnded("no space is left")
        #expect(ask(rig, id: "b")?.refusal == "the backup failed: no space is left")
        #expect(rig.exports.count == 2)
    }

    @Test func `A backup needs an absolute path`() throws {
        let rig = try Rig()
        #expect(ask(rig, folder: "copy")?.refusal?.contains("absolute path") == true)
        #expect(rig.ask("export")?.refusal?.contains("absolute path") == true)
        #expect(rig.exports.isEmpty)
    }
}
