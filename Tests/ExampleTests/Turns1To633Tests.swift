import SamovarTesting
import Testing

@testable import TallyExample

// snippet: tally-capsule
/// From the start:
/// - 1 start ← store
/// - 3 add {name milk} ← client 228aa552-5532-75f2-ef30-12118d3835b1 #2
/// - 633 count {by -1, name milk} ← client f13c6768-25e5-87cd-8edc-a2a1b423f8c5 #1, its last
@Test func `Turns 1 to 633 do no harm`() throws {
    let capsule = try Capsule(beside: #filePath, "Turns1To633.capsule")
    let end = try capsule.replay(Tally.self)
    #expect(!end.broken.contains("no count is negative"))
}
// end
