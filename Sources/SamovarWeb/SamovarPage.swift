public import ArgumentParser
public import SamovarCommands

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
    static var page: PageKind? { .web }
}
