import Journal
import JournalChain
import SamovarCore
import Synchronization
import Testing

@testable import SamovarHost

/// What is seen of a journal that a store is about to begin.
@Suite struct EstablishmentTests {
    private static let schema = Schema(name: "Lamp", version: 1)

    /// Opens a journal anew, as a store does that starts or follows.
    private func open(_ journal: BeginningJournal) throws -> OpenedJournal {
        try OpenedJournal(reading: FollowedPlace(journal).location)
    }

    @Test func `Who sees the timeline of a journal sees its secret, its program and its seed`() throws {
        let journal = BeginningJournal()
        let founder = try open(journal)
        try founder.establish(Self.schema, seed: [7])
        let follower = try open(journal)
        #expect(!follower.isNew && follower.timeline == founder.timeline)
        #expect(follower.secret == founder.secret && follower.seed == [7])
        #expect(try follower.author() == Self.schema.description)
    }

    @Test(arguments: 0...3)
    func `A journal whose establishment was cut short is new`(_ count: Int) throws {
        let journal = BeginningJournal(room: count)
        #expect(throws: StoreError.self) { try self.open(journal).establish(Self.schema, seed: [7]) }
        let next = try open(journal)
        #expect(next.isNew && next.seed == nil)
        #expect(try next.author() == nil)
        // Another store may begin it, as another program.
        journal.room = .max
        try next.establish(Schema(name: "Bell", version: 2), seed: [8])
        let follower = try open(journal)
        #expect(follower.timeline == next.timeline && follower.secret == next.secret && follower.seed == [8])
        #expect(try follower.author() == "Bell version 2")
    }
}

/// A journal without turns that nobody has, which takes so many facts.
final class BeginningJournal: SharedJournal {
    private struct State {
        var facts: [String: [UInt8]] = [:]
        var room: Int
    }

    private let state: Mutex<State>

    let identity = UniqueID(high: 1, low: 2)
    let first = 1
    let last = 0
    let epoch = 1
    let witnessed = 0
    let isWitnessed = true
    let hasSoundFacts = true
    let lease = FollowedLease(JournalOwnership(of: UniqueID(high: 1, low: 2), epoch: 1, head: 0, isReleased: true))

    init(room: Int = .max) {
        state = Mutex(State(room: room))
    }

    /// For how many facts more there is space.
    var room: Int {
        get { state.withLock { $0.room } }
        set { state.withLock { $0.room = newValue } }
    }

    func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            guard state.room > 0 else { throw JournalError(.unavailable, "The database is away.") }
            state.room -= 1
            state.facts[name] = value
        }
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? { state.withLock { $0.facts[name] } }

    func facts() throws(JournalError) -> [(name: String, value: [UInt8])] { [] }
    func chain(behind turn: Int?) throws(JournalError) -> BatchChain { BatchChain() }
    func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError? { nil }
    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {}
    func snapshots() throws(JournalError) -> [Int] { [] }
    func refresh() throws(JournalError) {}
    func close() throws(JournalError) {}

    var end: BatchChain { BatchChain() }
    func lease(address: String) -> any JournalLease { lease }
    func beginWriting(beyond number: Int) throws(JournalError) -> Int { epoch + 1 }

    // MARK: Nothing of this

    private static let unused = JournalError(.misuse, "It only begins.")

    func append(_ batch: Batch) throws(JournalError) { throw Self.unused }
    func save(_ snapshot: Snapshot) throws(JournalError) { throw Self.unused }
    func snapshot(at turn: Int) throws(JournalError) -> Snapshot { throw Self.unused }
    func trim(through turn: Int) throws(JournalError) -> Bool { throw Self.unused }
}
