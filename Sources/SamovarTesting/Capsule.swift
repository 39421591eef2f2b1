import Foundation
public import SamovarCore
import SamovarStore

/// What happened in some turns of a store, cut out of its journal by `capsule`: the state before them, and what came from outside. A test lets it
/// happen again, to the program as it is now.
///
/// ```swift
/// let capsule = try Capsule(beside: #filePath, "negative-tea.capsule")
/// let end = try capsule.replay(Tally.self)
/// #expect(end.state.counts["tea"] == 0)
/// ```
///
/// A turn has the number, the time and the origin that it had. Follow-ups are those that `update` orders now, and what came of an effect, or of a
/// subscription, falls away if that is not wanted any more. Handlers of workers never run. A capsule holds what was in the state and in the messages: it
/// is as secret as the store was.
public struct Capsule: Sendable {
    /// What became of a program.
    public struct End<P: Program> {
        /// After the last turn.
        public let state: P.State
        /// The names of the invariants that were broken after any of the turns.
        public let broken: [String]
    }

    private let content: CapsuleContent

    /// - Parameters:
    ///   - source: the test's own: `#filePath`.
    ///   - name: of the file, in the folder of the source.
    /// - Throws: an error that names the file.
    public init(beside source: String, _ name: String) throws {
        try self.init(at: URL(fileURLWithPath: source).deletingLastPathComponent().appending(path: name).path)
    }

    /// - Throws: an error that names the file.
    public init(at path: String) throws {
        do {
            try self.init(bytes: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        } catch {
            throw CapsuleError("the capsule \(path) cannot be read: \(error)")
        }
    }

    /// - Parameter text: with white space or without.
    /// - Throws: an error that says what is wrong.
    public init(base64 text: String) throws {
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            throw CapsuleError("it is no base64")
        }
        try self.init(bytes: Array(data))
    }

    private init(bytes: [UInt8]) throws(CapsuleError) {
        content = try CapsuleContent(bytes: bytes)
    }

    /// Lets it happen again.
    ///
    /// - Throws: an error if it is of another program or another version of its types, or if a chain of follow-ups has no end.
    public func replay<P: Program>(_ program: P.Type = P.self) throws -> End<P> {
        let outcome = try CapsuleReplay(content, of: program).run()
        return End(state: outcome.state, broken: outcome.broken)
    }
}
