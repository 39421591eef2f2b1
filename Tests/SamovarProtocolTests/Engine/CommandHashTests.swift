import SamovarCore
import Testing

@testable import SamovarProtocol

/// The hash of what a turn orders.
@Suite struct CommandHashTests {
    /// The vectors of its author for the final version 4: texts, with the seeds 0 to 6.
    @Test func `Wyhash is that of its author`() {
        let vectors: [(String, UInt64)] = [
            ("", 0x9322_8a4d_e0ee_c5a2), ("a", 0xc5ba_c3db_1787_13c4), ("abc", 0xa97f_2f7b_1d9b_3314),
            ("message digest", 0x786d_1f1d_f380_1df4), ("abcdefghijklmnopqrstuvwxyz", 0xdca5_a813_8ad3_7c87),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0xb9e7_34f1_17cf_af70),
            (String(repeating: "1234567890", count: 8), 0x6cc5_eab4_9a92_d617),
        ]
        for (seed, (text, expected)) in vectors.enumerated() {
            #expect(Array(text.utf8).withUnsafeBytes { wyhash($0, seed: UInt64(seed)) } == expected, "\(text)")
        }
    }

    private func hash(_ orders: [Divergence.Order]) -> UInt64 {
        var hash = CommandHash()
        for order in orders {
            switch order {
            case .run(let effect): effect.withPayload { hash.run($0, effect.options) }
            case .then(let message): message.withUnsafeBytes { hash.follow($0) }
            case .cancel(let label): hash.cancel(label)
            case .emit(let output): output.withUnsafeBytes { hash.emit($0) }
            }
        }
        return hash.value
    }

    private func run(_ payload: [UInt8], _ options: RunOptions = .default) -> Divergence.Order {
        .run(OpenEffect(id: EffectID(turn: 1, ordinal: 0), root: 1, options: options, payload: payload, now: at(0)))
    }

    @Test func `Commands that differ in anything that matters have different hashes, now and in earlier builds`() {
        let commands: [[Divergence.Order]] = [
            [run([])], [run([0])], [run([0, 0])], [run([1])], [.then([1])], [.emit([1])], [.cancel("\u{1}")],
            [run([1]), run([1])], [run([1, 1])], [run([1]), .then([1])], [.then([1]), run([1])], [.then([1]), .then([1])],
            [run([1], RunOptions(queue: "cellar"))], [run([1], RunOptions(id: "cellar"))], [run([1], RunOptions(id: ""))],
            [run([1], RunOptions(priority: 1))], [run([1], RunOptions(retry: .times(3)))],
            [run([1], RunOptions(timeout: .seconds(1)))], [run([1], RunOptions(delay: .seconds(1)))],
            [run([1], RunOptions(limits: RunLimits(waiting: .seconds(1))))],
            [run([1], RunOptions(limits: RunLimits(total: .seconds(1))))],
            [run([1], RunOptions(at: at(0)))], [run([1], RunOptions(policy: .latest))],
            [run([1], RunOptions(policy: .serial(limit: 2)))], [run(Array(repeating: 1, count: 64))],
            [run(Array(repeating: 1, count: 65))], [run(Array(repeating: 1, count: 63) + [2])],
        ]
        #expect(Set(commands.map(hash)).count == commands.count)
        #expect(Set(commands.map(Divergence.formerHash)).count == commands.count)
    }

    @Test func `The hash is the same in every build`() {
        // What a journal holds must be known again: never change these numbers.
        let orders = [run([1, 2, 3]), .then([4]), .cancel("five"), .emit([6])]
        let withOptions = [run([1], RunOptions(id: "one", queue: "cellar", timeout: .seconds(2)))]
        #expect(hash(orders) == 0x6ba8_4498_5873_7c3f && hash(withOptions) == 0xc319_5845_5b2b_d182)
        #expect(Divergence.formerHash(of: orders) == 0xab65_01bb_d9c8_6755)
        #expect(Divergence.formerHash(of: withOptions) == 0x59de_44d5_6ead_445f)
    }
}
