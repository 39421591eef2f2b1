import MessagePack
import Testing

@testable import SamovarText

@Suite struct ValueDifferenceTests {
    private func differences(_ one: MessagePackValue, _ other: MessagePackValue, limit: Int = 9) -> [ValueDifference] {
        ValueDifference.first(limit, between: one, and: other)
    }

    @Test func `Equal values have none`() {
        let value: MessagePackValue = ["a": [1, 2], "b": nil]
        #expect(differences(value, value).isEmpty)
    }

    @Test func `The smallest parts that differ are named by their paths`() {
        let one: MessagePackValue = ["tree": ["files": .array([1, 2])], "same": true]
        let other: MessagePackValue = ["tree": ["files": .array([1, 3])], "same": true]
        #expect(differences(one, other) == [ValueDifference(path: "tree.files.1", one: "2", other: "3")])
    }

    @Test func `What one side does not have is nothing there`() {
        #expect(
            differences(["a": 1, "b": .array([1])], ["b": .array([1, 2]), "c": 3]) == [
                ValueDifference(path: "a", one: "1", other: "nothing"),
                ValueDifference(path: "b.1", one: "nothing", other: "2"),
                ValueDifference(path: "c", one: "nothing", other: "3"),
            ])
    }

    @Test func `No more than the limit are looked for`() {
        let one = MessagePackValue.array((0..<100).map { .int(Int64($0)) })
        let other = MessagePackValue.array((0..<100).map { .int(Int64($0 + 1)) })
        #expect(differences(one, other, limit: 3).count == 3)
    }
}
