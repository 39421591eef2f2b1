import Foundation
import ProcessSupport
import Testing

/// Prometheus' own checker, where it is installed. Without it the tests have `ExpositionChecker` alone.
enum Promtool {
    static let program: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return path.map { "\($0)/promtool" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// `promtool check` finds nothing wrong with a text.
    static func check(_ text: String, _ arguments: [String], _ place: SourceLocation = #_sourceLocation) async throws {
        guard let program else { return }
        let scratch = try Scratch()
        let child = try Child(program, ["check"] + arguments, in: scratch, input: text)
        try await child.wait()
        #expect(child.end == .exited(0), "\(child.output)\(child.errors)", sourceLocation: place)
    }
}
