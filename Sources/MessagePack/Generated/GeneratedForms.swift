/// Whether the generated code for a type, and for all types inside it, was written for the forms that they have now.
package struct GeneratedForms {
    /// The types whose code was written for another form, by name.
    package let outdated: [String]

    /// How deep arrays and maps are nested in the types for which code is generated: it does not count the depth.
    package static let largestDepth = 16

    /// A type without generated code is not looked at: to find its form, values of it are made up by its own code.
    package init<T: Decodable>(of type: T.Type) {
        guard type is any GeneratedCodable.Type else {
            outdated = []
            return
        }
        let session = ShapeSession(qualified: true)
        _ = session.place(of: type)
        outdated = session.types.keys.sorted().filter { name in
            guard let type = session.swiftTypes[name] as? any GeneratedCodable.Type, let form = type.generatedForm else {
                return false
            }
            return form != session.types[name]?.generatedForm
        }
    }

    package var areCurrent: Bool { outdated.isEmpty }
}

extension Shape.Definition {
    /// What code for it says that it was written for. Code for cases without values that was written before says no version; it read what is
    /// inside of such a case as another one.
    package var generatedForm: String {
        if case .cases(let cases) = self, cases.values.contains(where: \.isEmpty) { "\(summary); version 2" } else { summary }
    }

    /// The definition in a line, the same for equal ones.
    package var summary: String {
        switch self {
        case .fields(let fields): Self.list(fields)
        case .cases(let cases):
            cases.sorted { $0.key < $1.key }.map { "\($0.key)(\(Self.list($0.value)))" }.joined(separator: " | ")
        case .names(let names): names.joined(separator: " | ")
        case .alias(let place): place
        case .unknown(let reason): reason
        }
    }

    private static func list(_ fields: [String: Shape.Place]) -> String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    }
}
