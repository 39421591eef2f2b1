import ArgumentParser
import SamovarHost
import SamovarText

struct JournalImportCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            abstract: "Restores a backup as a new timeline, or moves a journal; archives the journal that is there.",
            discussion: """
                Example: \(executableName) journal import /backup/monday
                         \(executableName) journal import --move .samovar/\(executableName) --data . --journal postgresql://db.example/shop
                The source is verified first, unless it has arrived already. A backup stays as it is, and peers of the old timeline drop what \
                belonged to it. With --move the timeline stays, and nobody notices: for that the source is closed for good, and says where its \
                journal has gone.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "Close the source for good, and keep its timeline.") var move = false
    @Argument(help: "A data folder, or the address of a journal in a database.") var source: String

    func run() async throws {
        let target = try options.settings().namedJournal(for: Types.self)
        let origin = try location(of: source, for: target)
        guard !origin.isSame(as: target) else {
            throw CommandFailure(.usage, "\(escapeForTerminal(source)) is the journal that is to be replaced: name another one")
        }
        let done = try await JournalImport.run(origin, into: target, moves: move)
        if done.wasResumed {
            printData(
                """
                Ended a replacement of the journal that was cut short: \(target) has the turns up to \(done.last), as timeline \
                \(done.timeline). Nothing else was read: if this was to be another import, run it again.
                """)
        } else if done.wasMoved {
            printData("The journal was moved before: \(target) has it up to turn \(done.last), as timeline \(done.timeline).")
        } else {
            let verb = move ? "Moved" : "Restored"
            printData("\(verb) the turns up to \(done.last) in \(target) as timeline \(done.timeline).")
        }
        if let archive = done.archive { printData("The journal that was there is in \(archive).") }
    }

    private func location(of source: String, for target: JournalLocation) throws -> JournalLocation {
        guard source.contains("://") else { return JournalLocation(dataFolder: source) }
        return try JournalLocation(source, dataFolder: target.dataFolder, kinds: Types.journals)
    }
}
