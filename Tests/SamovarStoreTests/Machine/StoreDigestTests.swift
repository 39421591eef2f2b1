import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The store says what its state is, and whoever follows compares.
@Suite struct StoreDigestTests {
    private static func digests(of journal: [StoredBatch]) throws -> [(turn: Int, digest: UInt64)] {
        var found: [(Int, UInt64)] = []
        for batch in journal {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .stateDigest(let digest) = record.event { found.append((record.turn, digest)) }
            }
        }
        return found
    }

    private static func rig(isFenced: Bool = true) throws -> Rig {
        let rig = try Rig(isFenced: isFenced)
        rig.connectClient()
        return rig
    }

    @Test func `A journal that nobody can follow has none, and neither has its status`() throws {
        let rig = try Self.rig(isFenced: false)
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 1...5 { rig.tick(.seconds(1)) }
        let status = try #require(rig.ask("status")?.value)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(try Self.digests(of: rig.journal).isEmpty)
        #expect(status["stateDigestTurn"] == .nil && status["stateDigestSeconds"] == .nil)
    }

    @Test func `A second after the last one the next tells of the newest turn, and an idle store writes one of a state`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let first = try Self.digests(of: rig.journal).count
        rig.tick(.seconds(0.9))
        #expect(try Self.digests(of: rig.journal).count == first)
        let (turn, state) = (rig.machine.head, try rig.machine.stateBytes())
        let wakeUp = rig.machine.wakeUp(now: rig.now)
        #expect(wakeUp <= rig.now + .seconds(0.1))
        rig.tick(.seconds(0.1))
        for _ in 1...20 { rig.tick(.seconds(1)) }
        let found = try Self.digests(of: rig.journal)
        #expect(found.count == first + 1 && found.last?.turn == turn + 1 && found.last?.digest == KeyedHash.of(state))
        let status = try #require(rig.ask("status")?.value)
        #expect(status["stateDigestTurn"] == .int(Int64(turn)) && status["stateDigestSeconds"] == .int(20))
    }

    @Test func `What the host says that one has cost keeps the next one away for a hundred times as long`() throws {
        let rig = try Self.rig()
        rig.digestCost = .milliseconds(20)
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.tick(.seconds(1))
        let count = try Self.digests(of: rig.journal).count
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        rig.tick(.seconds(1))
        #expect(try Self.digests(of: rig.journal).count == count)
        rig.tick(.seconds(1))
        #expect(try Self.digests(of: rig.journal).count == count + 1)
    }

    @Test func `Each of them passes with those who follow`() throws {
        let rig = try Self.rig()
        for number in 1...5 {
            rig.exchange(inputs([.add(number), .chain(3)], from: 2 * number - 1), from: client(1))
            rig.tick(.seconds(1))
        }
        var standby = Rig.machine()
        for batch in rig.journal { try standby.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        #expect(standby.replayed.states >= 5)
    }

    @Test func `A state that is dear is told of at the orderly end, before that`() throws {
        let rig = try Self.rig()
        rig.digestCost = .seconds(1)
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.tick(.seconds(5))
        rig.exchange(inputs([.add(2)], from: 2), from: client(1))
        let (count, turn) = (try Self.digests(of: rig.journal).count, rig.machine.head)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        let found = try Self.digests(of: rig.journal)
        #expect(rig.stop == .drained && found.count == count + 1 && found.last?.turn == turn + 1)
        #expect(rig.machine.head == turn + 2)
    }

    @Test func `Of a state that cannot be encoded none is written, which the operator is told once, and turns go on`() throws {
        let rig = try Rig(engine: TrapEngine { $0 == .state }, isFenced: true)
        rig.connectClient()
        for sequence in 1...3 {
            rig.exchange(inputs([.add(1)], from: sequence), from: client(1))
            rig.tick(.seconds(1))
        }
        let note = "nobody who follows can compare, the state cannot be encoded: "
        #expect(rig.takeNotes().count { $0.hasPrefix(note) } == 1)
        #expect(try Self.digests(of: rig.journal).isEmpty && rig.durable.sessions.sessions[session(1)]?.last == 3)
    }

    @Test func `Where the store has ended too often while it encoded its state none is written, and none stays due`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let before = TrapMarker(page)
        _ = before.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
        before.write([Suspicion.Suspect(call: .state, deaths: StoreSettings().trapDeaths, evidence: .signal(4))])
        let rig = try Rig(marker: TrapMarker(page), isFenced: true)
        let wasDue = rig.machine.digestIsDue(now: rig.now)
        rig.round()
        let isDue = rig.machine.digestIsDue(now: rig.now)
        #expect(wasDue && !isDue && !rig.suspects.isEmpty)
        #expect(try Self.digests(of: rig.journal).isEmpty)
    }

    @Test func `In doubt and with a suspect alone none is written`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.leaseIsInDoubt(true, now: rig.now)
        let head = rig.machine.head
        rig.tick(.seconds(5))
        #expect(rig.machine.head == head)
    }
}
