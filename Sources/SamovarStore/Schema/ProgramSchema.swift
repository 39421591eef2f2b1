public import MessagePack
public import SamovarCore

/// The encoded form of a program's types, to be kept beside its source: a later build is compared with it, and learns which journals
/// it could not read.
public struct ProgramSchema: Equatable, Codable, Sendable {
    public var name: String
    public var version: Int
    /// By role: `message`, `state`, `effect` and `seed` are in journals, `input` and `view` are what peers of the same version see.
    public var shapes: [String: Shape]

    public init<P: Program>(_ program: P.Type) {
        name = P.schema.name
        version = P.schema.version
        shapes = [
            "message": Shape(of: P.Message.self), "state": Shape(of: P.State.self), "effect": Shape(of: P.Effect.self),
            "seed": Shape(of: P.Seed.self), "input": Shape(of: P.Input.self), "view": Shape(of: P.ViewState.self),
        ]
    }

    /// What a program could not read of what another build of it wrote, in sentences; empty if it can read everything.
    ///
    /// What migrations do is not looked at: what an older version has a migration for counts as readable. Types of which nothing is known
    /// are passed over; see ``uncompared``.
    ///
    /// - Parameter older: as it was written then.
    public static func problems<P: Program>(of program: P.Type, reading older: ProgramSchema) -> [String] {
        ProgramSchema(P.self).problems(reading: older, Migrations(P.self))
    }

    /// The types of which no value can be made up, and why, in sentences: what becomes of them is no problem to
    /// ``problems(of:reading:)``, for nothing is known of what they hold.
    public var uncompared: [String] {
        var reasons: Set<String> = []
        for shape in shapes.values {
            // `Never` has no values.
            for case (let name, .unknown(let reason)) in shape.types where name != "Never" {
                reasons.insert("\(name) is not compared: \(reason)")
            }
        }
        return reasons.sorted()
    }

    /// The types whose generated code was written for another form than they have now, by name. They are left to `Codable`.
    package static func outdatedCode<P: Program>(of program: P.Type) -> [String] {
        let forms = [
            GeneratedForms(of: P.Message.self), GeneratedForms(of: P.Effect.self), GeneratedForms(of: P.Input.self),
            GeneratedForms(of: P.Output.self), GeneratedForms(of: P.ViewState.self), GeneratedForms(of: P.State.self),
        ]
        return Set(forms.flatMap(\.outdated)).sorted()
    }

    func problems(reading older: ProgramSchema, _ migrations: Migrations) -> [String] {
        guard name == older.name else { return ["the file is of \(older.name), this program is \(name)"] }
        guard older.version <= version else {
            return ["the file is of version \(older.version), which is newer than this program's, \(version)"]
        }
        guard older.version >= migrations.oldest else {
            return ["there is no migration from version \(older.version): add one to `migrations`"]
        }
        return older.shapes.keys.sorted().flatMap { role in
            guard let before = older.shapes[role], let after = shapes[role] else { return [String]() }
            guard older.version < version else { return ShapeComparison(before, after).problems(role) }
            // Of an older version only the journal is read, and peers are refused.
            guard let kind = MigratedValue(rawValue: role), !migrations.hasChange(of: kind, from: older.version) else { return [] }
            let remedy = "give a migration from version \(older.version) or a later one a `\(role):`"
            return ShapeComparison(before, after, remedy: remedy).problems(role)
        }
    }
}
