import Foundation
import Journal
import JournalChain
import Logging
import MessagePack
import SQLiteJournal
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarWire

/// A program whose journal is replayed, and the message of each of its turns.
struct Subject<P: OpenProgram> {
    /// Made where the program is known, as a store makes it.
    let engine: @Sendable (Secret) -> any ProgramEngine
    let message: (Int) -> P.Message
}

extension Subject<Tally> {
    /// A counter that goes up by one, whose messages are all the same.
    static var counter: Self {
        Self(engine: { TypedEngine(Tally.self, secret: $0) }, message: { _ in .increment(by: 1) })
    }

    /// The same with messages none of which is like another.
    static var differentCounts: Self { Self(engine: counter.engine, message: { .increment(by: $0) }) }
}

extension Subject<PackableTally> {
    static var packableCounter: Self {
        Self(engine: { TypedEngine(PackableTally.self, secret: $0) }, message: { .increment(by: $0) })
    }
}

/// How long a store takes from its journal to its state.
enum Recovery {
    static let secret = Secret(high: 1, low: 2)

    static func measure(in folder: String, turns: Int) async throws {
        for perBatch in [1_000, 1] {
            let path = "\(folder)/recovery-\(perBatch)"
            try write(turns, perBatch: perBatch, of: .counter, to: path)
            try await time(path, turns, "\(perBatch) in each batch, no snapshot")
            try addSnapshot(path, at: turns - StoreSettings().snapshotTurns)
            try await time(
                path, turns, "\(perBatch) in each batch, a snapshot \(StoreSettings().snapshotTurns) turns before the end")
        }
    }

    /// For `make bench`: a name and a number on each line.
    static func measureReplay(in folder: String, turns: Int) async throws {
        try await measureReplay("replay", of: .counter, in: folder, turns)
        try await measureReplay("replay_different", of: .differentCounts, in: folder, turns)
        try await measureReplay("replay_packable", of: .packableCounter, in: folder, turns)
    }

    private static func measureReplay<P: OpenProgram>(
        _ name: String, of subject: Subject<P>, in folder: String, _ turns: Int
    ) async throws {
        let path = "\(folder)/\(name)"
        try write(turns, perBatch: 1_000, of: subject, to: path)
        let median = try await replay(path, of: subject, turns)
        print("\(name)_turns_per_second \(Int(Double(turns) / median.wall))")
        print("\(name)_turns_per_processor_second \(Int(Double(turns) / median.processor))")
    }

    private static func replay<P: OpenProgram>(
        _ path: String, of subject: Subject<P>, _ turns: Int
    ) async throws -> (wall: Double, processor: Double) {
        var times: [(wall: Double, processor: Double)] = []
        for _ in 0..<3 {
            let (begun, used) = (ContinuousClock.now, processorTime())
            let replay = try await Replay<P>.run(
                of: JournalLocation(dataFolder: path), through: nil, logger: Logger(label: "bench"), engine: subject.engine)
            precondition(replay.turn == turns)
            times.append((seconds(ContinuousClock.now - begun), processorTime() - used))
        }
        return (times.map(\.wall).sorted()[1], times.map(\.processor).sorted()[1])
    }

    private static func time(_ path: String, _ turns: Int, _ what: String) async throws {
        let (wall, processor) = try await replay(path, of: .counter, turns)
        print(
            String(
                format: "%d turns, %@: %.2f s, %.2f s of processor time, %.2f µs a turn", turns, what, wall, processor,
                processor / Double(turns) * 1e6))
    }

    /// As a store would have made it when it was due for the last time.
    private static func addSnapshot(_ path: String, at turn: Int) throws {
        let journal = try SQLiteJournal(at: path)
        var machine = StoreMachine(
            settings: StoreSettings(), engine: TypedEngine(Tally.self, secret: secret), timeline: .zero, secret: secret,
            build: "")
        try journal.read(from: 1) { batch in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
        }
        try journal.save(Snapshot(turn: machine.head, bytes: try machine.snapshot()))
        try journal.close()
    }

    /// Of all threads.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A journal as clients fill it: each turn is an input of one of four sessions.
    private static func write<P: OpenProgram>(
        _ turns: Int, perBatch: Int, of subject: Subject<P>, to path: String
    ) throws {
        let empty = try SQLiteJournal(at: path + "-empty")
        let id = UniqueID(high: 3, low: 4)
        let draft = try JournalBuilder(at: path, from: empty, as: .new)
        for (name, value) in [
            ("timeline", Array(repeating: UInt8(7), count: 16)), ("secret", [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]),
            ("program", Array(P.schema.description.utf8)), ("seed", [0x80]),
        ] { try draft.record(value, as: name) }

        let engine = subject.engine(secret)
        var log = TurnLog(after: 0)
        let begin = Timestamp(microseconds: 1_700_000_000_000_000)
        log.batch.append(
            Record(
                turn: engine.skip(), time: begin, event: .started(number: 1, build: "bench", schema: P.schema, seed: [0x80])))
        try engine.start(seed: [0x80], now: begin, log: &log)
        let encoder = MessagePackEncoder()
        var waiting: [Batch] = []
        var bytes = 0
        while engine.head < turns {
            let number = engine.head
            let session = UniqueID(high: id.high, low: UInt64(number % 4))
            let input = try encoder.encode(subject.message(number))
            let now = Timestamp(microseconds: begin.microseconds + Int64(number))
            _ = try engine.apply(.input(input, .client(session: session, sequence: number / 4 + 1)), now: now, log: &log)
            guard log.batch.turns >= perBatch || engine.head == turns else { continue }
            waiting.append(Batch(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes))
            bytes += log.batch.byteCount
            log.batch = RecordBatch(after: log.batch.last)
            if waiting.count >= 1_000 {
                try draft.append(waiting)
                waiting.removeAll()
            }
        }
        try draft.append(waiting)
        try draft.finish()
        try empty.close()
        print("wrote \(turns) turns, \(bytes / turns) bytes each")
    }
}

func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}
