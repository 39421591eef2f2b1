import SamovarCore
import Testing

@testable import DupesExample

/// Whole searches over real files, against the naive search.
struct SearchTests {
    let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree()
    }

    private func search(seed: UInt64 = 1, minimumSize: Int = 1) throws -> Dupes.State {
        var driver = try SearchDriver(root: tree.root, minimumSize: minimumSize)
        try driver.finish(seed: seed)
        #expect(driver.state.phase == .done)
        return driver.state
    }

    @Test func `Finds what the naive search finds in any order of answers`() throws {
        var random = Random(seed: 7)
        var folders = [""]
        for number in 0..<40 {
            let folder = folders[Int.random(in: 0..<folders.count, using: &random)] + "folder \(number)/"
            folders.append(folder)
            try tree.makeDirectory(folder)
            for file in 0..<Int.random(in: 0...60, using: &random) {
                let length = Int.random(in: 0..<30, using: &random)
                let variant = Int.random(in: 0..<4, using: &random)
                try tree.makeFile("\(folder)\(file)", String(repeating: "x", count: length) + "\(variant)")
            }
        }
        let expected = NaiveSearch.groups(below: tree.root)
        #expect(expected.count > 20)

        let first = try search(seed: 0)
        #expect(first.groups == expected)
        #expect(first.problems == [])
        for seed: UInt64 in 1...5 {
            #expect(try search(seed: seed) == first)
        }
    }

    @Test func `Tree without files has no groups`() throws {
        try tree.makeDirectory("empty")
        let state = try search()
        #expect(state.groups == [])
        #expect(state.problems == [])
        #expect(state.counts == Dupes.Counts(directories: 2))
    }

    @Test func `Root that is not there is a named problem`() throws {
        var driver = try SearchDriver(root: tree.path("missing"))
        try driver.finish()
        #expect(driver.state.phase == .done)
        #expect(driver.state.problems == [Problem(path: tree.path("missing"), reason: "No such file or directory")])
    }

    @Test func `Only files that share their size are hashed`() throws {
        try tree.makeFile("a", "12345")
        try tree.makeFile("b", "123456")
        try tree.makeFile("c", "1234567")
        try tree.makeFile("d", "7654321")
        let state = try search()
        #expect(state.counts == Dupes.Counts(directories: 1, files: 4, hashedFiles: 2, hashedBytes: 14))
        #expect(state.groups == [])
    }

    @Test func `Hard links are one file known by its smallest path`() throws {
        try tree.makeDirectory("a")
        try tree.makeDirectory("m")
        try tree.makeDirectory("z")
        try tree.makeFile("z/original", "same")
        try tree.makeHardLink("m/link", to: "z/original")
        #expect(try search().groups == [])

        try tree.makeHardLink("a/link", to: "z/original")
        try tree.makeFile("m/copy", "same")
        for seed: UInt64 in 0..<10 {
            let state = try search(seed: seed)
            #expect(state.groups.map(\.paths) == [[tree.path("a/link"), tree.path("m/copy")]])
            #expect(state.counts.hardLinks == 2)
            #expect(state.counts.files == 2)
            #expect(state.counts.reclaimableBytes == 4)
        }
        #expect(try search().groups == NaiveSearch.groups(below: tree.root))
    }

    @Test func `Symbolic links and pipes are ignored`() throws {
        try tree.makeDirectory("folder")
        try tree.makeFile("folder/file", "content")
        try tree.makeSymbolicLink("file", to: "folder/file")
        try tree.makeSymbolicLink("again", to: "folder")
        try tree.makeSymbolicLink("loop", to: ".")
        try tree.makeSymbolicLink("dangling", to: "nowhere")
        try tree.makePipe("pipe")
        let state = try search()
        #expect(state.counts == Dupes.Counts(directories: 2, files: 1))
        #expect(state.problems == [])
    }

    @Test func `Root that is a symbolic link is followed only with a slash`() throws {
        try tree.makeDirectory("folder")
        try tree.makeFile("folder/a", "content")
        try tree.makeFile("folder/b", "content")
        try tree.makeSymbolicLink("link", to: "folder")

        var without = try SearchDriver(root: tree.path("link"))
        try without.finish()
        #expect(without.state.problems.map(\.path) == [tree.path("link")])

        var with = try SearchDriver(root: tree.path("link/"))
        try with.finish()
        #expect(with.state.groups.map(\.paths) == [[tree.path("link/a"), tree.path("link/b")]])
    }

    @Test func `Names that are not text survive`() throws {
        let names: [[UInt8]] = [[0xff, 0xfe], [0x66, 0xc3], [0x0a], [0x1b, 0x5b, 0x32, 0x4a], Array("é".utf8)]
        for name in names { try tree.makeFile(tree.root.appending(Path(bytes: name)), [1, 2, 3]) }
        let state = try search()
        #expect(state.groups.map(\.paths) == [names.map { tree.root.appending(Path(bytes: $0)) }.sorted()])
        #expect(try recoded(state) == state)
    }

    @Test func `Minimum size leaves out smaller files`() throws {
        for name in ["a", "b"] {
            try tree.makeFile("empty-\(name)", "")
            try tree.makeFile("three-\(name)", "123")
            try tree.makeFile("four-\(name)", "1234")
        }
        for size in [0, 1, 4, 5] {
            let state = try search(minimumSize: size)
            #expect(state.groups == NaiveSearch.groups(below: tree.root, minimumSize: size))
            #expect(state.counts.files + state.counts.smallFiles == 6)
        }
        #expect(try search(minimumSize: 0).groups.count == 3)
        #expect(try search(minimumSize: 5).counts == Dupes.Counts(directories: 1, smallFiles: 6))
    }

    @Test func `Directory too large for one answer is continued`() throws {
        try tree.makeDirectory("large")
        try tree.makeDirectory("other")
        for file in 0..<300 { try tree.makeFile("large/\(file)", "content \(file % 100)") }
        for file in 0..<30 { try tree.makeDirectory("large/folder \(file)") }
        try tree.makeFile("other/file", "content 1")
        let whole = try search()
        #expect(whole.groups.count == 100)

        for pageSize in [1, 100, 2_000] {
            var driver = try SearchDriver(root: tree.root)
            driver.reader = DirectoryReader(pageSize: pageSize)
            try driver.finish(seed: UInt64(pageSize))
            #expect(driver.state == whole)
        }
    }
}
