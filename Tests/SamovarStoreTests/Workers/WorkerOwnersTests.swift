import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Whose the identity of a worker is that has left.
@Suite struct WorkerOwnersTests {
    private let state = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 9)
    private var owners = WorkerOwners()

    private func worker(_ number: Int) -> WorkerID { WorkerID(high: 200, low: UInt64(number)) }

    @Test mutating func `It is that of the key which had it, and nobody's if none had`() {
        owners.left(worker(1), named("a"))
        owners.left(worker(2), nil)
        #expect(owners.admits(worker(1), named("a"), state) && !owners.admits(worker(1), named("b"), state))
        #expect(owners.admits(worker(2), nil, state) && !owners.admits(worker(2), named("a"), state))
        #expect(owners.admits(worker(3), named("a"), state))
    }

    @Test mutating func `Of those that have left so many are remembered and no more, the newest`() {
        for number in 0...WorkerOwners.limit { owners.left(worker(number), named("a")) }
        #expect(owners.admits(worker(0), named("b"), state) && !owners.admits(worker(1), named("b"), state))
        // Who leaves again has its place.
        owners.left(worker(1), named("a"))
        #expect(!owners.admits(worker(2), named("b"), state))
    }
}
