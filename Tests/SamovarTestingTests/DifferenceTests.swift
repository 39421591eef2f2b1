import Testing

@testable import SamovarTesting

@Suite struct DifferenceTests {
    private enum Shape: Equatable {
        case point
        case circle(Int)
        case box(width: Int, height: Int)
        case named(label: String)
    }

    private struct Temperature: Equatable, CustomStringConvertible {
        var degrees: Int
        var description: String { degrees > 0 ? "warm" : "cold" }
    }

    private final class Opaque: Equatable {
        let number: Int
        init(_ number: Int) { self.number = number }
        static func == (a: Opaque, b: Opaque) -> Bool { a.number == b.number }
    }

    private struct Holder: Equatable {
        var temperature = Temperature(degrees: 1)
        var pair = [1: "one"]
        var optional: Int?
        var nested: [[Int]] = [[1], [2, 3]]
        var duration = Duration.seconds(1)
    }

    private static func lines<Value: Equatable>(_ expected: Value, _ actual: Value) -> [String] {
        Difference(expected: expected, actual: actual, named: "it").lines
    }

    @Test func `Equal values differ in nothing`() {
        #expect(Self.lines(Holder(), Holder()) == [])
    }

    @Test func `Cases and their values`() {
        #expect(Self.lines(Shape.point, .circle(1)) == ["it: expected .point, is .circle(1)"])
        #expect(Self.lines(Shape.circle(1), .circle(2)) == ["it.circle: expected 1, is 2"])
        #expect(Self.lines(Shape.box(width: 1, height: 2), .box(width: 1, height: 3)) == ["it.box.height: expected 2, is 3"])
        #expect(Self.lines(Shape.named(label: "a"), .named(label: "b")) == ["it.named.label: expected \"a\", is \"b\""])
    }

    @Test func `Nested collections, optionals and dictionaries`() {
        var other = Holder()
        other.nested[1][0] = 9
        other.optional = 3
        other.pair[2] = "two"
        other.duration = .milliseconds(1)
        #expect(
            Self.lines(Holder(), other) == [
                "it.pair[2]: expected nothing, is \"two\"", "it.optional: expected nil, is 3",
                "it.nested[1][0]: expected 2, is 9", "it.duration: expected 1.0 seconds, is 0.001 seconds",
            ])
    }

    @Test func `A nil in an optional is told from none at all`() {
        struct Patch: Equatable { var name: String?? }
        #expect(Self.lines(Patch(name: .some(nil)), Patch(name: nil)) == ["it.name: expected .some(nil), is nil"])
    }

    @Test func `Two texts that are shown alike are said to differ`() {
        let start = String(repeating: "x", count: 300)
        let lines = Self.lines([start + "a"], [start + "b"])
        #expect(lines.count == 1 && lines[0].hasPrefix("it[0]: two that differ are both shown as \"xxx"), "\(lines)")
    }

    @Test func `A value that describes itself is shown as it does, unless that hides the difference`() {
        var other = Holder()
        other.temperature.degrees = -1
        #expect(Self.lines(Holder(), other) == ["it.temperature: expected warm, is cold"])
        other.temperature.degrees = 2
        #expect(Self.lines(Holder(), other) == ["it.temperature.degrees: expected 1, is 2"])
    }

    @Test func `Classes are compared by their own equality`() {
        #expect(Self.lines(Opaque(1), Opaque(1)) == [])
        #expect(Self.lines(Opaque(1), Opaque(2)) == ["it.number: expected 1, is 2"])
    }

    @Test func `The number of lines and their length are limited`() {
        let many = Self.lines(Array(0..<100), Array(100..<200))
        #expect(many.count == 11)
        #expect(many.first == "it[0]: expected 0, is 100")
        #expect(many.last == "… and 90 more")
        #expect(Self.lines(Array(0..<5_000), Array(5_000..<10_000)).last == "… and many more")
        let long = Self.lines([String(repeating: "x", count: 5_000)], [])
        #expect(long[0].count < 300)
        #expect(long[0].hasSuffix("…, is missing"))
    }

    @Test func `Values nested without end are shown to a depth`() {
        indirect enum Chain: Equatable { case end(Int), link(Chain) }
        func chain(_ length: Int, _ end: Int) -> Chain { length == 0 ? .end(end) : .link(chain(length - 1, end)) }
        let lines = Self.lines(chain(1_000, 1), chain(1_000, 2))
        #expect(lines.count == 1)
        #expect(lines[0].count < 600)
    }

    @Test func `A difference is narrowed to what another one touches`() {
        struct Pair: Equatable { var a = [1, 2], b = 0 }
        let before = Pair()
        let expected = Pair(a: [5, 2], b: 0)
        let actual = Pair(a: [1, 9], b: 7)
        let change = Difference(expected: before, actual: expected, named: "it")
        let narrowed = Difference(expected: expected, actual: actual, named: "it", within: change)
        #expect(narrowed.lines == ["it.a[0]: expected 5, is 1"])
    }

    @Test func `What differs elsewhere counts for nothing, however much it is and whatever comes first`() {
        struct Pair: Equatable { var a = [Int](repeating: 0, count: 2_000), b = 0, c: Set<Int> = [] }
        let before = Pair()
        let expected = Pair(b: 5)
        let change = Difference(expected: before, actual: expected, named: "it")
        let actual = Pair(a: [Int](repeating: 1, count: 2_000), b: 4, c: [1])
        let narrowed = Difference(expected: expected, actual: actual, named: "it", within: change)
        #expect(narrowed.lines == ["it.b: expected 5, is 4"])
        let right = Pair(a: [Int](repeating: 1, count: 2_000), b: 5, c: [1])
        #expect(Difference(expected: expected, actual: right, named: "it", within: change).isEmpty)
    }

    @Test func `A change of more parts than are looked for narrows to where they are, and to what comes after them`() {
        struct Hall: Equatable { var a = [Int](repeating: 0, count: 2_000), b = 0, c = 0, d: [Int: Int] = [:] }
        let before = Hall()
        let expected = Hall(a: [Int](repeating: 1, count: 2_000), b: 0, c: 5)
        let change = Difference(expected: before, actual: expected, named: "it")
        var actual = expected
        actual.b = 7
        actual.d = [1: 1]
        #expect(Difference(expected: expected, actual: actual, named: "it", within: change).isEmpty)
        actual.a[1_500] = 9
        actual.c = 6
        #expect(
            Difference(expected: expected, actual: actual, named: "it", within: change).lines == [
                "it.a[1500]: expected 1, is 9", "it.c: expected 5, is 6",
            ])
    }
}
