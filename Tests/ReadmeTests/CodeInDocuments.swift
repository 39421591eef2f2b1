/// A block of Swift in a document.
struct CodeBlock {
    let line: Int
    let code: String
    /// It is another design's, and says so in the line before it.
    let isTheirs: Bool

    /// The line that stands before code that is not compiled.
    static let marker = "<!-- not compiled -->"

    static func all(in document: String) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var open: (line: Int, indentation: Int, isTheirs: Bool)?
        var code: [Substring] = []
        var before = ""
        for (index, line) in document.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = line.drop { $0 == " " }
            if let (start, indentation, isTheirs) = open {
                if text.hasPrefix("```") {
                    blocks.append(CodeBlock(line: start, code: withoutIndentation(code), isTheirs: isTheirs))
                    open = nil
                } else {
                    code.append(line.dropFirst(min(indentation, line.prefix { $0 == " " }.count)))
                }
            } else if text.hasPrefix("```swift") {
                open = (index + 1, line.count - text.count, before == marker)
                code = []
            }
            if !text.isEmpty { before = String(text) }
        }
        return blocks
    }
}

/// A part of a compiled source, from `// snippet: name` to `// end`.
struct Snippet {
    let name: String
    let path: String
    let code: String

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    static func all(in source: String, at path: String) throws -> [Snippet] {
        // Nearly all sources have none.
        guard source.contains("// snippet: ") else { return [] }
        var snippets: [Snippet] = []
        var open: String?
        var code: [Substring] = []
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("// snippet: ") {
                if let open { throw Malformed(description: "\(path): snippet \(open) does not end before the next one begins") }
                open = String(text.dropFirst("// snippet: ".count))
                code = []
            } else if text == "// end", let name = open {
                snippets.append(Snippet(name: name, path: path, code: withoutIndentation(code)))
                open = nil
            } else {
                code.append(line)
            }
        }
        if let open { throw Malformed(description: "\(path): snippet \(open) has no end") }
        return snippets
    }
}

/// The lines as they are read: nothing before the leftmost one, and no empty lines around them.
private func withoutIndentation(_ lines: [Substring]) -> String {
    var lines = lines[...]
    while lines.first?.allSatisfy({ $0 == " " }) == true { lines.removeFirst() }
    while lines.last?.allSatisfy({ $0 == " " }) == true { lines.removeLast() }
    let margin = lines.filter { !$0.allSatisfy { $0 == " " } }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.map { String($0.dropFirst(min(margin, $0.prefix { $0 == " " }.count))) }.joined(separator: "\n")
}
