import SamovarCore
import Testing

@testable import DupesExample

/// The part that runs in workers, when files do not stay as they are.
struct WorkerTests {
    let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree()
    }

    @Test func `File that changed since its listing is a named problem`() throws {
        for name in ["kept", "grown", "gone", "link", "pipe", "folder", "other"] { try tree.makeFile(name, "content") }
        var driver = try SearchDriver(root: tree.root)
        try driver.apply(driver.answer(try driver.take()))

        try tree.makeFile("grown", "content and more")
        for name in ["gone", "link", "pipe", "folder"] { tree.remove(name) }
        try tree.makeSymbolicLink("link", to: "kept")
        try tree.makePipe("pipe")
        try tree.makeDirectory("folder")
        try driver.finish()

        #expect(driver.state.groups.map(\.paths) == [[tree.path("kept"), tree.path("other")]])
        #expect(
            driver.state.problems == [
                Problem(path: tree.path("folder"), reason: "No longer a regular file"),
                Problem(path: tree.path("gone"), reason: "No such file or directory"),
                Problem(path: tree.path("grown"), reason: "Changed from 7 to 16 bytes while it was looked at"),
                Problem(path: tree.path("link"), reason: "A symbolic link took the place of the file"),
                Problem(path: tree.path("pipe"), reason: "No longer a regular file"),
            ])
    }

    @Test func `Directory that changed since it was found is a named problem`() throws {
        for name in ["file", "gone", "link"] { try tree.makeDirectory(name) }
        var driver = try SearchDriver(root: tree.root)
        try driver.apply(driver.answer(try driver.take()))
        for name in ["file", "gone", "link"] { tree.remove(name) }
        try tree.makeFile("file", "")
        try tree.makeSymbolicLink("link", to: ".")
        try driver.finish()

        #expect(
            driver.state.problems == [
                Problem(path: tree.path("file"), reason: "Not a directory, or a symbolic link"),
                Problem(path: tree.path("gone"), reason: "No such file or directory"),
                Problem(path: tree.path("link"), reason: "Not a directory, or a symbolic link"),
            ])
    }

    @Test func `Path beyond the systems limit is a named problem`() {
        let path = Path("/" + String(repeating: "folder/", count: 1_000))
        let listing = DirectoryReader().list([path], after: nil, minimumSize: 1)
        #expect(listing.problems == [Problem(path: path, reason: "File name too long")])
        #expect(FileHasher().hash([path], sizes: [1]).failures.map(\.reason) == ["File name too long"])
    }

    @Test func `Pages of a directory hold each entry once`() throws {
        let names = (0..<50).map { "entry \($0)" }
        for name in names { try tree.makeFile(name, name) }
        var found: [Path] = []
        var after: Path?
        repeat {
            let page = DirectoryReader(pageSize: 200).list([tree.root], after: after, minimumSize: 1)
            #expect(page.files.count <= 8)
            found += page.files
            after = page.resumeAfter
        } while after != nil
        #expect(found == names.map { Path($0) }.sorted())
    }

    @Test func `File of several buffers has the digest of the whole`() throws {
        let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }
        try tree.makeFile(tree.path("a"), content)
        try tree.makeFile(tree.path("b"), content)
        let whole = FileHasher().hash([tree.path("a")], sizes: [content.count])
        let parts = FileHasher(bufferSize: 999).hash([tree.path("a")], sizes: [content.count])
        #expect(whole == parts)
        #expect(
            Digest(whole.digests[...]).hexadecimal == NaiveSearch.groups(below: tree.root).first?.sha256)
    }
}
