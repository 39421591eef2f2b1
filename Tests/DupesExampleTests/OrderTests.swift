import SamovarCore
import Testing

@testable import DupesExample

/// What the program asks of workers, and what it makes of their answers.
struct OrderTests {
    @Test func `Answer that comes twice changes nothing`() throws {
        let tree = try TemporaryTree()
        for folder in ["a", "b", "c"] {
            try tree.makeDirectory(folder)
            for file in 0..<20 { try tree.makeFile("\(folder)/\(file)", "content \(file % 7)") }
        }
        var driver = try SearchDriver(root: tree.root)
        var answers: [Dupes.Message] = []
        while !driver.open.isEmpty {
            answers.append(driver.answer(try driver.take()))
            try driver.apply(answers[answers.count - 1])
            let before = (state: driver.state, open: driver.open)
            for answer in answers { try driver.apply(answer) }
            #expect(driver.state == before.state)
            #expect(driver.open == before.open)
        }
        #expect(driver.state.groups == NaiveSearch.groups(below: tree.root))
    }

    @Test func `Never more than a thousand effects are open`() throws {
        var driver = try SearchDriver(root: Path("/r"))
        driver.isCoding = false
        var listing = Listing()
        listing.beginDirectory()
        for number in 0..<5_000 { listing.addSubdirectory(Path("\(number)")) }
        for number in 0..<60_000 {
            listing.addFile(Path("f\(number)"), size: 5, identity: FileIdentity(device: 1, inode: UInt64(number)))
        }
        _ = try driver.take()
        try driver.apply(.listed(order: 1, listing: listing))

        var effects = 0
        while !driver.open.isEmpty {
            #expect(driver.open.count <= 1_000)
            effects += 1
            switch try driver.take() {
            case .list(let order, let directories, _, _):
                var answer = Listing()
                for _ in directories { answer.beginDirectory() }
                try driver.apply(.listed(order: order, listing: answer))
            case .hash(let order, let files, _):
                try driver.apply(.hashed(order: order, hashes: Hashes(digests: Array(repeating: 1, count: 32 * files.count))))
            }
        }
        #expect(driver.state.phase == .done)
        #expect(driver.state.groups.map(\.paths.count) == [60_000])
        #expect(effects < 500)
    }

    @Test func `Large files share no order`() throws {
        var driver = try SearchDriver(root: Path("/r"))
        var listing = Listing()
        listing.beginDirectory()
        let sizes = [10 << 20, 20 << 20, 1 << 40]
        for number in 0..<6 {
            let identity = FileIdentity(device: 1, inode: UInt64(number))
            listing.addFile(Path("\(number)"), size: sizes[number / 2], identity: identity)
        }
        _ = try driver.take()
        try driver.apply(.listed(order: 1, listing: listing))
        let files = try driver.open.map { effect in
            guard case .hash(_, let files, _) = effect else { throw Unexpected() }
            return files.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(files == [["/r/0"], ["/r/1"], ["/r/2"], ["/r/3"], ["/r/4"], ["/r/5"]])
    }

    @Test func `Sizes that no integer can sum do not trap`() throws {
        var driver = try SearchDriver(root: Path("/r"), minimumSize: 0)
        var listing = Listing()
        listing.beginDirectory()
        for number in 0..<6 {
            let identity = FileIdentity(device: 1, inode: UInt64(number))
            listing.addFile(Path("\(number)"), size: number < 4 ? .max : .min, identity: identity)
        }
        _ = try driver.take()
        try driver.apply(.listed(order: 1, listing: listing))
        while !driver.open.isEmpty {
            guard case .hash(let order, let files, _) = try driver.take() else { throw Unexpected() }
            try driver.apply(.hashed(order: order, hashes: Hashes(digests: Array(repeating: 1, count: 32 * files.count))))
        }
        #expect(driver.state.phase == .done)
        #expect(driver.view.fraction == 1)
    }

    @Test func `Effect that failed for good names its paths`() throws {
        let tree = try TemporaryTree()
        try tree.makeDirectory("folder")
        try tree.makeFile("a", "content")
        try tree.makeFile("b", "content")
        var driver = try SearchDriver(root: tree.root)
        try driver.apply(driver.answer(try driver.take()))
        let failure = Failure(reason: .workerDied, text: "", attempts: 2)
        while !driver.open.isEmpty {
            try driver.apply(try #require(Dupes.failed(try driver.take(), failure)))
        }
        #expect(driver.state.phase == .done)
        #expect(driver.state.problems.map(\.path) == [tree.path("a"), tree.path("b"), tree.path("folder")])
        #expect(Set(driver.state.problems.map(\.reason)) == ["killed its workers after 2 attempts"])
    }

    @Test(arguments: [
        Hashes(),
        Hashes(digests: Array(repeating: 1, count: 63)),
        Hashes(digests: Array(repeating: 1, count: 32), failures: [Hashes.Failure(index: 2, reason: "?")]),
        Hashes(failures: [Hashes.Failure(index: 1, reason: "?"), Hashes.Failure(index: 0, reason: "?")]),
        Hashes(digests: Array(repeating: 1, count: 96)),
    ])
    func `Answer that does not fit its order is a problem of its files`(_ hashes: Hashes) throws {
        let tree = try TemporaryTree()
        try tree.makeFile("a", "content")
        try tree.makeFile("b", "content")
        var driver = try SearchDriver(root: tree.root)
        try driver.apply(driver.answer(try driver.take()))
        guard case .hash(let order, _, _) = try driver.take() else { throw Unexpected() }
        try driver.apply(.hashed(order: order, hashes: hashes))
        #expect(driver.state.phase == .done)
        #expect(driver.state.groups == [])
        #expect(driver.state.problems.map(\.path) == [tree.path("a"), tree.path("b")])
    }

    @Test func `State in the middle of a search survives a coder`() throws {
        let tree = try TemporaryTree()
        for folder in 0..<30 {
            try tree.makeDirectory("\(folder)")
            for file in 0..<30 { try tree.makeFile("\(folder)/\(file)", "content \(file * folder % 50)") }
        }
        try tree.makeHardLink("0/link", to: "9/9")
        var driver = try SearchDriver(root: tree.root)
        driver.reader = DirectoryReader(pageSize: 500)
        while !driver.open.isEmpty {
            try driver.apply(driver.answer(try driver.take(driver.open.count / 2)))
            #expect(try recoded(driver.state) == driver.state)
            #expect(try recoded(driver.view) == driver.view)
        }
    }

    @Test(arguments: [
        (Dupes.Seed(root: Path(""), minimumSize: 1), Dupes.Seed.Invalid.emptyRoot),
        (Dupes.Seed(root: Path("a\u{0}b"), minimumSize: 1), .rootWithNUL),
        (Dupes.Seed(root: Path("/"), minimumSize: -1), .negativeSize(size: -1)),
    ])
    func seedThatCannotBeSearchedIsRefused(_ seed: Dupes.Seed, _ error: Dupes.Seed.Invalid) throws {
        #expect(throws: error) { _ = try SearchDriver(root: seed.root, minimumSize: seed.minimumSize) }
    }
}

private struct Unexpected: Error {}
