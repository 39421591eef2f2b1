/// What the decoder knows of a failure: the `underlyingError` of its `DecodingError`s.
enum DecodingFailure: Error {
    case unexpected(expected: String, found: String)
    case missingField(String, of: String, allowed: [String]?)
    case unknownField(String, of: String, allowed: [String]?)
    case unknownCase(String, of: String, allowed: [String]?)
    case notOneCase(count: Int, of: String, allowed: [String]?)

    /// The failure of the value at a path, in a sentence.
    func text(at path: [any CodingKey]) -> String {
        let place = describe(path: path)
        switch self {
        case .unexpected(let expected, let found):
            return (path.isEmpty ? "" : "field \"\(place)\": ") + "expected \(expected), found \(found)"
        case .missingField(let name, let type, let allowed):
            return "missing field \"\(join(place, name))\" in \(type)" + list(allowed)
        case .unknownField(let name, let type, let allowed):
            return "unknown field \"\(join(place, quote(name)))\" in \(type)" + list(allowed)
        case .unknownCase(let name, let type, let allowed):
            return "unknown case \"\(quote(name))\" for \(type)" + (path.isEmpty ? "" : " at \"\(place)\"") + list(allowed)
        case .notOneCase(let count, let type, let allowed):
            return (path.isEmpty ? "" : "field \"\(place)\": ") + "expected one case of \(type), found \(count)" + list(allowed)
        }
    }

    private func join(_ place: String, _ name: String) -> String {
        place.isEmpty ? name : "\(place).\(name)"
    }

    private func list(_ allowed: [String]?) -> String {
        guard let allowed else { return "" }
        return "; allowed: " + (allowed.isEmpty ? "none" : allowed.joined(separator: ", "))
    }
}
