import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a snapshot holds besides the state: a value that cannot be read again costs the whole snapshot.
@Suite struct BookCodingTests {
    private static func kinds() throws -> [WantedEvent.Kind] {
        let rules: [Schedule.Rule] = [.every(.seconds(7)), .at(at(9)), .cron(try Cron("*/15 8-17 * * 1-5"))]
        let schedules = rules.flatMap { rule in Missed.allCases.map { Schedule(rule, missed: $0) } }
        return schedules.map { .timer($0, message: [1, 2]) } + [
            .lifecycle(.resumed, message: [3]), .lifecycle(.draining, message: []), .source(payload: [4], RunOptions()),
            .source(payload: [], RunOptions(queue: "slow", retry: .times(3), priority: 2)),
        ]
    }

    @Test func `Every subscription is read from a snapshot as it was written`() throws {
        for (number, kind) in try Self.kinds().enumerated() {
            for due in [nil, at(Double(number))] {
                let activation = SubscriptionTable.Activation(
                    id: EffectID(turn: 5, ordinal: number), wanted: WantedEvent(id: "watch", kind: kind), due: due)
                var writer = MessagePackWriter()
                activation.write(to: &writer)
                var reader = MessagePackReader(writer.bytes)
                #expect(try SubscriptionTable.Activation(from: &reader) == activation)
                #expect(reader.isAtEnd)
            }
        }
    }

    /// The code of a kind and its values, which are no subscription, and what is said of them.
    private static let malformed: [(Int, MessagePackValue, String)] = [
        (0, [0, 0], "unknown subscription 0"),
        (4, [0, 0], "unknown subscription 4"),
        (2, [99, .binary([])], "unknown moment 99"),
        (2, [-1, .binary([])], "unknown moment -1"),
        (1, [4, 0, 0, .binary([])], "unknown schedule 4"),
        (1, [1, 7, 99, .binary([])], "unknown rule for missed times 99"),
        (1, [1, 7, -1, .binary([])], "unknown rule for missed times -1"),
        (1, [3, [1, 2, 3, 4, 5], 0, .binary([])], "a calendar of other than six fields"),
        (1, [3, [1, 2, 3, 4, 5, 6, 7], 0, .binary([])], "a calendar of other than six fields"),
    ]

    @Test(arguments: malformed)
    func `What is no subscription is not read as one`(_ code: Int, _ values: MessagePackValue, _ text: String) throws {
        var writer = MessagePackWriter()
        writer.write(code)
        writer.write(values)
        var reader = MessagePackReader(writer.bytes)
        let error = #expect(throws: WireError.self) { try WantedEvent.Kind(from: &reader) }
        #expect(error == .malformed(text))
    }

    @Test func `An output and a cancelled effect are read from a snapshot as they were written`() throws {
        let output = EmittedOutput(id: EffectID(turn: 3, ordinal: 1), bytes: [1, 2, 3])
        let cancelled = EffectLedger.Cancelled(id: EffectID(turn: 4, ordinal: 2), root: 3, label: "search")
        var writer = MessagePackWriter()
        output.write(to: &writer)
        cancelled.write(to: &writer)
        var reader = MessagePackReader(writer.bytes)
        #expect(try EmittedOutput(from: &reader) == output)
        #expect(try EffectLedger.Cancelled(from: &reader) == cancelled)
        #expect(reader.isAtEnd)
    }
}
