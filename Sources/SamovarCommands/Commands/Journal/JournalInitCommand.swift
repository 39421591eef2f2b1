import ArgumentParser
import SamovarHost

struct JournalInitCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init",
            abstract: "Makes an empty journal in a database.",
            discussion: """
                Example: \(executableName) journal init --journal postgresql://admin@db.example/shop --role shop
                The role that makes the tables owns them; the one of --role may read and write them and no more, and is the one for the \
                store. A journal that is there stays as it is. In a data folder, a store makes its journal by itself.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, help: "The role of the database that the store has. Default: the one that makes the journal.")
    var role: String?

    func run() async throws {
        let journal = try options.settings().journal(for: Types.self)
        let isNew = try await journal.create(for: role)
        printData(isNew ? "Made the journal at \(journal)." : "There is a journal at \(journal) already; it stays as it is.")
    }
}
