public import MessagePack
public import SamovarCore

/// A program whose types were others once: it says how what an older version wrote is read.
///
/// ```swift
/// enum Counter: Migrating {
///     static var schema: Schema { Schema(name: "Counter", version: 2) }
///
///     static var migrations: [Migration] {
///         [
///             // Version 1 had `increment` without a step.
///             Migration(from: 1, message: { message in
///                 guard message["increment"] != nil else { return message }
///                 return ["increment": ["by": 1]]
///             })
///         ]
///     }
/// }
/// ```
///
/// Only the store uses them, when it opens a journal or a snapshot of an older version. Workers and clients of another version are
/// refused as before.
public protocol Migrating: Program {
    /// One for each older version that can be read, in any order. A version without one, and all before it, cannot be read.
    static var migrations: [Migration] { get }
}

/// How values of one version become those of the next. What is not given stays as it is.
///
/// The functions are pure and see whole values, as they were encoded: a case of an enum is a map with one key, its name, and of the
/// values inside, those without a label are `_0`, `_1` and so on. They throw for a value that they cannot read; the store then does
/// not start, and names the turn.
public struct Migration: Sendable {
    public typealias Change = @Sendable (MessagePackValue) throws -> MessagePackValue

    /// The version whose values it takes; it gives those of the next.
    public let version: Int
    let changes: [MigratedValue: Change]

    /// - Parameters:
    ///   - version: the older one, from 1.
    ///   - message: of each turn in the journal.
    ///   - effect: that was open when a snapshot was written.
    ///   - state: of a snapshot.
    ///   - seed: with which the timeline was begun.
    public init(
        from version: Int, message: Change? = nil, effect: Change? = nil, state: Change? = nil, seed: Change? = nil
    ) {
        self.version = version
        let all: [MigratedValue: Change?] = [.message: message, .effect: effect, .state: state, .seed: seed]
        changes = all.compactMapValues { $0 }
    }
}

/// What the journal holds of a program's types.
enum MigratedValue: String, Sendable {
    case message, effect, state, seed
}

/// A value of an older version that cannot be read.
public struct MigrationError: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String
    public var description: String { text }

    init(text: String) {
        self.text = text.bounded()
    }
}

/// All migrations of a program, by version.
struct Migrations: Sendable {
    private let schema: Schema
    private let steps: [Int: Migration]

    init<P: Program>(_ program: P.Type) {
        self.init(P.schema, (P.self as? any Migrating.Type)?.migrations ?? [])
    }

    init(_ schema: Schema, _ migrations: [Migration]) {
        self.schema = schema
        steps = Dictionary(migrations.map { ($0.version, $0) }) { first, _ in first }
    }

    /// The oldest version that can be read.
    var oldest: Int {
        var version = schema.version
        while steps[version - 1] != nil { version -= 1 }
        return version
    }

    /// Whether a value of an older version passes through any change.
    func hasChange(of kind: MigratedValue, from version: Int) -> Bool {
        (version..<schema.version).contains { steps[$0]?.changes[kind] != nil }
    }

    /// A value as this version encodes it.
    func migrated(_ bytes: [UInt8], _ kind: MigratedValue, from version: Int) throws(MigrationError) -> [UInt8] {
        guard version < schema.version else { return bytes }
        guard version >= oldest else {
            throw MigrationError(
                text:
                    "it is of version \(version) of \(schema.name), and no migration leads from there to version \(schema.version)")
        }
        let changes = (version..<schema.version).compactMap { step in steps[step]?.changes[kind].map { (step, $0) } }
        guard !changes.isEmpty else { return bytes }
        var step = version
        do {
            var reader = MessagePackReader(bytes, limits: .state)
            var value = try reader.readValue()
            for (version, change) in changes {
                step = version
                value = try change(value)
            }
            var writer = MessagePackWriter()
            value.write(to: &writer)
            return writer.bytes
        } catch {
            throw MigrationError(text: "the migration of a \(kind.rawValue) from version \(step) to \(step + 1) failed: \(error)")
        }
    }
}
