public import ArgumentParser
package import JournalChain
import MessagePack
package import SamovarCore
import SamovarText

/// What a command knows of the program: everything in its own executable, nothing in the generic tool.
package protocol ProgramTypes: Sendable {
    /// Nil takes any store as it is: this executable can be started neither as a store nor as a worker.
    static var schema: Schema? { get }
    /// The data folder if none is named; nil if one must be.
    static var defaultDataFolder: String? { get }
    /// The kinds of journals beside the one in a data folder.
    static var journals: [JournalKind] { get }
    static var page: PageKind? { get }
    /// The cases of the program's inputs; nil if they cannot be told.
    static var inputNames: [String]? { get }
    /// What `load` sends if it is told nothing else, in MessagePack.
    static func sampleInputs() throws -> [[UInt8]]
    /// What `load` sends to a store of its own before that, in MessagePack.
    static func setupInputs() throws -> [[UInt8]]
    /// How views are shown to people.
    static func line(of view: [UInt8]) throws -> String
    static func screen(of view: [UInt8]) throws -> String
}

/// Of a tool that knows no program.
extension ProgramTypes {
    package static var schema: Schema? { nil }
    package static var defaultDataFolder: String? { nil }
    package static var journals: [JournalKind] { [] }
    package static var page: PageKind? { nil }
    package static var inputNames: [String]? { nil }
    package static func sampleInputs() throws -> [[UInt8]] { [] }
    package static func setupInputs() throws -> [[UInt8]] { [] }
    package static func line(of view: [UInt8]) throws -> String { ViewText.line(of: try MessagePackValue(encoded: view)) }
    package static func screen(of view: [UInt8]) throws -> String { ViewText.screen(of: try MessagePackValue(encoded: view)) }
}

enum AppTypes<App: SamovarApp>: ProgramTypes {
    static var schema: Schema? { App.Program.schema }
    static var defaultDataFolder: String? { ".samovar/\(executableName)" }
    static var journals: [JournalKind] { App.journals }
    static var page: PageKind? { App.page }
    static var inputNames: [String]? {
        let shape = Shape(of: App.Program.Input.self)
        return switch shape.types[shape.root] {
        case .cases(let cases)?: cases.keys.sorted()
        case .names(let names)?: names
        default: nil
        }
    }
    static func sampleInputs() throws -> [[UInt8]] { try App.sampleInputs.map { try MessagePackEncoder().encode($0) } }
    static func setupInputs() throws -> [[UInt8]] { try App.setupInputs.map { try MessagePackEncoder().encode($0) } }

    static func line(of view: [UInt8]) throws -> String { App.line(of: try Self.view(from: view)) }
    static func screen(of view: [UInt8]) throws -> String { App.screen(of: try Self.view(from: view)) }

    private static func view(from bytes: [UInt8]) throws(ViewError) -> App.Program.ViewState {
        do {
            return try MessagePackDecoder().decode(App.Program.ViewState.self, from: bytes)
        } catch {
            throw ViewError(description: describe(decodingFailure: error, of: App.Program.ViewState.self))
        }
    }
}

/// A view that is none of this build's program, as that of a store of another build may be.
struct ViewError: Error, CustomStringConvertible {
    let description: String
}

package enum AnyProgram: ProgramTypes {}

/// What the `samovar` executable does with stores whose program it does not know.
public enum SamovarTool {
    /// What needs no program, no page and no load test.
    public static var subcommands: [any ParsableCommand.Type] {
        [
            MonitorCommand<AnyProgram>.self, SendCommand<AnyProgram>.self, ViewCommand<AnyProgram>.self,
            StatusCommand<AnyProgram>.self, MetricsCommand<AnyProgram>.self,
            EffectsCommand<AnyProgram>.self, QueuesCommand<AnyProgram>.self,
            InspectCommand<AnyProgram>.self,
            JournalCommand<AnyProgram>.self, KeysCommand<AnyProgram>.self,
        ]
    }

    /// Runs the command that the arguments name, and exits.
    public static func start<Root: AsyncParsableCommand>(_ root: Root.Type) async {
        await runAsMain(root)
    }
}
