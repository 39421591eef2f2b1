import Foundation
import ProcessSupport
import Testing

@testable import SamovarCommands

/// How standard input is cut into lines; a file stands for it.
struct ReadLinesTests {
    private func lines(of text: String) throws -> [String] {
        let scratch = try Scratch()
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: try scratch.write(text, to: "input")))
        var lines: [String] = []
        readLines(of: file.fileDescriptor) { lines.append(String(decoding: $0, as: UTF8.self)) }
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
}
