import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

@Suite struct PastMachineTests {
    @Test func `A turn that cannot be replayed is over, too, for who watches the program`() throws {
        let past = PastMachine(TypedEngine(Shop.self, secret: workshopSecret))
        var marks: [Int?] = []
        past.mark = { marks.append($0) }
        // The turn before it is missing.
        var batch = RecordBatch(after: 1)
        batch.append(Record(turn: 2, time: at(1), event: .stateDigest(7)))
        #expect(throws: ReplayError.self) { try past.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        #expect(marks == [2, nil])
    }
}
