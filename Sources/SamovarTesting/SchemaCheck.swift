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
/// The file is written by `counter schema --write FILE`, kept beside the source, and written anew with each release.
///
/// - Throws: what reading the file throws.
public func schemaProblems<P: Program>(of program: P.Type, reading file: URL) throws -> [String] {
    ProgramSchema.problems(of: P.self, reading: try JSONDecoder().decode(ProgramSchema.self, from: try Data(contentsOf: file)))
}
