import MessagePack

/// Which types get code.
struct CodecChoice {
    private let session: ShapeSession
    private let prefix: String
    private let leaving: Set<String>
    /// What was found out about a type; while that is under way, that it is inside itself.
    private var objections: [String: String?] = [:]
    /// How deep arrays and maps are nested in a type to which there is no objection.
    private var depths: [String: Int] = [:]

    private static let mostValues = 15
    private static let longestKey = 31

    init(_ session: ShapeSession, module: String, leaving: Set<String>) {
        self.session = session
        self.leaving = leaving
        prefix = module + "."
    }

    /// The name as it stands in the source of the module. A program may have the name of its module, which then means the program.
    func short(_ name: String) -> String {
        var result = ""
        var rest = Substring(name)
        while !rest.isEmpty {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
            result += word.hasPrefix(prefix) ? word.dropFirst(prefix.count) : word
            rest = rest.dropFirst(word.count)
            result += rest.prefix(1)
            rest = rest.dropFirst()
        }
        return result
    }

    /// Whether it is a type of the module.
    func isOwn(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// The types that get code if a codec is asked for a value of this place: it is of no use inside of a type that has none.
    mutating func types(in place: Shape.Place) -> Set<String> {
        switch PlaceKind(place) {
        case .simple, .unknown: return []
        case .optional(let wrapped): return types(in: wrapped)
        case .array(let element): return types(in: element)
        case .dictionary(_, let value): return types(in: value)
        case .type(let name):
            guard isOwn(name), objection(to: name) == nil else { return [] }
            return places(of: name).reduce(into: [name]) { $0.formUnion(types(in: $1)) }
        }
    }

    private func places(of name: String) -> [Shape.Place] {
        switch session.types[name] {
        case .fields(let fields): Array(fields.values)
        case .cases(let cases): cases.values.flatMap(\.values)
        case .names, .alias, .unknown, nil: []
        }
    }

    /// Why code cannot be written for a type, or for one that has it in itself.
    mutating func objection(to name: String) -> String? {
        if let known = objections[name] { return known }
        objections[name] = "it is inside itself"
        let found = findObjection(to: name)
        objections[name] = .some(found)
        return found
    }

    private mutating func findObjection(to name: String) -> String? {
        guard let type = session.swiftTypes[name], let definition = session.types[name] else { return "nothing is known of it" }
        if leaving.contains(short(name)) { return "it was named with --leave" }
        if type is any MessagePackable.Type { return "it writes itself" }
        guard isOwn(name) else {
            return type is any GeneratedCodable.Type ? nil : "it is of another module"
        }
        if name.contains("(unknown context") { return "it is private" }
        if name.contains("<") { return "it is generic" }
        if type is AnyClass { return "it is a class" }
        switch definition {
        case .unknown: return "no value of it can be made up"
        case .names, .alias: return CodecSample(session: session).objection(toRawValueOf: name)
        case .fields(let fields): return objection(toFields: fields, of: name)
        case .cases(let cases): return objection(toCases: cases, of: name)
        }
    }

    private mutating func objection(toFields fields: [String: Shape.Place], of name: String) -> String? {
        guard let sample = session.sample(of: name) else { return "no value of it could be made up" }
        let mirror = Mirror(reflecting: sample)
        guard mirror.displayStyle == .struct, Set(mirror.children.compactMap(\.label)) == Set(fields.keys) else {
            return "it does not encode its properties under their names"
        }
        return objection(toKeys: fields) ?? objection(toDepthOf: name, 1) ?? CodecSample(session: session).objection(to: name)
    }

    private mutating func objection(toCases cases: [String: [String: Shape.Place]], of name: String) -> String? {
        for (key, values) in cases.sorted(by: { $0.key < $1.key }) {
            guard isIdentifier(key) else { return "\(key) is not the name of a case" }
            if let objection = objection(toLengthOf: key) { return objection }
            guard values.count <= Self.mostValues else { return "\(key) has more than \(Self.mostValues) values" }
            if let objection = objection(toKeys: values) { return objection }
        }
        return objection(toDepthOf: name, 2) ?? CodecSample(session: session).objection(to: name)
    }

    private mutating func objection(toKeys fields: [String: Shape.Place]) -> String? {
        for (key, place) in fields.sorted(by: { $0.key < $1.key }) {
            guard isIdentifier(key) else { return "\(key) is no name of Swift" }
            if let objection = objection(toLengthOf: key) { return objection }
            if let objection = objection(toPlace: place) { return "\(key): \(objection)" }
        }
        return nil
    }

    private func objection(toLengthOf key: String) -> String? {
        key.utf8.count <= Self.longestKey ? nil : "\(key) has more than \(Self.longestKey) bytes"
    }

    private mutating func objection(toPlace place: Shape.Place) -> String? {
        switch PlaceKind(place) {
        case .simple: return nil
        case .optional(let wrapped):
            if PlaceKind(wrapped).isOptional { return "it is optional twice" }
            return objection(toPlace: wrapped)
        case .array(let element): return objection(toPlace: element)
        case .dictionary(let key, let value):
            guard key == "String" || key == "Int" else { return "its keys are neither strings nor integers" }
            return objection(toPlace: value)
        case .type(let name): return objection(to: name).map { "\(short(name)) stays with Codable: \($0)" }
        case .unknown: return "its values may be anything"
        }
    }

    private mutating func objection(toDepthOf name: String, _ own: Int) -> String? {
        let depth = own + (places(of: name).map { self.depth(of: $0) }.max() ?? 0)
        depths[name] = depth
        return depth > GeneratedForms.largestDepth ? "it is nested deeper than \(GeneratedForms.largestDepth) arrays and maps" : nil
    }

    private func depth(of place: Shape.Place) -> Int {
        switch PlaceKind(place) {
        case .simple, .unknown: 0
        case .optional(let wrapped): depth(of: wrapped)
        case .array(let element): 1 + depth(of: element)
        case .dictionary(_, let value): 1 + depth(of: value)
        case .type(let name): depths[name] ?? 0
        }
    }

    private func isIdentifier(_ key: String) -> Bool {
        key.first.map { $0.isLetter || $0 == "_" } == true && key.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
}
