package import ArgumentParser

/// What puts a program under load. A program names it if it wants `load`, and builds nothing of it otherwise:
///
/// ```swift
/// import SamovarLoadTest
///
/// static var loadTest: LoadTestKind? { .agents }
/// ```
public struct LoadTestKind: Sendable {
    /// The command `load` of an executable.
    let command: @Sendable (any ProgramTypes.Type) -> any ParsableCommand.Type

    package init(_ command: @escaping @Sendable (any ProgramTypes.Type) -> any ParsableCommand.Type) {
        self.command = command
    }
}
