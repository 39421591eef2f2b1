import MessagePack

/// The source of the conformance of one type.
struct CodecExtension {
    let name: String
    let session: ShapeSession
    let choice: CodecChoice

    var text: String {
        let type = choice.short(name)
        guard let definition = session.types[name], let body = body(of: definition) else {
            return "extension \(type): GeneratedCodable {}"
        }
        let form = ["public static var generatedForm: String? { \(literal(definition.generatedForm)) }", ""]
        return "extension \(type): GeneratedCodable {\n\(indented(form + body))\n}"
    }

    /// What an enum with raw values, or a struct around one, needs none of.
    private func body(of definition: Shape.Definition) -> [String]? {
        switch definition {
        case .fields(let fields): structure(fields)
        case .cases(let cases): enumeration(cases)
        case .names, .alias, .unknown: nil
        }
    }

    // MARK: Structs

    private func structure(_ fields: [String: Shape.Place]) -> [String] {
        let fields = sorted(fields)
        var lines = ["public func encode(into writer: inout MessagePackWriter) {"]
        lines.append("    writer.beginFields(\(count(fields) { "self.\(escaped($0))" }))")
        lines += fields.map { "    writer.\(write($0.place))(\(literal($0.key)), self.\(escaped($0.key)))" }
        lines += ["}", ""]
        lines.append("public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {")
        lines.append("    \(fields.isEmpty ? "let" : "var") left = try reader.beginFields()")
        lines += fields.map { "    self.\(escaped($0.key)) = try reader.\(read($0.place))(\(literal($0.key)), &left)" }
        lines += ["    try reader.endFields(left)", "}"]
        return lines
    }

    // MARK: Enums

    private func enumeration(_ cases: [String: [String: Shape.Place]]) -> [String] {
        let names = cases.keys.sorted()
        var lines = ["public func encode(into writer: inout MessagePackWriter) {", "    switch self {"]
        for name in names { lines += writing(name, cases[name] ?? [:]).map { "    \($0)" } }
        lines += ["    }", "}", ""]
        lines += ["public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {", "    try reader.beginCase()"]
        for (index, name) in names.enumerated() {
            let before = index == 0 ? "    " : "    } else "
            lines += reading(name, cases[name] ?? [:], before)
        }
        lines += ["    } else {", "        throw reader.notGenerated()", "    }", "}"]
        return lines
    }

    private func writing(_ name: String, _ values: [String: Shape.Place]) -> [String] {
        guard !values.isEmpty else { return ["case .\(escaped(name)): writer.beginCase(\(literal(name)), 0)"] }
        let places = declared(name)
        let fields = sorted(values)
        let pattern = places.indices.map { "let v\($0)" }.joined(separator: ", ")
        func variable(_ key: String) -> String { "v\(places.firstIndex(of: key) ?? 0)" }
        return ["case .\(escaped(name))(\(pattern)):", "    writer.beginCase(\(literal(name)), \(count(fields, variable)))"]
            + fields.map { "    writer.\(write($0.place))(\(literal($0.key)), \(variable($0.key)))" }
    }

    private func reading(_ name: String, _ values: [String: Shape.Place], _ before: String) -> [String] {
        guard !values.isEmpty else {
            return [
                "\(before)if let left = reader.readCase(\(literal(name))) {", "        try reader.endFields(left)",
                "        self = .\(escaped(name))",
            ]
        }
        let places = declared(name)
        let types = Dictionary(session.requests(of: self.name, case: name).map { ($0.key, $0.type) }) { first, _ in first }
        var lines = ["\(before)if var left = reader.readCase(\(literal(name))) {"]
        for field in sorted(values) {
            let type = types[field.key].map { choice.short(String(reflecting: $0)) } ?? ""
            let suffix = isOptional(field.place) ? "?" : ""
            let variable = "v\(places.firstIndex(of: field.key) ?? 0)"
            lines.append(
                "        let \(variable): \(type)\(suffix) = try reader.\(read(field.place))(\(literal(field.key)), &left)")
        }
        // The compiler gives a value without a label a key such as `_0`.
        let arguments = places.enumerated().map { index, key in key == "_\(index)" ? "v\(index)" : "\(label(key)): v\(index)" }
        lines.append("        try reader.endFields(left)")
        lines.append("        self = .\(escaped(name))(\(arguments.joined(separator: ", ")))")
        return lines
    }

    /// The keys of the values of a case as they are declared.
    private func declared(_ name: String) -> [String] { session.requests(of: self.name, case: name).map(\.key) }

    // MARK: Pieces

    /// In the order of their encoded keys, of which the length comes first.
    private func sorted(_ fields: [String: Shape.Place]) -> [(key: String, place: Shape.Place)] {
        fields.map { ($0.key, $0.value) }.sorted { first, second in
            let (one, other) = (first.key.utf8, second.key.utf8)
            return one.count == other.count ? one.lexicographicallyPrecedes(other) : one.count < other.count
        }
    }

    /// How many fields are written: those that are nil are not.
    private func count(_ fields: [(key: String, place: Shape.Place)], _ variable: (String) -> String) -> String {
        let optional = fields.filter { isOptional($0.place) }
        return (["\(fields.count - optional.count)"] + optional.map { "(\(variable($0.key)) == nil ? 0 : 1)" }).joined(
            separator: " + ")
    }

    private func isOptional(_ place: Shape.Place) -> Bool { PlaceKind(place).isOptional }

    private func write(_ place: Shape.Place) -> String { isOptional(place) ? "writeFieldIfPresent" : "writeField" }
    private func read(_ place: Shape.Place) -> String { isOptional(place) ? "readFieldIfPresent" : "readField" }

    private func literal(_ text: String) -> String { "\"\(text)\"" }

    /// Any name may stand in backquotes.
    private func escaped(_ name: String) -> String { Self.keywords.contains(name) ? "`\(name)`" : name }

    /// The only word that cannot be the label of an argument as it is.
    private func label(_ name: String) -> String { name == "inout" ? "`inout`" : name }

    private func indented(_ lines: [String]) -> String {
        lines.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    }

    /// Words that cannot be the name of a property or a case as they are.
    private static let keywords: Set<String> = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else", "enum",
        "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
        "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows",
        "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var",
        "where", "while",
    ]
}
