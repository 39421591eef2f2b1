package import ArgumentParser
public import SamovarCommands

extension LoadTestKind {
    /// Load tests by agents: processes of their own, on this machine and on others.
    public static var agents: LoadTestKind { LoadTestKind { $0.loadCommand } }
}

extension ProgramTypes {
    fileprivate static var loadCommand: any ParsableCommand.Type { LoadCommand<Self>.self }
}

extension SamovarTool {
    /// `samovar load`, for stores whose program is not known.
    package static var loadCommand: any ParsableCommand.Type { LoadCommand<AnyProgram>.self }
}
