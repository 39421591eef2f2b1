import MessagePack

/// What a type cannot read of what it wrote when it had another shape.
struct ShapeComparison {
    private let before: Shape
    private let after: Shape
    private let remedy: String
    /// Pairs of types that were compared.
    private var seen: Set<String> = []
    private var problems: [String] = []

    /// - Parameter remedy: what to do about what cannot be read, beside keeping it.
    init(_ before: Shape, _ after: Shape, remedy: String = "give it a migration and the schema a new version") {
        self.before = before
        self.after = after
        self.remedy = remedy
    }

    consuming func problems(_ role: String) -> [String] {
        compare(before.root, after.root, at: role.prefix(1).uppercased() + role.dropFirst())
        return problems
    }

    private mutating func compare(_ old: String, _ new: String, at path: String) {
        switch (PlaceKind(old), PlaceKind(new)) {
        case (.optional(let old), .optional(let new)), (.array(let old), .array(let new)):
            compare(old, new, at: path)
        // What was always there may be left out from now on.
        case (_, .optional(let new)): compare(old, new, at: path)
        case (.dictionary(let oldKey, let oldValue), .dictionary(let newKey, let newValue)):
            compare(oldKey, newKey, at: path)
            compare(oldValue, newValue, at: path)
        case (.optional(let name), _):
            problems.append(
                "\(path) was optional and is required: old records without it cannot be read; \(remedy), or let it be \(name)?"
            )
        case (.array, _), (.dictionary, _), (_, .array), (_, .dictionary):
            problems.append("\(path) was \(old) and is \(new): \(remedy)")
        default: compareTypes(old, new, at: path)
        }
    }

    private mutating func compareTypes(_ old: String, _ new: String, at path: String) {
        // Of a type without values nothing was written.
        guard old != "Never", seen.insert("\(old) → \(new)").inserted else { return }
        switch (before.types[old], after.types[new]) {
        case (nil, nil):
            // The decoder takes an integer for a float.
            if old != new, (old, new) != ("Int", "Double"), new != "Value" {
                problems.append("\(path) was \(old) and is \(new): \(remedy)")
            }
        case (.alias(let old), .alias(let new)): compare(old, new, at: path)
        case (.alias(let old), nil): compare(old, new, at: path)
        case (nil, .alias(let new)): compare(old, new, at: path)
        case (.fields(let old), .fields(let new)): compareFields(old, new, at: path)
        case (.cases(let old), .cases(let new)):
            for name in old.keys.sorted() {
                guard let fields = new[name] else {
                    problems.append("\(path).\(name) is gone: old records with it cannot be read; keep it, or \(remedy)")
                    continue
                }
                compareFields(old[name] ?? [:], fields, at: "\(path).\(name)")
            }
        case (.names(let old), .names(let new)):
            for name in old where !new.contains(name) {
                problems.append("\(path): \(name) is gone: old records with it cannot be read; keep it, or \(remedy)")
            }
        // `ProgramSchema.uncompared` tells of it.
        case (.unknown, .unknown): break
        case (.unknown, _):
            problems.append(
                "\(path) was \(old), of which the file says nothing, and is \(new): compare them yourself, and write the file anew")
        case (_, .unknown(let reason)) where new != "Never":
            problems.append(
                "\(path) was \(old) and is \(new), whose form cannot be told (\(reason)): let its init(from:) take what it reads, or "
                    + remedy)
        default: problems.append("\(path) was \(old) and is \(new), which has another form: \(remedy)")
        }
    }

    private mutating func compareFields(_ old: [String: String], _ new: [String: String], at path: String) {
        for name in new.keys.sorted() {
            guard let place = new[name] else { continue }
            if let before = old[name] {
                compare(before, place, at: "\(path): field \(name)")
            } else if !place.hasSuffix("?") {
                problems.append(
                    "\(path): field \(name) is new and required: old records cannot be read; \(remedy), or make it optional")
            }
        }
    }
}
