/// What the encoded form of a `Codable` type looks like, as far as its decoding tells.
///
/// It is found by decoding: a decoder of its own hands out values that are made up, and notes what the type asks for. So it is right
/// for synthesised coding, and for coding by hand as far as that asks for the same whatever it gets.
public struct Shape: Equatable, Codable, Sendable {
    /// What a place of the form holds: the name of a type, with `?`, `[…]` and `[… : …]` around it.
    ///
    /// `Bool`, `Int`, `Double`, `String`, `Bytes` and `Value` are simple values; any other name is one of ``types``.
    public typealias Place = String

    /// A type of one's own.
    public enum Definition: Equatable, Sendable {
        /// A map with these keys.
        case fields([String: Place])
        /// A map with one key, the name of the case, and under it a map with these keys.
        case cases([String: [String: Place]])
        /// One of these texts or numbers.
        case names([String])
        /// Something simple in its place.
        case alias(Place)
        /// It cannot be told; why.
        case unknown(String)
    }

    /// What a value of the type is.
    public var root: Place
    /// Every type that has a part in it.
    public var types: [String: Definition]

    /// A shape of known types.
    public init(root: Place, types: [String: Definition] = [:]) {
        self.root = root
        self.types = types
    }

    /// Finds the shape of a type.
    public init<T: Decodable>(of type: T.Type) {
        let session = ShapeSession()
        root = session.place(of: type)
        types = session.types
    }
}

extension Shape.Definition: Codable {
    private enum Key: String, CodingKey {
        case fields, cases, names, alias, unknown
    }

    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        if let fields = try values.decodeIfPresent([String: Shape.Place].self, forKey: .fields) {
            self = .fields(fields)
        } else if let cases = try values.decodeIfPresent([String: [String: Shape.Place]].self, forKey: .cases) {
            self = .cases(cases)
        } else if let names = try values.decodeIfPresent([String].self, forKey: .names) {
            self = .names(names)
        } else if let alias = try values.decodeIfPresent(Shape.Place.self, forKey: .alias) {
            self = .alias(alias)
        } else {
            self = .unknown(try values.decode(String.self, forKey: .unknown))
        }
    }

    /// Writes it in a form for files that people compare.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        switch self {
        case .fields(let fields): try values.encode(fields, forKey: .fields)
        case .cases(let cases): try values.encode(cases, forKey: .cases)
        case .names(let names): try values.encode(names, forKey: .names)
        case .alias(let place): try values.encode(place, forKey: .alias)
        case .unknown(let reason): try values.encode(reason, forKey: .unknown)
        }
    }
}
