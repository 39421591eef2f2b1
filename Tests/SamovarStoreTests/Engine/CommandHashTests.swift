import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

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
        #expect(Set(commands.map(CommandHash.of)).count == commands.count)
        #expect(Set(commands.map(Divergence.formerHash)).count == commands.count)
    }

    /// Whatever differs in a control, an option or a lane.
    static let controls: [Control] = [
        .requeue(.effect(EffectID(turn: 1, ordinal: 2))), .requeue(.effect(EffectID(turn: 2, ordinal: 1))), .requeue(.label("a")),
        .requeue(.queue("a")), .drop(.effect(EffectID(turn: 1, ordinal: 2))), .drop(.label("a")), .drop(.queue("a")),
        .pause(.queue("a")), .pause(.label("a")), .resume(.queue("a")), .resume(.label("a")), .pause(.label("b")),
        .rule("a", .none), .rule("b", .none), .rule("a", QueueRules(rate: .init(1, per: .seconds(1)))),
        .rule("a", QueueRules(rate: .init(1, per: .seconds(2)))),
        .rule("a", QueueRules(rate: .init(1, per: .seconds(1), burst: 2))),
        .rule("a", QueueRules(shares: .init())), .rule("a", QueueRules(shares: .init(["b": 1]))),
        .rule("a", QueueRules(shares: .init(["b": 2]))), .rule("a", QueueRules(shares: .init(["b": 2, "c": 3], others: 4))),
    ]

    @Test func `What came with controls and lanes has hashes of its own`() {
        var commands = Self.controls.map { [Divergence.Order.control($0)] }
        let lanes: [Policy] = [
            .serial(limit: 2), .lane(limit: 2), .lane(width: 2, limit: 2), .lane(limit: 3), .lane(limit: 2, behindDead: .stops),
        ]
        commands += lanes.map { [run([1], RunOptions(policy: $0))] }
        commands += [Retry.never, .never.keepingDead, .times(1).keepingDead].map { [run([1], RunOptions(retry: $0, priority: 1))] }
        commands += [["a"], ["b"], ["a", "b"]].map { [run([1], RunOptions(needs: $0))] }
        #expect(Set(commands.map(CommandHash.of)).count == commands.count)
    }

    @Test func `A control is read as it was written, and a lane has a number of its own`() throws {
        for control in Self.controls {
            var reader = MessagePackReader(control.canonicalBytes)
            #expect(try Control(from: &reader) == control && reader.isAtEnd)
        }
        for width in [1, 2, 1_000] {
            for limit in [1, 2, 1 << 32] {
                for behindDead in [Policy.BehindDead.goesOn, .stops] {
                    let lane = Policy.lane(width: width, limit: limit, behindDead: behindDead)
                    #expect(Policy(code: lane.code) == lane)
                }
            }
        }
        let lane = Policy.lane(width: 2, limit: 5, behindDead: .stops)
        #expect(lane.code == 1 << 44 | 1 << 43 | 2 << 33 | 5, "as journals have it")
        #expect(Policy(code: lane.code + (1 << 44)) == nil, "of no build that is known")
        let widths = [1 << 44, 1 << 44 | 5, 1 << 44 | 1_001 << 33 | 1]
        let limits = [1 << 44 | 1 << 33, 1 << 44 | 1 << 33 | 1 << 32 + 1]
        for code in widths + limits + [1 << 45, 1 << 62] { #expect(Policy(code: code) == nil) }
    }

    @Test func `A control of fewer or more fields than it has is not read as one`() {
        for control in Self.controls {
            let header = control.canonicalBytes[0]
            for other in [header - 1, header + 1] {
                var bytes = control.canonicalBytes
                bytes[0] = other
                var reader = MessagePackReader(bytes)
                #expect(throws: (any Error).self, "\(control)") { try Control(from: &reader) }
            }
        }
    }

    @Test func `A serial policy has the number of its limit, and none beyond the largest`() {
        for limit in [1, 2, 1 << 32] {
            let policy = Policy.serial(limit: limit)
            #expect(policy.code == 3 + limit && Policy(code: 3 + limit) == policy)
        }
        let largest = Policy.serial(limit: (1 << 32) + 1)
        #expect(largest.code == 3 + (1 << 32), "it is bounded when it is written")
        for code in [-1, 3, 4 + (1 << 32)] { #expect(Policy(code: code) == nil, "of no build that is known") }
    }

    @Test func `What an effect needs, and that it is kept when it is dead, are written each without the other`() throws {
        let options: [RunOptions] = [
            RunOptions(needs: ["gpu", "av1"]), RunOptions(retry: .never.keepingDead),
            RunOptions(retry: .never.keepingDead, needs: ["gpu"]),
        ]
        for options in options {
            var writer = MessagePackWriter()
            options.write(to: &writer)
            var reader = MessagePackReader(writer.bytes)
            #expect(try RunOptions(from: &reader) == options && reader.isAtEnd)
        }
    }

    @Test func `The hash is the same in every build`() {
        // What a journal holds must be known again: never change these numbers.
        let orders = [run([1, 2, 3]), .then([4]), .cancel("five"), .emit([6])]
        let withOptions = [run([1], RunOptions(id: "one", queue: "cellar", timeout: .seconds(2)))]
        #expect(CommandHash.of(orders) == 0x6ba8_4498_5873_7c3f && CommandHash.of(withOptions) == 0xc319_5845_5b2b_d182)
        #expect(Divergence.formerHash(of: orders) == 0xab65_01bb_d9c8_6755)
        #expect(Divergence.formerHash(of: withOptions) == 0x59de_44d5_6ead_445f)
    }
}
