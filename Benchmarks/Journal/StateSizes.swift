import Foundation
import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// Turns per second as the state grows: a store's machine takes inputs of one client, in processor time, without a journal. Each turn
/// changes one entry, chosen at random among all. All messages are different: those that come again, as with ten entries they would, are
/// read and written faster, and that has nothing to do with the state.
///
/// Prints one line per figure: a name and a number.
enum StateSizes {
    private static let sizes = [10, 10_000, 1_000_000]
    private static let perFrame = 256
    private static let framesPerRound = 80
    private static let rounds = 9

    static func measure() throws {
        let stores = try sizes.map { try Subject(entries: $0) }
        var figures = sizes.map { _ in [Double]() }
        for round in 0...rounds {
            for index in stores.indices {
                let rate = try stores[index].run(frames: framesPerRound, of: perFrame)
                // The first round warms up.
                if round > 0 { figures[index].append(rate) }
            }
        }
        for (size, figures) in zip(sizes, figures) {
            print("turns_per_second_\(size) \(Int(figures.sorted()[figures.count / 2]))")
        }
    }

    private final class Subject {
        private var machine: StoreMachine
        private let entries: Int
        private var sequence = 0
        private var random: UInt64 = 88_172_645_463_325_252
        private let route = Route(listener: .front, id: [1])
        private let timeline = UniqueID(high: 1, low: 1)

        init(entries: Int) throws {
            self.entries = entries
            var settings = StoreSettings()
            // Snapshots are measured on their own; here is nobody who would make one.
            settings.snapshotTurns = .max
            settings.snapshotBytes = .max
            machine = StoreMachine(
                settings: settings, engine: TypedEngine(Ledger.self, secret: Recovery.secret), timeline: timeline,
                secret: Recovery.secret, build: "bench")
            try machine.start(seed: try MessagePackEncoder().encode(Ledger.Seed(entries: entries)), now: StateSizes.now())
            let hello = Hello(role: .client(session: UniqueID(high: 9, low: 9)), schema: Ledger.schema)
            machine.received(Envelope(.hello(hello), timeline: .zero).parts, from: route, now: StateSizes.now())
        }

        /// Turns per second of processor time.
        func run(frames count: Int, of turns: Int) throws -> Double {
            let frames = try (0..<count).map { _ in try frame(of: turns) }
            let before = machine.head
            let used = StateSizes.threadTime()
            for frame in frames {
                machine.received(frame, from: route, now: StateSizes.now())
                machine.advance(now: StateSizes.now())
                machine.flush(now: StateSizes.now())
                for case .append(_, let last, _) in machine.takeActions() {
                    machine.committed(through: last, now: StateSizes.now())
                }
                // The receipts.
                _ = machine.takeActions()
            }
            let time = StateSizes.threadTime() - used
            precondition(machine.head - before == count * turns, "\(machine.head - before) turns in place of \(count * turns)")
            return Double(count * turns) / time
        }

        private func frame(of turns: Int) throws -> [[UInt8]] {
            let submissions = try (0..<turns).map { index in
                // Xorshift, so that it is the same each time.
                random ^= random << 13
                random ^= random >> 7
                random ^= random << 17
                let number = sequence + index + 1
                let input = Ledger.Input.deposit(account: Int(random % UInt64(entries)), amount: number)
                return Submission(sequence: number, input: try MessagePackEncoder().encode(input))
            }
            defer { sequence += turns }
            return Envelope(.send(submissions, confirmed: sequence), timeline: timeline).parts
        }
    }

    private static func now() -> Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)) }

    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
