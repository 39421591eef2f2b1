import Testing

@testable import SamovarCommands

struct OwnExecutableTests {
    @Test func `An executable that a build has replaced is the one in its place`() {
        #expect(executablePath(of: "/tool/counter (deleted)") == "/tool/counter")
        #expect(executablePath(of: "/tool/counter") == "/tool/counter")
    }
}
