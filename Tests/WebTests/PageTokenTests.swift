import Foundation
import ProcessSupport
import SamovarText
import Testing

@testable import SamovarWeb

/// The file with the secret of the page's address.
@Suite struct PageTokenTests {
    @Test func `A token is kept in a file of its owner, and another start has the same`() throws {
        let scratch = try Scratch()
        let file = scratch.folder("web.token")
        let token = try PageToken.kept(in: file)
        #expect(token.count == 64)
        #expect(try PageToken.kept(in: file) == token)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["web.token"], "and no draft is left")
        #expect(try PageToken.kept(in: nil) != PageToken.kept(in: nil))
    }

    @Test func `A file that others can read, that is a link or has no token is refused and stays`() throws {
        let scratch = try Scratch()
        let file = scratch.folder("web.token")
        _ = try PageToken.kept(in: file)
        chmod(file, 0o640)
        #expect(throws: CommandFailure.self) { try PageToken.kept(in: file) }
        chmod(file, 0o600)
        let link = scratch.folder("link")
        symlink(file, link)
        #expect(throws: CommandFailure.self) { try PageToken.kept(in: link) }
        let other = try scratch.write("short", to: "other")
        chmod(other, 0o600)
        #expect(throws: CommandFailure.self) { try PageToken.kept(in: other) }
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "short")
    }
}
