import ProcessSupport
import Testing

@testable import SamovarText

/// Making a list smaller, against rules that say what fails.
@Suite struct ShrinkingTests {
    /// Fixed ones, and one that nobody has seen.
    static let seeds: [UInt64] = [1, 2, 3, .random(in: 0...UInt64.max)]

    private static func shrunk(
        _ elements: [Int], until isOver: () -> Bool = { false }, _ fails: ([Int]) -> Bool
    ) -> Shrinking<Int> {
        var shrinking = Shrinking(elements)
        shrinking.run(until: isOver) { fails($0) ? $0 : nil }
        return shrinking
    }

    @Test(arguments: seeds)
    func `Of what all must be there for, exactly that is left`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<200 {
            let count = Int.random(in: 0...60, using: &random)
            let needed = Set((0..<count).filter { _ in Int.random(in: 0..<8, using: &random) == 0 })
            let shrinking = Self.shrunk(Array(0..<count)) { needed.isSubset(of: $0) }
            #expect(shrinking.elements == needed.sorted(), "seed \(seed), round \(round)")
            #expect(!shrinking.isCut)
        }
    }

    @Test(arguments: seeds)
    func `Whatever fails, what is left fails, in the order that it had, and nothing can be taken away from it`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<200 {
            let count = Int.random(in: 1...30, using: &random)
            let (modulus, salt) = (Int.random(in: 2...5, using: &random), Int.random(in: 0..<1_000, using: &random))
            // No rule that grows with the list: some part fails and a larger one does not.
            func fails(_ elements: [Int]) -> Bool {
                elements.count == count || elements.reduce(salt) { $0 &* 31 &+ $1 } % modulus == 0
            }
            let left = Self.shrunk(Array(0..<count), fails).elements
            #expect(fails(left) && left == left.sorted(), "seed \(seed), round \(round)")
            for place in left.indices {
                var smaller = left
                smaller.remove(at: place)
                #expect(!fails(smaller), "seed \(seed), round \(round)")
            }
        }
    }

    @Test func `When the time is over, or the tries, what is left fails still`() {
        var asked = 0
        let late = Self.shrunk(
            Array(0..<1_000),
            until: {
                asked += 1; return asked > 10
            }
        ) { $0.contains(500) && $0.count > 3 }
        #expect(late.isCut && late.tries == 10 && late.elements.contains(500))
        let many = Self.shrunk(Array(0..<4_000)) { elements in elements.count { $0.isMultiple(of: 2) } == 2_000 }
        #expect(many.isCut && many.tries == Shrinking<Int>.maximumTries)
        #expect(many.elements.count { $0.isMultiple(of: 2) } == 2_000)
    }

    @Test func `What falls away by itself is not tried again`() {
        var shrinking = Shrinking(Array(0..<64))
        // Odd elements depend on the even one before them.
        shrinking.run(until: { false }) { elements in
            let kept = elements.filter { $0.isMultiple(of: 2) || elements.contains($0 - 1) }
            return kept.contains(41) ? kept : nil
        }
        #expect(shrinking.elements == [40, 41])
    }
}
