public import ArgumentParser
import JournalChain
public import SamovarCommands
import SamovarCore

extension PageKind {
    /// The page of this module: the live view with its controls, and how the store is doing.
    public static var web: PageKind {
        PageKind {
            try await PageServer(request: $0).run()
        } explore: {
            try await ExplorerLoop($0).run()
        }
    }
}

/// The page for stores whose program is not known.
public enum SamovarPage {
    /// `samovar web`.
    public static var toolCommand: any ParsableCommand.Type { WebCommand<AnyProgramWithPage>.self }
}

private enum AnyProgramWithPage: ProgramTypes {
    static var schema: Schema? { AnyProgram.schema }
    static var defaultDataFolder: String? { AnyProgram.defaultDataFolder }
    static var journals: [JournalKind] { AnyProgram.journals }
    static var page: PageKind? { .web }
    static func sampleInputs() throws -> [[UInt8]] { try AnyProgram.sampleInputs() }
    static func setupInputs() throws -> [[UInt8]] { try AnyProgram.setupInputs() }
    static func line(of view: [UInt8]) throws -> String { try AnyProgram.line(of: view) }
    static func screen(of view: [UInt8]) throws -> String { try AnyProgram.screen(of: view) }
}
