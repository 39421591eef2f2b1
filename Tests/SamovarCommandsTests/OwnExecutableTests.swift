import Foundation
import ProcessSupport
import Testing

@testable import SamovarCommands

struct OwnExecutableTests {
    @Test func `An executable that a build has replaced is the one in its place`() {
        #expect(executablePath(of: "/tool/counter (deleted)") == "/tool/counter")
        #expect(executablePath(of: "/tool/counter") == "/tool/counter")
    }

    @Test func `A file that has taken the place of another is another one, however like it is`() throws {
        let scratch = try Scratch()
        let (file, copy) = (try scratch.write("counter", to: "counter"), try scratch.write("counter", to: "copy"))
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        for path in [file, copy] { try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path) }
        let former = try #require(ExecutableFile(at: file))
        #expect(ExecutableFile(at: file) == former)
        #expect(rename(copy, file) == 0)
        let later = try #require(ExecutableFile(at: file))
        #expect(later != former && "\(later)" != "\(former)")
        #expect(ExecutableFile(at: copy) == nil, "there is none any more")
    }

    @Test func `An executable that nobody has touched is not replaced`() {
        #expect(ExecutableFile.own != nil && !ExecutableFile.ownIsReplaced)
    }
}
