public import Foundation
public import SamovarCore
import SamovarStore

/// What a program could not read of the journals that the build of a golden schema file wrote; empty if all is well.
///
/// ```swift
/// @Test func `old journals can be read`() throws {
///     #expect(try schemaProblems(of: Counter.self, reading: golden) == [])
/// }
/// ```
///
/// Types of which nothing is known are passed over; see ``schemaGaps(of:)``.
///
/// The file is written by `counter schema --write FILE`, kept beside the source, and written anew with each release.
///
/// - Throws: what reading the file throws.
public func schemaProblems<P: Program>(of program: P.Type, reading file: URL) throws -> [String] {
    ProgramSchema.problems(of: P.self, reading: try JSONDecoder().decode(ProgramSchema.self, from: try Data(contentsOf: file)))
}

/// The types in which ``schemaProblems(of:reading:)`` sees no change, and why; empty if it sees every type.
///
/// ```swift
/// @Test func `every type is compared`() {
///     #expect(schemaGaps(of: Counter.self) == [])
/// }
/// ```
///
/// The form of a type is found by decoding values that are made up. Of a type whose `init(from:)` takes none of them nothing is known,
/// nor of a type that cannot be without it.
public func schemaGaps<P: Program>(of program: P.Type) -> [String] { ProgramSchema(P.self).uncompared }
