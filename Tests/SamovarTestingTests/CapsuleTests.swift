import SamovarCore
import SamovarTesting
import Testing

/// Capsules that cannot be read. What others do is with `capsule`, which writes them.
@Suite struct CapsuleTests {
    @Test func `A text that is no capsule is refused, and says why`() {
        let text = #expect(throws: (any Error).self) { try Capsule(base64: "====") }
        #expect(text.map { "\($0)" } == "it is no base64")
        let bytes = #expect(throws: (any Error).self) { try Capsule(base64: "kAE=") }
        #expect(bytes.map { "\($0)" } == "it is no capsule")
    }

    @Test func `A file that cannot be read is named`() {
        let error = #expect(throws: (any Error).self) { try Capsule(beside: "/nowhere/Tests.swift", "one.capsule") }
        #expect(error.map { "\($0)" }?.hasPrefix("the capsule /nowhere/one.capsule cannot be read: ") == true)
    }
}
