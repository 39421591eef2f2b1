/// What stands in a place of a shape.
package enum PlaceKind {
    case simple
    case optional(Shape.Place)
    case array(Shape.Place)
    case dictionary(Shape.Place, Shape.Place)
    case type(String)
    case unknown

    package init(_ place: Shape.Place) {
        switch place {
        case "Bool", "Int", "Double", "String", "Bytes": self = .simple
        case "Value": self = .unknown
        case _ where place.hasSuffix("?"): self = .optional(String(place.dropLast()))
        case _ where place.hasPrefix("[") && place.hasSuffix("]"):
            let inner = place.dropFirst().dropLast()
            if let colon = Self.colon(of: inner) {
                self = .dictionary(String(inner[..<colon]), String(inner[colon...].dropFirst(2)))
            } else {
                self = .array(String(inner))
            }
        default: self = .type(place)
        }
    }

    package var isOptional: Bool { if case .optional = self { true } else { false } }

    /// The colon between key and value, and not one inside of either.
    private static func colon(of inner: Substring) -> Substring.Index? {
        var depth = 0
        for index in inner.indices {
            switch inner[index] {
            case "[", "<": depth += 1
            case "]", ">": depth -= 1
            case ":" where depth == 0 && inner[index...].hasPrefix(": "): return index
            default: break
            }
        }
        return nil
    }
}
