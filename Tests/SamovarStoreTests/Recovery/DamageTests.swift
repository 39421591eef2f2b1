import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Damaged bytes give an error that names the turn, or another history; they never trap.
@Suite struct DamageTests {
    static func history() throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(slots: 4, credit: 4)
        rig.exchange(
            inputs([
                .add(1), .chain(3), .forbidden,
                .order([job("a"), job("b", diesSilently: true), job("c", attempts: 3, timeout: 2), job("d")]),
            ]), from: client(1))
        let tasks = rig.takeTasks(worker(1))
        rig.exchange(.result([tasks[0].answered("x", "y"), tasks[1].failed(), tasks[2].failed()], credit: 4), from: worker(1))
        rig.exchange(.send([Submission(sequence: 5, input: [0xc1])], confirmed: 2), from: client(1))
        return rig
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `No damage to a journal traps`(_ seed: UInt64) throws {
        let journal = try Self.history().journal
        var random = Random(seed: seed)
        var errors = 0
        for _ in 0..<10_000 {
            var machine = Rig.machine()
            let damaged = journal.indices.randomElement(using: &random) ?? 0
            do {
                for (index, batch) in journal.enumerated() {
                    let bytes = index == damaged ? Self.mutated(batch.bytes, &random) : batch.bytes
                    try machine.replay(first: batch.first, last: batch.last, bytes: bytes)
                }
                try machine.start(seed: packed(NoSeed()), now: at(1))
            } catch let error as ReplayError {
                errors += 1
                let isNear = error.turn >= journal[damaged].first && error.turn <= (journal.last?.last ?? 0)
                if !isNear { Issue.record("seed \(seed): \(error) for damage in batch \(damaged)") }
            }
        }
        #expect(errors > 5_000)
    }

    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func `No damage to a snapshot traps`(_ seed: UInt64) throws {
        let snapshot = try Self.history().durable.snapshot()
        var random = Random(seed: seed)
        var errors = 0
        for _ in 0..<10_000 {
            var machine = Rig.machine()
            do {
                try machine.restore(snapshot: Self.mutated(snapshot, &random))
                try machine.start(seed: packed(NoSeed()), now: at(1))
                machine.advance(now: at(10))
                machine.flush(now: at(10))
            } catch {
                errors += 1
            }
        }
        #expect(errors > 5_000)
    }

    @Test func `A snapshot is the replayed state`() throws {
        let rig = try Self.history()
        let bytes = try rig.durable.snapshot()
        var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
        try restored.restore(bytes)
        #expect(restored.head == rig.durable.head && restored.time == rig.durable.time && restored.starts == 1)
        #expect(restored.ledger == rig.durable.ledger && restored.sessions == rig.durable.sessions)
        #expect(restored.joined == rig.durable.joined && restored.seed == rig.durable.seed)
        #expect(try restored.engine.state() == rig.durable.engine.state())
        #expect(restored.ledger.open.count == 2 && restored.ledger.dead.count == 1)
    }

    @Test func `A journal of another program is refused`() throws {
        var batch = RecordBatch(after: 0)
        let schema = Schema(name: "Bakery", version: 1)
        batch.append(Record(turn: 1, time: at(0), event: .started(number: 1, build: "", schema: schema, seed: [0x80])))
        var machine = Rig.machine()
        do {
            try machine.replay(first: 1, last: 1, bytes: batch.bytes)
            Issue.record("it was taken")
        } catch let error as ReplayError {
            #expect(error == ReplayError(turn: 1, "the journal is of Bakery version 1, this program is Workshop version 1"))
        }
    }

    static func mutated(_ bytes: [UInt8], _ random: inout Random) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0...2, using: &random) {
            guard let index = bytes.indices.randomElement(using: &random) else { return bytes }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            case 4:
                bytes.replaceSubrange(index..<min(index + 1, bytes.count), with: [0xcf, 0x7f] + Array(repeating: 0xff, count: 7))
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }
}
