import Foundation
import ProcessSupport
import SamovarHost
import Testing

@testable import SamovarCommands

/// How standard input is cut into lines; a file stands for it.
struct ReadLinesTests {
    private func lines(of text: String, limit: Int = 1 << 20) throws -> [String] {
        let scratch = try Scratch()
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: try scratch.write(text, to: "input")))
        var lines: [String] = []
        readLines(of: file.fileDescriptor, limit: limit) { lines.append(String(decoding: $0, as: UTF8.self)) }
        try file.close()
        return lines
    }

    private static let inputs: [(String, [String])] = [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\nb\n", ["a", "b"]), ("a\n\nb", ["a", "", "b"]),
        ("a\r\nb\r", ["a", "b"]), ("a\rb\n\r\n", ["a\rb", ""]),
    ]

    @Test(arguments: inputs)
    func `A line ends with a line feed, a carriage return before it, or the input`(_ text: String, _ expected: [String]) throws {
        #expect(try lines(of: text) == expected)
    }

    @Test(arguments: 65_534...65_537) func `A line is one line however it is read`(_ length: Int) throws {
        let long = String(repeating: "x", count: length)
        #expect(try lines(of: "\(long)\r\n\(long)\(long)\n\(long)") == [long, long + long, long])
    }

    @Test func `Of a line that is too long so much is kept that its length shows, and the next one is whole`() throws {
        let long = String(repeating: "x", count: 200_000)
        #expect(try lines(of: "abc\r\n\(long)\nabc\rd\nabcd\r\nab", limit: 3) == ["abc", "xxxxx", "abc\rd", "abcd", "ab"])
    }
}

struct StandardStreamTests {
    @Test func `A pipe that does not block is read to its end`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (readEnd, writeEnd) = (ends[0], ends[1])
        _ = fcntl(readEnd, F_SETFL, fcntl(readEnd, F_GETFL) | O_NONBLOCK)
        let (heard, hears) = AsyncStream<String>.makeStream()
        async let failure = onThread("test-read") {
            defer { close(readEnd) }
            return readLines(of: readEnd) { hears.yield(String(decoding: $0, as: UTF8.self)) }
        }
        // Each is written when the one before was heard, so that there is nothing to read in between.
        var lines = heard.makeAsyncIterator()
        for line in ["a", "b", "c"] {
            #expect(writeAll(Array("\(line)\n".utf8), to: writeEnd) == nil)
            #expect(await lines.next() == line)
        }
        close(writeEnd)
        #expect(try await failure == nil)
    }

    @Test func `A pipe that does not block is written to as it is read`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (readEnd, writeEnd) = (ends[0], ends[1])
        _ = fcntl(writeEnd, F_SETFL, fcntl(writeEnd, F_GETFL) | O_NONBLOCK)
        // More than a pipe holds.
        async let failure = onThread("test-write") {
            defer { close(writeEnd) }
            return writeAll([UInt8](repeating: 1, count: 1 << 20), to: writeEnd)
        }
        let read =
            try await onThread("test-read") {
                defer { close(readEnd) }
                var (count, part) = (0, [UInt8](repeating: 0, count: 1 << 16))
                while true {
                    let more = Foundation.read(readEnd, &part, part.count)
                    guard more > 0 else { return count }
                    count += more
                }
            } as Int
        #expect(read == 1 << 20)
        #expect(try await failure == nil)
    }
}
