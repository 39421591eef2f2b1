import Configuration
import SamovarText

/// Reads settings from flags, environment and file, the first of these that has one.
///
/// It learns the known keys by being asked for them, so there is no list that could forget one: once everything was asked
/// for, ``finish()`` finds what nobody wanted. Every source is checked, not only the one that wins, because a wrong line
/// in a file would else show up on the day a flag is dropped.
struct SettingsReader {
    private static let prefix = "SAMOVAR_"
    /// Variables that are not settings: of the runtime itself, or set by a supervisor.
    static let reservedVariables: Set<String> = [
        "SAMOVAR_RUNTIME_DIR", "SAMOVAR_ANY_PORT", "SAMOVAR_WORKER_ID", "SAMOVAR_CRASH_AT", "SAMOVAR_CRASH_MARK",
    ]

    private let flags: InMemoryProvider
    private let variables: [String: String]
    private let environment: EnvironmentVariablesProvider
    private let file: SettingsFile?
    private let fileProvider: InMemoryProvider?
    private(set) var knownKeys: [String] = []
    /// Where the value of a key stands that was taken: `--data`, `SAMOVAR_DATA`, `"data" in local.yaml, line 2`.
    private(set) var places: [String: String] = [:]
    private var ranks: [String: Int] = [:]

    /// - Parameter flags: texts of the command line by the keys of their settings.
    init(flags: [String: String], environment: [String: String], file: SettingsFile?) {
        let values = flags.map { key, text in (AbsoluteConfigKey(ConfigKey(key)), ConfigValue(.string(text), isSecret: false)) }
        self.flags = InMemoryProvider(values: Dictionary(values) { first, _ in first })
        // An empty variable is one that is not set: this is how `${NAME:-}` of a compose file says so.
        variables = environment.filter { $0.key.hasPrefix(Self.prefix) && !$0.value.isEmpty }
        self.environment = EnvironmentVariablesProvider(environmentVariables: variables)
        self.file = file
        fileProvider = file?.provider
    }

    /// A text that is not empty.
    mutating func text(_ key: String, _ expected: String) throws(SettingsError) -> String? {
        try value(key, as: .string, expected: expected) { content in
            guard case .string(let text) = content, !text.isEmpty else { return nil }
            return text
        }
    }

    mutating func choice(_ key: String, of names: [String]) throws(SettingsError) -> String? {
        try value(key, as: .string, expected: "one of \(names.joined(separator: ", "))") { content in
            guard case .string(let text) = content, names.contains(text) else { return nil }
            return text
        }
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(SettingsError) -> Int? {
        let expected = "an integer from \(range.lowerBound) to \(range.upperBound)"
        return try value(key, as: .string, expected: expected) { content in
            guard case .string(let text) = content, let number = Int(text), range.contains(number) else { return nil }
            return number
        }
    }

    /// Names: a list in a file, separated by commas in a variable.
    ///
    /// - Parameter fit: whether all of them do. There is at least one, and none is empty.
    mutating func names(
        _ key: String, _ expected: String, where fit: ([String]) -> Bool
    ) throws(SettingsError) -> [String]? {
        try value(key, as: .stringArray, expected: expected) { content in
            guard case .stringArray(let names) = content, !names.isEmpty, !names.contains(""), fit(names) else { return nil }
            return names
        }
    }

    /// Which source the value of a key was taken from, the strongest first: 0 for a flag, 1 for a variable, 2 for the file or a default.
    func rank(of key: String) -> Int { ranks[key] ?? 2 }

    /// Ends the reading: refuses a key of the file that nobody asked for.
    ///
    /// - Returns: warnings about unknown variables, which are no error because others may have set them.
    func finish() throws(SettingsError) -> [String] {
        for entry in file?.entries ?? [] where !knownKeys.contains(entry.key) {
            // A section in which everything is a comment.
            if entry.content == nil, knownKeys.contains(where: { $0.hasPrefix(entry.key + ".") }) { continue }
            throw SettingsError(unknownKey: entry.key, in: file?.place(of: entry.key) ?? "", known: knownKeys)
        }
        let known = knownKeys.map(variable(of:))
        let unknown = variables.keys.sorted().filter { !known.contains($0) && !Self.reservedVariables.contains($0) }
        return unknown.map { name in
            // The prefix is common to all, and would make any of them look alike.
            let ending = String(name.dropFirst(Self.prefix.count))
            let help =
                nearest(to: ending, among: known.map { String($0.dropFirst(Self.prefix.count)) })
                .map { "; did you mean \(Self.prefix)\($0)?" } ?? ""
            return "the environment variable \(shortened(name, to: 80)) is unknown and ignored\(help)"
        }
    }

    // MARK: Sources

    private mutating func value<Value>(
        _ key: String, as type: ConfigType, expected: String, _ read: (ConfigContent) -> Value?
    ) throws(SettingsError) -> Value? {
        knownKeys.append(key)
        let variable = variable(of: key)
        var sources: [(place: String, provider: any ConfigProvider, key: AbsoluteConfigKey)] = [
            ("--" + variable.dropFirst(Self.prefix.count).lowercased().replacing("_", with: "-"), flags, absolute(key)),
            (variable, environment, absolute("samovar." + key)),
        ]
        if let file, let fileProvider {
            if file.entries.contains(where: { $0.key == key && $0.content == nil }) {
                throw SettingsError("\"\(key)\" in \(file.place(of: key)) has no value; expected \(expected)")
            }
            sources.append(("\"\(key)\" in \(file.place(of: key))", fileProvider, absolute(key)))
        }

        var first: Value?
        for (rank, source) in sources.enumerated() {
            let found: ConfigContent?
            do {
                found = try source.provider.value(forKey: source.key, type: type).value?.content
            } catch {
                throw SettingsError(source.place, is: type == .stringArray ? "one text" : "a list", expected: expected)
            }
            guard let found else { continue }
            guard let value = read(found) else {
                throw SettingsError(source.place, is: describe(found), expected: expected)
            }
            guard first == nil else { continue }
            first = value
            places[key] = source.place
            ranks[key] = rank
        }
        return first
    }

    /// `SAMOVAR_STORE_WINDOW` for `store.window`; the provider spells it so, but tells only whoever looks a key up.
    private func variable(of key: String) -> String {
        Self.prefix + key.map { $0 == "." ? "_" : $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }

    private func absolute(_ key: String) -> AbsoluteConfigKey { AbsoluteConfigKey(ConfigKey(key)) }

    private func describe(_ content: ConfigContent) -> String {
        switch content {
        case .string(let text): "\"\(shortened(text, to: 80))\""
        case .stringArray(let texts): "[\(shortened(texts.map { "\"\($0)\"" }.joined(separator: ", "), to: 80))]"
        default: "something else"
        }
    }
}
