import ArgumentParser
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import UnixSignals

struct CheckCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check", abstract: "Says whether this build can take over a data folder, also while its store runs.",
            discussion: """
                Example: \(executableName) check --data .samovar/\(executableName) && \(executableName) up
                It does in memory what a start does: reads the newest snapshot, migrates it, replays what follows; and then reads the open and \
                dead effects and the outputs that are left to workers and readers. With 0 it says that `up` starts; else why not, with the exit \
                code of `up`, or 65 for what a start takes and nobody could read. A running store is asked for a copy, which goes to the \
                folder for temporary files (TMPDIR), and is deleted again. As JSON, a refusal is {"ok":false,"exit":78,"problems":[…]}.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .customLong("insecure-tcp"), help: "Take TCP without keys for granted, as for `up`.") var insecureTcp = false
    @Option(name: .long, help: "The folder with the keys of the store, as for `up`.") var keys: String?
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text
    @Option(
        name: .customLong("accept-divergence"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Check as if it were accepted that this build orders something else at a turn. May be given several times.",
            discussion: "Nothing is written. Give it to `up` or `store` as well.", valueName: "turn"))
    var acceptDivergence: [Int] = []

    func validate() throws { try AcceptanceOptions.requireTurns(acceptDivergence) }

    func run() async throws {
        let (check, folder): (StartCheck, String)
        do {
            (check, folder) = try await examine()
        } catch {
            if format == .json, let failure = CommandFailure(error) {
                printData(JSONTranscoder.text(of: CheckText.value(of: failure)))
            }
            throw error
        }
        try show(check, of: folder)
    }

    /// - Returns: what was found in which journal.
    private func examine() async throws -> (StartCheck, String) {
        var flags: [String: String] = [:]
        flags["keys"] = keys
        if insecureTcp { flags["insecureTcp"] = "true" }
        let settings = try options.settings(flags)
        let journal = try settings.journal(for: AppTypes<App>.self)
        var configuration = StoreConfiguration(journal: journal, endpoint: try settings.endpoint(for: AppTypes<App>.self))
        configuration.build = executableBuild
        configuration.acceptedDivergences = Set(acceptDivergence)
        configuration.allowsInsecureTCP = settings.insecureTcp
        configuration.settings = settings.store
        configuration.keysFolder = settings.keys
        do {
            return (try await check(configuration, wait: .zero), "\(journal)")
        } catch let error as StoreError where error.code == .busy {
            guard settings.journal != nil || !settings.isDataOfAnother else {
                throw CommandFailure(
                    .usage,
                    "\(journal) is in use, and may be that of another store than at the endpoint: name its folder with --data")
            }
            return (try await checkCopy(&configuration), "\(journal)")
        }
    }

    /// Of a running store.
    private func checkCopy(_ configuration: inout StoreConfiguration) async throws -> StartCheck {
        let journal = configuration.journal
        let access = StoreAccess(folderOf: configuration.endpoint)
        let check = try await withCopy(of: journal, at: access) { copy in
            configuration.journal = copy
            return try await self.check(configuration, wait: .seconds(5))
        }
        guard check.author != "\(App.Program.schema)" else { return check }
        guard check.hasReadState else {
            throw CommandFailure(
                .tryLater,
                "the running store has made no snapshot, so the state of \(check.author) could not be read: stop the store, and check again"
            )
        }
        printError(
            "note: this holds for a store that is stopped in order; after a crash, this build computes the turns since its last snapshot"
        )
        return check
    }

    private func check(_ configuration: StoreConfiguration, wait: Duration) async throws -> StartCheck {
        try await StartCheck.run(App.Program.self, configuration, wait: wait, engine: App.engine)
    }

    private func show(_ check: StartCheck, of folder: String) throws(CommandFailure) {
        for warning in check.warnings { printError("warning: \(escapeForTerminal(warning))") }
        switch format {
        case .json: printData(JSONTranscoder.text(of: CheckText.value(of: check, App.Program.schema)))
        case .text: printData(CheckText.text(of: check, App.Program.schema, escapeForTerminal(folder)))
        }
        guard check.problems.isEmpty else {
            throw CommandFailure(.badData, check.problems.map(escapeForTerminal).joined(separator: "\n"))
        }
    }
}

/// Asks a running store for a copy of its journal and deletes it behind `body`, whose errors name the journal and not the copy. A signal that
/// ends this process deletes it, too.
private func withCopy<Result>(
    of journal: JournalLocation, at access: StoreAccess, _ body: (JournalLocation) async throws -> Result
) async throws -> Result {
    let copy = FileManager.default.temporaryDirectory.appending(path: "samovar-copy-\(UUID().uuidString)")
    defer { removeCopy(at: copy) }
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    let (store, id) = (AdminClient(at: access), UUID())
    // It ends with this function.
    async let _: Void = end(at: signals, removing: copy, of: store, as: id)
    do {
        _ = try await store.export(to: copy.path, as: id)
    } catch AdminError.refused(let reason) {
        throw CommandFailure(.tryLater, reason)
    } catch let error as AdminError {
        // A store that is slow makes the copy all the same, and nobody would delete it.
        guard case .unknown = error, !isBegun(copy), let failure = CommandFailure(error) else { throw error }
        throw CommandFailure(failure.code, "\(failure.description); \(warning(of: copy))")
    }
    guard FileManager.default.fileExists(atPath: copy.path) else {
        let place = "where this command does not see it, in its own \(copy.path)"
        throw CommandFailure(.tryLater, "the store has put a copy of its journal \(place): set TMPDIR to a folder that both see")
    }
    do {
        return try await body(JournalLocation(dataFolder: copy.path))
    } catch let error as StoreError {
        guard let failure = CommandFailure(error) else { throw error }
        throw CommandFailure(failure.code, failure.description.replacing(copy.path, with: "\(journal)"))
    }
}

/// At once if the copy is there, or a part of it, since nothing ends a replay that is under way. Else the store makes it also for a process that has gone, and
/// nobody would delete it: so it is waited for, unless a second signal comes; and if it may come later, its place is told.
private func end(at signals: UnixSignalsSequence, removing copy: URL, of store: AdminClient, as id: UUID) async {
    await withDiscardingTaskGroup { group in
        var wish = WishToEnd()
        var isEnding = false
        for await signal in signals {
            let isRepeated = wish.isRepeated()
            guard isRepeated || !isEnding else { continue }
            isEnding = true
            group.addTask {
                var mayCome = !isBegun(copy)
                if !isRepeated, mayCome {
                    printError("the copy that the store makes is deleted first: a second signal ends this now, and may leave it")
                    mayCome = await isOutstanding(copy, of: store, as: id)
                }
                removeCopy(at: copy)
                if mayCome { printError(escapeForTerminal(warning(of: copy))) }
                // As a shell says of a process that a signal ended.
                _exit(128 + signal.rawValue)
            }
        }
    }
}

/// Waits for the copy.
///
/// - Returns: whether the store may still make it.
private func isOutstanding(_ copy: URL, of store: AdminClient, as id: UUID) async -> Bool {
    do {
        _ = try await store.export(to: copy.path, as: id)
        return false
    } catch AdminError.refused {
        return false
    } catch {
        return !isBegun(copy)
    }
}

/// For a person, of one that nobody else will delete.
private func warning(of copy: URL) -> String { "a store that has the request may still make a copy at \(copy.path): delete it" }

/// Of one that is being made, and of a whole one: the store that still writes to it has a backup that failed.
private func places(of copy: URL) -> [URL] { [copy.appendingPathExtension("building"), copy] }

private func isBegun(_ copy: URL) -> Bool {
    places(of: copy).contains { FileManager.default.fileExists(atPath: $0.path) }
}

private func removeCopy(at copy: URL) {
    for place in places(of: copy) {
        // What could not be removed is in the folder for temporary files.
        try? FileManager.default.removeItem(at: place)
    }
}
