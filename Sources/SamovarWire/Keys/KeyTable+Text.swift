public import SamovarCore

/// A table of keys as it stands in a file, one key a line:
///
/// ```
/// # Samovar keys: name fingerprint roles option=value…
/// render-1 3f1c0d528f5e4b0e9a570c1d2e3f4a5b worker queues=render,encode not-after=2027-01-01T00:00:00Z
/// shop 0123456789abcdef0123456789abcdef client,viewer inputs=place,cancel sessions=1000 hellos=100
/// ```
///
/// It is read as a whole or not at all. Whoever changes it keeps all that people have written around the keys.
public struct KeyTableText: Equatable, Sendable {
    private struct Line: Equatable {
        let text: String
        /// Nil if it is empty, or a comment.
        var key: Key?
    }

    private var lines: [Line] = []
    /// What it says.
    public private(set) var table: KeyTable

    /// What a new file begins with.
    public static let heading = "# Samovar keys: name fingerprint roles option=value…"

    /// - Throws: `KeyTableError` that names the line. It does not repeat what stands there, which may be a secret in the wrong file.
    public init(_ text: String) throws(KeyTableError) {
        var places: [Fingerprint: Int] = [:]
        for (index, bytes) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            var line = String(Substring(bytes))
            if line.utf8.last == UInt8(ascii: "\r") { line = String(line.unicodeScalars.dropLast()) }
            let first = line.first { !$0.isWhitespace }
            if first == nil || first == "#" {
                lines.append(Line(text: line))
                continue
            }
            do throws(KeyTableError) {
                let key = try Key(line: line)
                if let place = places.updateValue(index + 1, forKey: key.fingerprint) {
                    throw KeyTableError("its fingerprint is that of line \(place), too")
                }
                lines.append(Line(text: line, key: key))
            } catch {
                throw KeyTableError("line \(index + 1): \(error)")
            }
        }
        // The text ends with the end of a line.
        if lines.last?.text == "" { lines.removeLast() }
        table = try KeyTable(lines.compactMap(\.key))
    }

    /// The text of the file.
    public var text: String { lines.map { $0.text + "\n" }.joined() }

    /// Adds a key behind the others.
    ///
    /// - Throws: `KeyTableError` if another one has its fingerprint, or two have its name.
    public mutating func add(_ key: Key) throws(KeyTableError) {
        guard let read = try? Key(line: key.line), read == key else {
            throw KeyTableError(
                """
                \(key.name) cannot be written: names are not empty, limits from 1 to \(Key.Limits.largest), times whole seconds from \
                1970 to 9999
                """)
        }
        table = try KeyTable(table.keys + [key])
        lines.append(Line(text: key.line, key: key))
    }

    /// Takes a key away; false if there is none of this fingerprint.
    public mutating func remove(_ fingerprint: Fingerprint) throws(KeyTableError) -> Bool {
        guard table[fingerprint] != nil else { return false }
        lines.removeAll { $0.key?.fingerprint == fingerprint }
        table = try KeyTable(lines.compactMap(\.key))
        return true
    }
}
