/// What differs between an expected and an actual value, part by part.
///
/// It goes by `Mirror`, into structs, enums, collections and optionals, as far as the values are unequal, and names each part by
/// its path. It is bounded in depth, in parts, and in the length of each text, whatever the values hold.
struct Difference {
    struct Part: Equatable {
        var path: String
        var expected: String
        var actual: String

        var text: String {
            if expected == actual { return "\(path): two that differ are both shown as \(actual)" }
            return "\(path): expected \(expected), is \(actual)"
        }
    }

    /// Parts that are looked for.
    static let limit = 1_000
    /// Parts that are shown.
    static let shown = 10
    private static let depth = 24

    private(set) var parts: [Part] = []
    /// Where more may differ than was looked for.
    private var rest: Set<String> = []
    /// The only places that matter; nil if all do.
    private let places: [String]?
    /// Parts that differ, be it where it does not matter.
    private var found = 0

    /// - Parameters:
    ///   - name: where the paths begin.
    ///   - others: only what is in them, inside one of them, or around one, is a part. Of a collection with more of them than were looked for
    ///     everything is.
    init<Value: Equatable>(expected: Value, actual: Value, named name: String, within others: Difference? = nil) {
        places = others.map { $0.parts.map(\.path) + $0.rest }
        guard expected != actual else { return }
        compare(expected, actual, name, 0)
    }

    /// What of a value is lost when it is encoded and decoded; nil if nothing is.
    ///
    /// What is not a number is unequal to itself, and so is a list of such after a copy. So what is decoded must be equal to itself, decoded
    /// once more; if it is not, only what shows is lost.
    static func loss<Value: Equatable>(of value: Value, named name: String, _ decode: () throws -> Value) throws -> Difference? {
        let actual = try decode()
        let difference = Difference(expected: value, actual: actual, named: name)
        if difference.isEmpty { return nil }
        if difference.parts.contains(where: { $0.expected != $0.actual }) { return difference }
        return try decode() == actual ? difference : nil
    }

    var isEmpty: Bool { parts.isEmpty }
    /// Whether there may be more parts than were found.
    var isCut: Bool { parts.count >= Self.limit }

    /// One line for each part, the first of them.
    var lines: [String] {
        let more = parts.count - Self.shown
        let lines = parts.prefix(Self.shown).map(\.text)
        return more > 0 ? lines + ["… and \(isCut ? "many" : "\(more)") more"] : lines
    }

    private func matters(_ path: String) -> Bool {
        places?.contains { isInside(path, $0) || isInside($0, path) } ?? true
    }

    private func isInside(_ path: String, _ outer: String) -> Bool {
        guard path.utf8.starts(with: outer.utf8) else { return false }
        let rest = path.utf8.dropFirst(outer.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: ".") || rest.first == UInt8(ascii: "[")
    }

    // MARK: Comparing

    private mutating func compare(_ expected: Any, _ actual: Any, _ path: String, _ depth: Int) {
        guard !areEqual(expected, actual) else { return }
        guard matters(path) else { return found += 1 }
        guard hasRoom(in: path) else { return }
        let before = found
        if depth < Self.depth { compareParts(expected, actual, path, depth + 1) }
        // What is unequal, and shows no part that is, differs as a whole.
        if found == before { note(path, ValueText.of(expected), ValueText.of(actual)) }
    }

    /// Whether parts are still looked for; if not, this place counts as one that differs.
    private mutating func hasRoom(in path: String) -> Bool {
        if isCut { rest.insert(path) }
        return !isCut
    }

    private mutating func compareParts(_ expected: Any, _ actual: Any, _ path: String, _ depth: Int) {
        let (a, b) = (Mirror(reflecting: expected), Mirror(reflecting: actual))
        guard a.subjectType == b.subjectType else { return }
        switch a.displayStyle {
        case .struct where depth == 1 || !describesItself(expected, actual), .class, .tuple: compareFields(a, b, path, depth)
        case .enum:
            guard let name = caseName(of: expected), name == caseName(of: actual), let one = a.children.first,
                let other = b.children.first
            else { return }
            comparePayload(one.value, other.value, "\(path).\(name)", depth)
        case .optional:
            if let one = a.children.first, let other = b.children.first { compare(one.value, other.value, path, depth) }
        case .collection: compareElements(Array(a.children), Array(b.children), path, depth)
        case .set: compareMembers(a, b, path)
        case .dictionary: comparePairs(a, b, path, depth)
        default: break
        }
    }

    /// Whether the difference shows in what the values say of themselves.
    private func describesItself(_ expected: Any, _ actual: Any) -> Bool {
        expected is any CustomStringConvertible && String(describing: expected) != String(describing: actual)
    }

    private mutating func compareFields(_ a: Mirror, _ b: Mirror, _ path: String, _ depth: Int) {
        for (one, other) in zip(a.children, b.children) {
            let label = one.label.map { $0.hasPrefix(".") ? $0 : ".\($0)" } ?? ""
            compare(one.value, other.value, path + label, depth)
        }
    }

    private mutating func comparePayload(_ expected: Any, _ actual: Any, _ path: String, _ depth: Int) {
        let (a, b) = (Mirror(reflecting: expected), Mirror(reflecting: actual))
        guard a.displayStyle == .tuple else { return compare(expected, actual, path, depth) }
        compareFields(a, b, path, depth)
    }

    private mutating func compareElements(
        _ expected: [Mirror.Child], _ actual: [Mirror.Child], _ path: String, _ depth: Int
    ) {
        for (index, pair) in zip(expected, actual).enumerated() {
            guard hasRoom(in: path) else { return }
            compare(pair.0.value, pair.1.value, "\(path)[\(index)]", depth)
        }
        for index in min(expected.count, actual.count)..<max(expected.count, actual.count) {
            guard hasRoom(in: path) else { return }
            let one = index < expected.count ? ValueText.of(expected[index].value) : "nothing"
            let other = index < actual.count ? ValueText.of(actual[index].value) : "missing"
            note("\(path)[\(index)]", one, other)
        }
    }

    private mutating func compareMembers(_ a: Mirror, _ b: Mirror, _ path: String) {
        let expected = Set(a.children.map { ValueText.of($0.value) })
        let actual = Set(b.children.map { ValueText.of($0.value) })
        for member in expected.symmetricDifference(actual).sorted() {
            guard hasRoom(in: path) else { return }
            let (one, other) = expected.contains(member) ? ("to be there", "missing") : ("nothing", "there")
            note("\(path)[\(member)]", one, other)
        }
    }

    private mutating func comparePairs(_ a: Mirror, _ b: Mirror, _ path: String, _ depth: Int) {
        let (expected, actual) = (pairs(of: a), pairs(of: b))
        for key in Set(expected.keys).union(actual.keys).sorted() {
            guard hasRoom(in: path) else { return }
            switch (expected[key], actual[key]) {
            case (let one?, let other?): compare(one, other, "\(path)[\(key)]", depth)
            case (let one?, nil): note("\(path)[\(key)]", ValueText.of(one), "missing")
            case (nil, let other?): note("\(path)[\(key)]", "nothing", ValueText.of(other))
            case (nil, nil): break
            }
        }
    }

    private func pairs(of mirror: Mirror) -> [String: Any] {
        var pairs: [String: Any] = [:]
        for child in mirror.children {
            let parts = Array(Mirror(reflecting: child.value).children)
            if parts.count == 2 { pairs[ValueText.of(parts[0].value)] = parts[1].value }
        }
        return pairs
    }

    private mutating func note(_ path: String, _ expected: String, _ actual: String) {
        found += 1
        guard matters(path) else { return }
        parts.append(Part(path: path, expected: expected, actual: actual))
    }
}

/// Whether two values are equal, as far as that can be asked; of types that cannot be compared, none is.
private func areEqual(_ a: Any, _ b: Any) -> Bool {
    guard let a = a as? any Equatable else { return false }
    return a.isEqual(to: b)
}

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
