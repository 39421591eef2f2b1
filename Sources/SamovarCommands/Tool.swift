public import ArgumentParser
import MessagePack
import SamovarCore

/// What a command knows of the program: everything in its own executable, nothing in the generic tool.
protocol ProgramTypes: Sendable {
    /// Nil takes any store as it is.
    static var schema: Schema? { get }
    /// The data folder if none is named; nil if one must be.
    static var defaultDataFolder: String? { get }
}

/// How a command shows views to people.
protocol ViewFormat: ProgramTypes {
    static func line(of view: [UInt8]) throws -> String
    static func screen(of view: [UInt8]) throws -> String
}

enum AppTypes<App: SamovarApp>: ProgramTypes {
    static var schema: Schema? { App.Program.schema }
    static var defaultDataFolder: String? { ".samovar/\(executableName)" }
}

enum AppViews<App: SamovarApp>: ViewFormat {
    static var schema: Schema? { App.Program.schema }
    static var defaultDataFolder: String? { ".samovar/\(executableName)" }

    static func line(of view: [UInt8]) throws -> String {
        App.line(of: try MessagePackDecoder().decode(App.Program.ViewState.self, from: view))
    }

    static func screen(of view: [UInt8]) throws -> String {
        App.screen(of: try MessagePackDecoder().decode(App.Program.ViewState.self, from: view))
    }
}

enum AnyProgram: ViewFormat {
    static var schema: Schema? { nil }
    static var defaultDataFolder: String? { nil }
    static func line(of view: [UInt8]) throws -> String { ViewText.line(of: try MessagePackValue(encoded: view)) }
    static func screen(of view: [UInt8]) throws -> String {
        ViewText.lines(of: try MessagePackValue(encoded: view)).joined(separator: "\n")
    }
}

extension MessagePackValue {
    /// Reads one value from its bytes.
    init(encoded bytes: [UInt8]) throws(MessagePackError) {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        self = try reader.readValue()
    }

    var encoded: [UInt8] {
        var writer = MessagePackWriter()
        write(to: &writer)
        return writer.bytes
    }
}

/// What the `samovar` executable does with stores whose program it does not know.
public enum SamovarTool {
    /// What needs no program.
    public static var subcommands: [any ParsableCommand.Type] {
        [
            MonitorCommand<AnyProgram>.self, SendCommand<AnyProgram>.self, ViewCommand<AnyProgram>.self,
            StatusCommand<AnyProgram>.self, EffectsCommand<AnyProgram>.self, InspectCommand<AnyProgram>.self,
            JournalCommand<AnyProgram>.self, LoadCommand<AnyProgram>.self, NewCommand.self,
        ]
    }

    /// Runs the command that the arguments name, and exits.
    public static func start<Root: AsyncParsableCommand>(_ root: Root.Type) async {
        await runAsMain(root)
    }
}
