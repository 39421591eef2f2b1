import Foundation

/// The clock that all processes of a machine share, in milliseconds.
public func machineTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1_000 + Int(time.tv_nsec) / 1_000_000
}

/// A file of JSON lines. Each line is one `write`, so that what was written survives the SIGKILL of its writer, and many threads
/// and lives may append to one file.
public final class HistoryFile: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let descriptor: Int32

    public init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "cannot open \(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    public func append(_ entry: some Encodable) throws {
        var line = try JSONEncoder().encode(entry)
        line.append(UInt8(ascii: "\n"))
        let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == line.count else { throw Failure(description: "cannot write: \(String(cString: strerror(errno)))") }
    }

    /// Reads a history. A last line that was cut short by a SIGKILL is left out; any other that cannot be read is an error.
    public static func read<Entry: Decodable>(_ path: String, as type: Entry.Type = Entry.self) throws -> [Entry] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        let isWhole = data.last == UInt8(ascii: "\n")
        let lines = data.split(separator: UInt8(ascii: "\n"))
        let decoder = JSONDecoder()
        return try (isWhole ? lines[...] : lines.dropLast()).map { try decoder.decode(Entry.self, from: $0) }
    }

    /// The last whole line, read without the others.
    public static func last<Entry: Decodable>(_ path: String, as type: Entry.Type = Entry.self) -> Entry? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }  // It was only read.
        guard let end = try? file.seekToEnd(), end > 0 else { return nil }
        // A sighting is far shorter than this.
        let start = end > 16_384 ? end - 16_384 : 0
        guard (try? file.seek(toOffset: start)) != nil, let data = try? file.readToEnd(),
            let newline = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return nil }
        let whole = data[..<newline].split(separator: UInt8(ascii: "\n"))
        return whole.last.flatMap { try? JSONDecoder().decode(Entry.self, from: $0) }
    }
}
