import Foundation
import Journal
import MessagePack
import SQLiteJournal
import SamovarCore
import SamovarStore
import SamovarWire
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// How long a snapshot of a million entries keeps the engine from its turns: encoded by the engine, and made from the journal
/// by a thread beside it. The engine's own processor time is counted, too, since the machine may be busy otherwise.
enum SnapshotStall {
    private static let entries = 1_000_000
    private static let perRound = 256
    private static let snapshots = 3

    static func measure(in folder: String) async throws {
        for (name, inline) in [("encoded by the engine", Int.max), ("made from the journal", 1 << 20)] {
            try run("\(folder)/\(inline)", name, inline: inline)
        }
    }

    private static func run(_ path: String, _ name: String, inline: Int) throws {
        var settings = StoreSettings()
        settings.snapshotBytes = 4 << 20
        settings.snapshotInlineBytes = inline
        settings.window = perRound
        let journal = try SQLiteJournal(at: path)
        let make: @Sendable () -> StoreMachine = { [settings] in
            StoreMachine(
                settings: settings, engine: TypedEngine(Ledger.self, secret: Recovery.secret),
                timeline: UniqueID(high: 1, low: 1),
                secret: Recovery.secret, build: "bench")
        }
        var machine = make()
        try machine.start(seed: try MessagePackEncoder().encode(Ledger.Seed(entries: entries)), now: now())
        // As if it had been made before, so that its size is known.
        if inline == .max { machine.snapshotSaved(bytes: 1) }
        let maker = Maker(journal, make)

        let route = Route(listener: .front, id: [1])
        let session = UniqueID(high: 9, low: 9)
        let hello = Hello(role: .client(session: session), schema: Ledger.schema)
        machine.received(Envelope(.hello(hello), timeline: .zero).parts, from: route, now: now())
        var sequence = 0
        var rounds: [(wall: Double, processor: Double)] = []
        var made = 0
        var appends: [Double] = []
        var pending: [Double] = []
        while made < snapshots {
            let submissions = try (0..<perRound).map { index in
                let account = (sequence + index) % entries
                return Submission(
                    sequence: sequence + index + 1,
                    input: try MessagePackEncoder().encode(Ledger.Input.deposit(account: account, amount: 1)))
            }
            let frame = Envelope(.send(submissions, confirmed: sequence), timeline: UniqueID(high: 1, low: 1)).parts
            sequence += perRound

            let (wall, processor) = (ContinuousClock.now, threadTime())
            machine.received(frame, from: route, now: now())
            machine.advance(now: now())
            machine.flush(now: now())
            let actions = machine.takeActions()
            rounds.append((seconds(ContinuousClock.now - wall), threadTime() - processor))

            var queue = actions
            while !queue.isEmpty {
                let current = queue
                queue = []
                for action in current {
                    switch action {
                    case .append(let first, let last, let bytes):
                        let begun = ContinuousClock.now
                        try journal.append(Batch(first: first, last: last, bytes: bytes))
                        appends.append(seconds(ContinuousClock.now - begun))
                        machine.committed(through: last, now: now())
                        queue += machine.takeActions()
                    case .save(let turn, let bytes):
                        try journal.save(Snapshot(turn: turn, bytes: bytes))
                        machine.snapshotSaved(bytes: bytes.count)
                        // Twice its size would be due later than anybody wants to measure.
                        machine.snapshotSaved(bytes: 1)
                        made += 1
                    case .snapshot(let turn): maker.start(turn)
                    default: break
                    }
                }
            }
            if let took = maker.finished.withLock({ $0.popLast() }) {
                pending.append(took)
                machine.snapshotSaved(bytes: 2 << 20)
                made += 1
            }
        }
        rounds.removeFirst(3)
        print(
            """
            \(entries) entries, \(name): longest of \(rounds.count) rounds of \(perRound) turns \(text(rounds.map(\.wall).max())), \
            by processor time \(text(rounds.map(\.processor).max())); median round \(text(median(rounds.map(\.wall)))); \
            longest commit \(text(appends.max())), median \(text(median(appends)))\
            \(pending.isEmpty ? "" : "; beside it, a snapshot took \(text(median(pending)))")
            """)
        try journal.close()
    }

    /// What `MaintenanceThread` of the host does.
    private final class Maker: Sendable {
        let finished = Mutex<[Double]>([])
        private let journal: SQLiteJournal
        private let make: @Sendable () -> StoreMachine

        init(_ journal: SQLiteJournal, _ make: @escaping @Sendable () -> StoreMachine) {
            self.journal = journal
            self.make = make
        }

        func start(_ turn: Int) {
            let thread = Thread { [self] in
                #if os(Linux)
                _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                #endif
                do {
                    let begun = ContinuousClock.now
                    try snapshot(through: turn)
                    finished.withLock { $0.append(seconds(ContinuousClock.now - begun)) }
                } catch {
                    fatalError("\(error)")
                }
            }
            thread.stackSize = 16 << 20
            thread.start()
        }

        private func snapshot(through turn: Int) throws {
            struct Enough: Error {}
            var machine = make()
            if let newest = try journal.snapshots().first { try machine.restore(snapshot: try journal.snapshot(at: newest).bytes) }
            do {
                try journal.read(from: machine.head + 1) { batch in
                    guard batch.first <= turn else { throw Enough() }
                    try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
                }
            } catch is Enough {}
            try journal.save(Snapshot(turn: machine.head, bytes: try machine.snapshot()))
        }
    }

    private static func now() -> Timestamp {
        Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
    }

    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func median(_ values: [Double]) -> Double { values.isEmpty ? 0 : values.sorted()[values.count / 2] }

    private static func text(_ seconds: Double?) -> String { String(format: "%.2f ms", (seconds ?? 0) * 1_000) }
}
