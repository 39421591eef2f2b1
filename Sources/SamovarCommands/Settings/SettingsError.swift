import SamovarText

/// A setting that cannot be used, in one sentence: where it stands, what was found there, and what is allowed.
///
/// Commands end with exit code 78 (`EX_CONFIG`) for it. What it repeats of a file or a variable is escaped for terminals.
package struct SettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    init(_ place: String, is found: String, expected: String) {
        self.init("\(place) is \(found); expected \(expected)")
    }

    init(unknownKey key: String, in place: String, known: [String]) {
        let help =
            nearest(to: key, among: known).map { "did you mean \"\($0)\"?" } ?? "known keys: \(known.joined(separator: ", "))"
        self.init("unknown key \"\(shortened(key, to: 80))\" in \(place); \(help)")
    }
}
