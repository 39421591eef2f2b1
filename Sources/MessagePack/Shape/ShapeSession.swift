/// One search for the shape of a type: what was found, and values that were made up on the way.
package final class ShapeSession {
    /// What a type asked for, one thing after the other.
    package typealias Request = (key: String, type: any Decodable.Type)

    package private(set) var types: [String: Shape.Definition] = [:]
    /// The types that have those names.
    package private(set) var swiftTypes: [String: any Decodable.Type] = [:]
    /// What the fields of a type are, or of one case of an enum, in the order in which it asks for them.
    private var requests: [String: [String: [Request]]] = [:]
    private let isQualified: Bool
    /// A value of each type that was made, to make others of it.
    private var made: [ObjectIdentifier: Any] = [:]
    private var names: [ObjectIdentifier: String] = [:]
    /// How often a type is being made at present, inside itself.
    private var underWay: [ObjectIdentifier: Int] = [:]
    private var depth = 0
    /// The text that is handed out.
    private var text = ""

    /// Types inside each other, far more than a program has; a type that makes ever new types of itself ends here.
    private static let largestDepth = 64

    /// Texts for types that do not take an empty one: an identifier, an address, a time, a number.
    private static let texts = ["", "00000000-0000-0000-0000-000000000000", "https://example.org/", "1970-01-01T00:00:00Z", "0"]

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter qualified: whether the types of programs go by the names of their modules, too, so that a name does not depend on which
    ///   others there are.
    package init(qualified: Bool = false) { isQualified = qualified }

    /// What a type, or a case of it, asks for, in that order.
    package func requests(of name: String, case: String? = nil) -> [Request] { requests[name]?[`case` ?? ""] ?? [] }

    /// A value of the type that was made up.
    package func sample(of name: String) -> Any? { swiftTypes[name].flatMap { made[ObjectIdentifier($0)] } }

    /// What stands where a value of this type is, which becomes known with all its parts.
    package func place<T: Decodable>(of type: T.Type) -> String {
        do {
            return try make(type).place
        } catch {
            // Nothing could be made, but what was asked for until then is known.
            return names[ObjectIdentifier(type)] ?? "\(type)"
        }
    }

    /// Makes a value up, and says what stands in its place.
    func make<T: Decodable>(_ type: T.Type) throws -> (value: T, place: String) {
        // Of this type alone: a text can be cast to an optional one, too.
        if type == String.self, let text = text as? T { return (text, "String") }
        if let simple = Self.simple[ObjectIdentifier(type)], let value = simple.value as? T { return (value, simple.place) }
        if let container = type as? any ShapedContainer.Type, let value = container.init() as? T {
            return (value, container.place(in: self))
        }
        // A wider one cannot be encoded.
        if let integer = type as? any FixedWidthInteger.Type, integer.bitWidth <= 64, let value = integer.init(0) as? T {
            return (value, "Int")
        }
        let id = ObjectIdentifier(type)
        let name = self.name(of: type)
        if let value = made[id] as? T { return (value, name) }
        guard depth < Self.largestDepth else { throw Failure(description: "types are nested too deep") }
        depth += 1
        defer { depth -= 1 }
        let level = underWay[id, default: 0]
        underWay[id] = level + 1
        defer { underWay[id] = level }
        // Whatever can be made at all can be made without itself in itself: an enum, once more, by another one of its cases.
        guard level < (isEnum(type) ? 2 : 1) else { throw Failure(description: "\(name) is inside itself") }
        let value = try isEnum(type) ? makeEnum(type, name, isFirst: level == 0) : makeOther(type, name)
        made[id] = value
        return (value, name)
    }

    /// Tries each case, and notes all of them. Inside itself it tries only until one works.
    private func makeEnum<T: Decodable>(_ type: T.Type, _ name: String, isFirst: Bool) throws -> T {
        if let raw = allowedRawValues(of: type), let first = raw.first {
            types[name] = .names(raw.sorted())
            return try T(from: ShapeDecoder(self, raw: first))
        }
        let probe = ShapeDecoder(self)
        // Without a key to choose from, synthesised coding fails after it has told which there are.
        _ = try? T(from: probe)
        guard let keys = probe.caseNames, !keys.isEmpty else { return try makeOther(type, name) }
        var cases: [String: [String: Shape.Place]] = [:]
        var value: T?
        for key in keys {
            let decoder = ShapeDecoder(self, chosen: key)
            do {
                let result = try T(from: decoder)
                value = value ?? result
                made[ObjectIdentifier(type)] = value
                if !isFirst { return result }
            } catch {
                // Another case may do; what this one asked for is noted.
            }
            cases[key] = decoder.fields
            requests[name, default: [:]][key] = decoder.requests
        }
        if isFirst { types[name] = .cases(cases) }
        guard let value else { throw Failure(description: "no case of \(name) can be made up") }
        return value
    }

    private func makeOther<T: Decodable>(_ type: T.Type, _ name: String) throws -> T {
        let former = text
        defer { text = former }
        var failure: Failure?
        for text in Self.texts {
            self.text = text
            let decoder = ShapeDecoder(self)
            do {
                let value = try T(from: decoder)
                types[name] = decoder.single.map { .alias($0) } ?? .fields(decoder.fields)
                requests[name] = ["": decoder.requests]
                return value
            } catch {
                // A part that cannot be made is named by its own failure.
                failure = failure ?? error as? Failure ?? Failure(description: "\(name) takes no value that is made up: \(error)")
                // It is no text that it does not take.
                if decoder.hasFailed || !decoder.asksForText { break }
            }
        }
        let error = failure ?? Failure(description: "no value of \(name) can be made up")
        types[name] = .unknown(error.description)
        throw error
    }

    /// The type's own name, made longer where two have the same.
    private func name<T: Decodable>(of type: T.Type) -> String {
        if let name = names[ObjectIdentifier(type)] { return name }
        let short = "\(type)"
        let name = isQualified || names.values.contains(short) ? String(reflecting: type) : short
        names[ObjectIdentifier(type)] = name
        swiftTypes[name] = type
        return name
    }

    /// The widths of numbers are no part of the form.
    private static let simple: [ObjectIdentifier: (value: any Sendable, place: String)] = {
        var simple: [ObjectIdentifier: (value: any Sendable, place: String)] = [:]
        func add<T: Sendable>(_ value: T, _ place: String) { simple[ObjectIdentifier(T.self)] = (value, place) }
        add(false, "Bool")
        add(0.0, "Double")
        add(Float(0), "Double")
        add([UInt8](), "Bytes")
        add(MessagePackValue.nil, "Value")
        return simple
    }()
}

/// A container of the standard library, which may be empty.
protocol ShapedContainer {
    init()
    static func place(in session: ShapeSession) -> String
}

extension Optional: ShapedContainer where Wrapped: Decodable {
    init() { self = nil }
    static func place(in session: ShapeSession) -> String { session.place(of: Wrapped.self) + "?" }
}

extension Array: ShapedContainer where Element: Decodable {
    static func place(in session: ShapeSession) -> String { "[\(session.place(of: Element.self))]" }
}

extension Set: ShapedContainer where Element: Decodable {
    static func place(in session: ShapeSession) -> String { "[\(session.place(of: Element.self))]" }
}

extension Dictionary: ShapedContainer where Key: Decodable, Value: Decodable {
    static func place(in session: ShapeSession) -> String {
        "[\(session.place(of: Key.self)): \(session.place(of: Value.self))]"
    }
}
