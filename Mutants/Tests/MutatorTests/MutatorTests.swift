import Mutator
import Testing

/// What is found in a source, and how a change is written into it.
@Suite struct MutatorTests {
    private static func mutants(_ text: String) -> [Mutant] { Finder.mutants(in: text, file: "SamovarStore/Machine/Gate.swift") }

    private static func changes(_ text: String) -> [String] { mutants(text).map { "\($0.change.rawValue): \($0.original)" } }

    private static func instrumented(_ text: String, _ choose: (Mutant) -> Bool = { _ in true }) -> String {
        Instrumented(text, mutants(text).filter(choose).enumerated().map { ($0.offset + 1, $0.element) }).text
    }

    @Test func `A condition is negated, each of its operands dropped, and each of its bounds moved`() {
        let changes = Self.changes("func f() { if isFree && a <= b { g() } }")
        #expect(
            changes == [
                "condition dropped: isFree", "condition negated: isFree && a <= b", "condition dropped: a <= b",
                "bound moved: a <= b",
                "statement removed: g()",
            ])
    }

    @Test func `Changes of one place are one within the other`() {
        let text = Self.instrumented("func f() { while a < b { g() } }")
        #expect(text == "func f() { while mutant(1, negates: mutant(2, less: a, b)) { if !mutant(3) { g() } } }")
    }

    @Test func `Lines keep their numbers`() {
        let source = "func f() -> Bool {\n    a\n        < b\n}"
        #expect(Self.instrumented(source).split(separator: "\n").count == source.split(separator: "\n").count)
    }

    @Test func `A floor is weakened, and what has none is left alone`() {
        let text = Self.instrumented("func f() { send(x, floor: .turn(head))\nsend(y, floor: .none) }") {
            $0.change == .floorWeakened
        }
        #expect(text == "func f() { send(x, floor: (mutant(1) ? .none : (.turn(head))))\nsend(y, floor: .none) }")
    }

    @Test func `What gives a value is no statement that can be removed`() {
        #expect(
            Self.changes("func f() -> Int { g() }\nvar a: Int { g() }\nlet b = if c { g() } else { h() }") == [
                "condition negated: c"
            ])
        #expect(Self.changes("let d = list.map { g($0) }").isEmpty)
        #expect(Self.changes("func f() { if c { g() } }") == ["condition negated: c", "statement removed: g()"])
    }

    @Test func `A guard is left as it is, or its condition dropped`() {
        #expect(
            Self.changes("func f() { guard let a, a.b else { return }\nif c { return }\ng() }") == [
                "condition negated: a.b", "condition dropped: a.b", "condition negated: c", "statement removed: return",
                "statement removed: g()",
            ])
    }

    @Test func `Texts, figures, preconditions and sizes are left alone`() {
        let source = """
            func f() { note(.info, a < b ? "1" : "2")
            counters.turns += 1
            actions.append(.note(a < b ? "1" : "2"))
            precondition(a < b)
            list.reserveCapacity(3)
            let writer = Writer(reserving: list.count + 5)
            let size = 1_024 }
            var description: String { a < b ? "c" : "d" }
            enum Kind: Int { case first = 1 }
            """
        #expect(Self.changes(source).isEmpty)
        #expect(!Rules.isChanged("SamovarWire/Frames/Frame.swift") && !Rules.isChanged("SamovarStore/Machine/StoreSettings.swift"))
        #expect(Rules.isChanged("SamovarStore/Machine/Gate.swift"))
    }

    @Test func `Places that look the same in one function are told apart`() {
        #expect(Self.mutants("struct A { func f() { g(); g() }\nfunc h() { g() } }").map(\.key.occurrence) == [1, 2, 1])
        #expect(Self.mutants("struct A { func f() { g() } }").map(\.function) == ["A.f"])
    }

    @Test func `An error of the compiler is of the innermost change around it, or of those of its function`() {
        let source = "func f() { if a < b { g() } }\nfunc h() { i() }"
        let changed = Instrumented(source, Self.mutants(source).enumerated().map { ($0.offset + 1, $0.element) })
        // if mutant(1, negates: mutant(2, less: a, b)) …
        #expect(changed.suspects(line: 1, column: 16) == [1])
        #expect(changed.suspects(line: 1, column: 44) == [2])
        #expect(changed.suspects(line: 2, column: 1) == [4])
    }

    @Test func `A seed gives one order`() {
        var (first, second, other) = (Draw(seed: 7), Draw(seed: 7), Draw(seed: 8))
        let order = first.shuffled(Array(1...100))
        #expect(order == second.shuffled(Array(1...100)))
        #expect(order != other.shuffled(Array(1...100)))
        #expect(order.sorted() == Array(1...100))
    }
}
