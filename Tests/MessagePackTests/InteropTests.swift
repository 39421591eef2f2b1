import Foundation
import MessagePack
import ProcessSupport
import Testing

/// The independent implementation in Python's package `msgpack` reads what we write, and we read what it writes.
@Suite(.enabled("python3 has no package msgpack: run `python3 -m pip install msgpack`") { await Python.hasMessagePack() })
struct InteropTests {
    static let values: [(MessagePackValue, String)] = [
        (nil, "None"), (true, "True"), (false, "False"), (0, "0"), (127, "127"), (128, "128"), (65536, "65536"), (-1, "-1"),
        (-33, "-33"), (-32769, "-32769"), (.int(.min), "-9223372036854775808"), (.uint(.max), "18446744073709551615"),
        (1.5, "1.5"), (-0.1, "-0.1"), ("", "''"),
        ("é€😀", "'é€😀'"), (.binary([]), "b''"), (.binary([1, 255]), "b'\\x01\\xff'"),
        ([], "[]"), ([1, [2, []]], "[1, [2, []]]"), ([:], "{}"), (["a": ["b": nil], 5: "c"], "{'a': {'b': None}, 5: 'c'}"),
        (.extension(type: 5, bytes: [1, 2, 3]), "ExtType(code=5, data=b'\\x01\\x02\\x03')"),
        (.extension(type: -1, bytes: [0, 0, 0, 7]), "Timestamp(seconds=7, nanoseconds=0)"),
        (.string(String(repeating: "x", count: 70_000)), "'" + String(repeating: "x", count: 70_000) + "'"),
        (.array(Array(repeating: 7, count: 70_000)), "[" + Array(repeating: "7", count: 70_000).joined(separator: ", ") + "]"),
        (.binary(Array(repeating: 65, count: 300)), "b'" + String(repeating: "A", count: 300) + "'"),
    ]

    @Test func `Values are the same to both, and so are their bytes`() async throws {
        let encoded = Self.values.map { value, _ in
            var writer = MessagePackWriter()
            writer.write(value)
            return writer.bytes
        }
        let answers = try await Python.answers(to: encoded)
        try #require(answers.count == encoded.count)
        for (((value, text), bytes), answer) in zip(zip(Self.values, encoded), answers) {
            #expect(answer.text == text)
            #expect(answer.bytes == bytes)
            var reader = MessagePackReader(answer.bytes)
            #expect(try reader.readValue() == value)
        }
    }

    @Test func `Timestamps of every width are the same to both`() async throws {
        let times: [(seconds: Int64, nanoseconds: UInt32, bytes: String)] = [
            (0, 0, "d6ff00000000"), (1, 999_999_999, "d7ffee6b27fc00000001"), (4_294_967_296, 0, "d7ff0000000100000000"),
            (17_179_869_184, 5, "c70cff000000050000000400000000"), (-1, 5, "c70cff00000005ffffffffffffffff"),
            (-62_135_596_800, 0, "c70cff00000000fffffff1886e0900"),
        ]
        let answers = try await Python.answers(to: times.map { hex($0.bytes) })
        try #require(answers.count == times.count)
        for (time, answer) in zip(times, answers) {
            #expect(answer.text == "Timestamp(seconds=\(time.seconds), nanoseconds=\(time.nanoseconds))")
            #expect(hex(answer.bytes) == time.bytes)
            let read = try read(time.bytes) { try $0.readTimestamp() }
            #expect(read.seconds == time.seconds && read.nanoseconds == time.nanoseconds)
        }
    }

    @Test func `A Codable value survives the way through Python`() async throws {
        var box = fullBox
        // As a key Python takes no map and no list, and it writes every float with 64 bits.
        box.byMessage = [:]
        box.float = 0.5
        let answers = try await Python.answers(to: [MessagePackEncoder().encode(box)])
        #expect(try answers.map { try MessagePackDecoder().decode(Box.self, from: $0.bytes) } == [box])
    }
}

private enum Python {
    static func hasMessagePack() async -> Bool {
        // Where there is no Python, it cannot be started.
        (try? await run(["-c", "import msgpack"], input: ""))?.end == .exited(0)
    }

    /// What Python makes of each value: its `repr`, and its bytes.
    static func answers(to encoded: [[UInt8]]) async throws -> [(text: String, bytes: [UInt8])] {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "interop.py").path
        let python = try await run([script], input: encoded.map { hex($0) + "\n" }.joined())
        #expect(python.end == .exited(0), "\(python.errors)")
        return python.output.split(separator: "\n").map { line in
            let parts = line.split(separator: "\t")
            return (String(parts[0]), hex(String(parts[1])))
        }
    }

    private static func run(
        _ arguments: [String], input: String
    ) async throws -> (end: Child.End, output: String, errors: String) {
        try await Child.run("python3", arguments, input: input, variables: ["PYTHONIOENCODING": "utf-8"])
    }
}
