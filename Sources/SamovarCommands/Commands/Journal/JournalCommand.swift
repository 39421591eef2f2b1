import ArgumentParser

/// What is done with a journal as a whole. None of it needs the program's types, so the generic tool has it, too.
struct JournalCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        // The generic tool knows no database.
        let making: [any ParsableCommand.Type] = Types.schema == nil ? [] : [JournalInitCommand<Types>.self]
        return CommandConfiguration(
            commandName: "journal",
            abstract: "\(making.isEmpty ? "Lists" : "Makes, lists"), verifies, backs up, restores and salvages a journal.",
            discussion: """
                Example: \(executableName) journal list --from 100 --to 120
                         \(executableName) journal verify
                         \(executableName) journal export /backup/monday
                list, verify and export work beside a running store, too.
                """,
            subcommands: making + [
                JournalListCommand<Types>.self, JournalVerifyCommand<Types>.self, JournalExportCommand<Types>.self,
                JournalImportCommand<Types>.self, JournalSalvageCommand<Types>.self,
            ])
    }
}

/// `turns 1 to 9`, or `turn 9`.
func turnsText(_ first: Int, _ last: Int) -> String {
    first == last ? "turn \(first)" : "turns \(first) to \(last)"
}
