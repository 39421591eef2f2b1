import MessagePack
import SamovarCore
import Testing

@testable import SamovarProtocol

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
