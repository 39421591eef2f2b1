import SamovarTerminal

/// A text that is safe to print: whatever could move the cursor, change colours or reorder the line is shown as its number.
///
/// Control characters (C0, DEL and C1, so every escape sequence, too), the separators of lines and paragraphs, and the
/// marks that change the direction of writing become `\u{1b}` and the like. All else, also a backslash, stays as it is.
public func escapeForTerminal(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.controlsTerminal) else { return text }
    return replacingScalars(of: text) { $0.controlsTerminal ? "\\u{\(String($0.value, radix: 16))}" : nil }
}

/// A text in which something else stands for some of its scalars; nil keeps one. Not by characters: behind a quote may come an accent, which
/// makes one character of both.
package func replacingScalars(of text: String, _ replacement: (Unicode.Scalar) -> String?) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if let new = replacement(scalar) { result += new } else { result.unicodeScalars.append(scalar) }
    }
    return result
}

/// An escaped text of at most `limit` Unicode scalars, the last one being “…” if something was cut.
///
/// Scalars are counted, not characters, because one character may have any number of accents.
package func shortened(_ text: String, to limit: Int) -> String {
    let escaped = escapeForTerminal(String(text.unicodeScalars.prefix(limit + 1)))
    guard escaped.unicodeScalars.count > limit else { return escaped }
    return String(escaped.unicodeScalars.prefix(limit - 1)) + "…"
}

/// A word of a command that is printed for a person to run, as a POSIX shell reads it. What a terminal would take for more than text is
/// escaped, and no such word can be run.
package func shellWord(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0)) }
    guard !isPlain else { return text }
    let quoted = replacingScalars(of: text) { $0 == "'" ? #"'\''"# : nil }
    return escapeForTerminal("'\(quoted)'")
}

/// A string literal of Swift, on one line.
package func swiftLiteral(_ text: String) -> String {
    let escaped = replacingScalars(of: text) { scalar in
        switch scalar {
        case "\"", "\\": "\\\(scalar)"
        case _ where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format:
            "\\u{\(String(scalar.value, radix: 16))}"
        default: nil
        }
    }
    return "\"\(escaped)\""
}
