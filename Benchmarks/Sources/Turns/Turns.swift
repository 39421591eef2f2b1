import CountedAllocations
import Elementary
import SamovarCore

/// What one turn of a counter costs, in a `LocalStore` and in Elementary's store, in turn within one run.
///
/// Prints one line per figure: a name and a number.
@main
struct Turns {
    static let rounds = 15
    static let turns = 2_000_000
    /// Read from memory that the optimiser does not see through, so that no loop becomes a multiplication.
    static let messages: [Counter.Message] = (0..<64).map { $0 % 3 == 1 ? .decrement : .increment }

    static func main() throws {
        var ours: [Double] = []
        var theirs: [Double] = []
        var called: [Double] = []
        var journalling: [Double] = []
        for _ in 0..<rounds {
            ours.append(try measureLocal())
            theirs.append(measureElementary())
            called.append(try measureCalled())
            journalling.append(try measureJournalling())
        }
        report("local_store_ns", median(ours))
        report("local_store_update_not_inlined_ns", median(called))
        report("local_store_with_journal_ns", median(journalling))
        report("elementary_ns", median(theirs))
        report("ratio", median(ours) / median(theirs))
        print("allocations \(try allocationsOfTurns())")
        print("allocations_of_control \(allocationsOfControl())")
    }

    @inline(never)
    static func measureLocal() throws -> Double {
        var store = try LocalStore(Counter.self)
        return try messages.withUnsafeBufferPointer { messages in
            let time = try nanoseconds {
                for index in 0..<turns { try store.send(messages[index & 63]) }
            }
            precondition(store.state.count != 0 && store.head == turns + 1, "the turns were not run")
            return time
        }
    }

    @inline(never)
    static func measureCalled() throws -> Double {
        var store = try LocalStore(CalledCounter.self)
        return try messages.withUnsafeBufferPointer { messages in
            let time = try nanoseconds {
                for index in 0..<turns { try store.send(messages[index & 63]) }
            }
            precondition(store.state.count != 0 && store.head == turns + 1, "the turns were not run")
            return time
        }
    }

    @inline(never)
    static func measureJournalling() throws -> Double {
        var store = try JournalingLocalStore(Counter.self, journal: LastTurn())
        return try messages.withUnsafeBufferPointer { messages in
            let time = try nanoseconds {
                for index in 0..<turns { try store.send(messages[index & 63]) }
            }
            precondition(store.journal.number == turns + 1, "the turns were not written")
            return time
        }
    }

    @inline(never)
    static func measureElementary() -> Double {
        let store = makeElementaryCounter()
        return messages.withUnsafeBufferPointer { messages in
            let time = nanoseconds {
                for index in 0..<turns { store.dispatch(messages[index & 63]) }
            }
            precondition(store.state.count != 0, "the actions were not dispatched")
            return time
        }
    }

    struct LastTurn: TurnJournal {
        var number = 0
        mutating func append(_ message: Counter.Message, _ turn: Turn) { number = turn.number }
    }

    // MARK: Allocations

    static func allocationsOfTurns() throws -> Int {
        var store = try LocalStore(Counter.self)
        let before = samovar_allocations()
        for index in 0..<1_000 { try store.send(messages[index & 63]) }
        let after = samovar_allocations()
        precondition(store.head == 1_001, "the turns were not run")
        return after - before
    }

    /// Shows that allocations are counted at all: one for each of 1,000 arrays.
    static func allocationsOfControl() -> Int {
        var sum = 0
        let before = samovar_allocations()
        for index in 0..<1_000 { sum &+= fresh(index).count }
        precondition(sum == 1_000 * 32, "the arrays were not made")
        return samovar_allocations() - before
    }

    @inline(never)
    static func fresh(_ value: Int) -> [Int] { Array(repeating: value, count: 32) }

    // MARK: Figures

    static func nanoseconds<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        let start = samovar_processor_time()
        try body()
        return Double(samovar_processor_time() - start) / Double(turns)
    }

    static func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

    static func report(_ name: String, _ figure: Double) {
        print("\(name) \(Double(Int(figure * 100)) / 100)")
    }
}
