import Foundation
import MessagePack
import Testing

@testable import DupesExample

struct PathTests {
    @Test func `Text is coded as a plain string`() throws {
        let data = try JSONEncoder().encode([Path("/a b/é")])
        #expect(try JSONDecoder().decode([String].self, from: data) == ["/a b/é"])
        #expect(try JSONDecoder().decode([Path].self, from: Data(#"["/a b/é"]"#.utf8)) == [Path("/a b/é")])
    }

    @Test func `Bytes that are no text are coded as bytes`() throws {
        let path = Path(bytes: [0x2f, 0xff])
        #expect(try String(decoding: JSONEncoder().encode(path), as: UTF8.self) == #"{"bytes":[47,255]}"#)
        #expect(try recoded(path) == path)
    }

    @Test func `Seed needs only a root`() throws {
        let seed = try JSONDecoder().decode(Dupes.Seed.self, from: Data(#"{"root":"/usr/share"}"#.utf8))
        #expect(seed == Dupes.Seed(root: Path("/usr/share"), minimumSize: 1))
    }

    @Test(
        arguments: [
            (["root": 5], #"field "root": expected a string, found an integer"#),
            (["root": .array([1])], #"field "root": expected a string, found an array of 1"#),
            (["root": ["bites": .array([])]], #"missing field "root.bytes""#),
        ] as [(MessagePackValue, String)])
    func `A path that is none is said to be no text`(_ seed: MessagePackValue, _ text: String) throws {
        var writer = MessagePackWriter()
        writer.write(seed)
        do {
            _ = try MessagePackDecoder(lenient: true).decode(Dupes.Seed.self, from: writer.bytes)
            Issue.record("it was read")
        } catch {
            let words = describe(decodingFailure: error, of: Dupes.Seed.self)
            #expect(words.hasPrefix(text), "\(words)")
        }
    }

    @Test func `Equal looking text is not the same path`() {
        #expect(Path("\u{e9}") != Path("e\u{301}"))
    }

    @Test(arguments: [("/", "/a"), ("b", "b/a"), ("b/", "b/a"), (".", "./a")])
    func `Names are appended as find prints them`(_ directory: String, _ path: String) {
        #expect(Path(directory).appending(Path("a")) == Path(path))
    }

    @Test func `List gives back what was appended`() throws {
        let paths = [Path("a"), Path(""), Path(bytes: [0xff]), Path("b/c")]
        let list = PathList(paths)
        #expect(Array(list) == paths)
        #expect(list.count == 4)
        #expect(try recoded(list) == list)
        #expect(Array(PathList()) == [])
    }

    @Test(arguments: [
        (#""sizes":[1]"#, #""sizes":[1,2]"#), (#""inodes":[2]"#, #""inodes":[]"#), (#""fileCounts":[1]"#, #""fileCounts":[-1]"#),
        (#""fileCounts":[1]"#, #""fileCounts":[1,0]"#), (#""subdirectoryCounts":[1]"#, #""subdirectoryCounts":[2]"#),
    ])
    func `Listing whose columns do not fit is refused`(_ column: String, _ wrong: String) throws {
        var listing = Listing()
        listing.beginDirectory()
        listing.addSubdirectory(Path("d"))
        listing.addFile(Path("f"), size: 1, identity: FileIdentity(device: 1, inode: 2))
        #expect(try recoded(listing) == listing)

        let json = String(decoding: try JSONEncoder().encode(listing), as: UTF8.self)
        #expect(json.contains(column))
        let broken = json.replacingOccurrences(of: column, with: wrong)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Listing.self, from: Data(broken.utf8)) }
    }
}
