import Configuration
import SamovarText
import Yams

/// A YAML file of settings, flattened: `store: {window: 8}` is the entry `store.window`.
///
/// The file is read with Yams and handed on in memory, not through `YAMLSnapshot`: that one can list neither keys nor
/// lines, and an integer such as `90000000000000000:0:0` (base 60) makes it trap.
package struct SettingsFile {
    struct Entry {
        let key: String
        let line: Int
        /// A text or a list of texts; nil for a key without a value.
        let content: ConfigContent?
    }

    static let maximumBytes = 1 << 16
    /// Keys and sections, with each alias counted wherever it is used, so that a few lines cannot unfold into billions.
    static let maximumKeys = 1_000

    let path: String
    private(set) var entries: [Entry] = []

    init(path: String) throws(SettingsError) {
        try self.init(path: path, yaml: readText(of: path, atMost: Self.maximumBytes))
    }

    package init(path: String, yaml: String) throws(SettingsError) {
        self.path = path
        let root: Node?
        do {
            // With the encoding said, Yams does not look for a variable and print what it found to standard output.
            root = try Yams.compose(yaml: yaml, .default, .default, .utf8)
        } catch let error as YamlError {
            throw SettingsError("\(shownPath) is no YAML: \(problem(of: error))")
        } catch {
            throw SettingsError("\(shownPath) is no YAML: \(escapeForTerminal("\(error)"))")
        }
        // A file in which everything is a comment.
        guard let root, root.null == nil else { return }
        guard let mapping = root.mapping else {
            throw SettingsError("\(shownPath) has no keys at its top; expected lines such as \"slots: 4\"")
        }
        var visited = 0
        try flatten(mapping, under: "", &visited)
    }

    var provider: InMemoryProvider {
        let values = entries.compactMap { entry in
            entry.content.map { (AbsoluteConfigKey(ConfigKey(entry.key)), ConfigValue($0, isSecret: false)) }
        }
        // `store..window` is the same key to the provider. It is never asked for by that name, so it is found as unknown.
        return InMemoryProvider(values: Dictionary(values) { first, _ in first })
    }

    /// Where a key stands, in words.
    func place(of key: String) -> String {
        guard let entry = entries.first(where: { $0.key == key }) else { return shownPath }
        return place(line: entry.line)
    }

    private func place(line: Int) -> String { "\(shownPath), line \(line)" }

    private var shownPath: String { escapeForTerminal(path) }

    private mutating func flatten(_ mapping: Node.Mapping, under prefix: String, _ visited: inout Int) throws(SettingsError) {
        for (name, value) in mapping {
            visited += 1
            guard visited <= Self.maximumKeys else {
                throw SettingsError("\(shownPath) has more than \(Self.maximumKeys) keys")
            }
            let line = name.mark?.line ?? 1
            guard let name = name.scalar?.string, !name.isEmpty else {
                throw SettingsError("a key in \(place(line: line)) is no text")
            }
            if let section = value.mapping {
                try flatten(section, under: prefix + name + ".", &visited)
            } else {
                try add(prefix + name, value, line: line)
            }
        }
    }

    private mutating func add(_ key: String, _ value: Node, line: Int) throws(SettingsError) {
        let shown = "\"\(shortened(key, to: 80))\" in \(place(line: line))"
        guard !entries.contains(where: { $0.key == key }) else { throw SettingsError("\(shown) was set before") }
        var content: ConfigContent?
        if let elements = value.sequence {
            content = .stringArray(elements.compactMap { $0.scalar?.string })
            guard elements.allSatisfy({ $0.scalar != nil }) else {
                throw SettingsError("\(shown) has a list or keys inside a list; expected texts there")
            }
        } else if value.null == nil {
            content = .string(value.scalar?.string ?? "")
        }
        entries.append(Entry(key: key, line: line, content: content))
    }
}

/// What is wrong, in a few words, with the line: the library's own text repeats the whole line and a pointer below it.
private func problem(of error: YamlError) -> String {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _), .composer(_, let problem, let mark, _):
        "\(escapeForTerminal(problem)) (line \(mark.line), column \(mark.column))"
    case .duplicatedKeysInMapping(let keys, let context):
        "\(keys.map { "\"\(shortened($0, to: 80))\"" }.joined(separator: ", ")) occurs twice (line \(context.mark.line))"
    case .reader(let problem, _, _, _): escapeForTerminal(problem)
    default: shortened("\(error)", to: 200)
    }
}
