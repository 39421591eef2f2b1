import SamovarCore
import Testing

@testable import SamovarSimulator

/// What the checker lets pass, and what it does not.
@Suite struct InvariantCheckerTests {
    @Test func `Tasks that waited for the disk when their worker said HELLO again count against its credit of before`() {
        var credit = CreditTold()
        credit.greeted()
        credit.welcomed()
        credit.raise(to: 12)
        #expect(credit.limit == 12)
        // The store took the worker for dead, and asks for another HELLO on the same socket.
        credit.greeted()
        #expect(credit.limit == 12, "the tasks leave before the WELCOME, and are dropped")
        credit.welcomed()
        #expect(credit.limit == 0, "whatever comes after it is counted anew")
        credit.raise(to: 2)
        credit.raise(to: 1)
        #expect(credit.limit == 2)
    }
}
