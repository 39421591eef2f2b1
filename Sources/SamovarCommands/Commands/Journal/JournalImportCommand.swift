import ArgumentParser
import SamovarHost

struct JournalImportCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            abstract: "Restores a backup as a new timeline; archives the journal that is there.",
            discussion: """
                Example: \(executableName) journal import /backup/monday
                The backup is verified first and stays as it is. Peers of the old timeline drop what belonged to it.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Argument(help: "The data folder of the backup.") var backup: String

    func run() async throws {
        let folder = try options.settings().dataFolder(for: Types.self)
        let done = try await JournalImport.run(backup, into: folder)
        printData("Restored the turns up to \(done.last) in \(folder) as timeline \(done.timeline).")
        if let archive = done.archive { printData("The journal that was there is in \(archive).") }
    }
}
