import ArgumentParser
import Foundation
import Logging
import MessagePack
import SamovarCore
import SamovarHost
package import SamovarText
import UnixSignals
import ZeroMQ

struct UpCommand<App: SamovarApp>: AsyncParsableCommand, HearingHangup {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "up", abstract: "Runs a store and workers under supervision, and shows the live view.",
            discussion: """
                Example: \(executableName) up --workers 2
                It runs until Ctrl-C, or with --until-idle until nothing is left to do; then it prints the final view. Run it again
                with the same data folder and it goes on where it was.
                """)
    }

    @OptionGroup var options: StoreOptions
    @OptionGroup var seed: SeedOptions
    @OptionGroup var acceptance: AcceptanceOptions

    @Option(
        name: .long, parsing: .unconditional,
        help: "Store processes: one serves, the others follow its journal and take over. More than one needs --journal.")
    var stores = 1

    @Flag(
        name: .long,
        help: "A process of its own follows the store and compares; see `store --shadow`. A difference ends that process alone.")
    var shadow = false

    @Flag(name: .long, help: "Serve the page, too, and say where it is; see `web`.") var web = false

    @Option(name: .customLong("web-port"), parsing: .unconditional, help: "Of the page; 0 for one that is free.") var webPort =
        7_480

    @Option(name: .long, parsing: .unconditional, help: "Worker processes.")
    var workers: Int?

    @Option(name: .long, parsing: .unconditional, help: "Jobs at once in each worker.")
    var slots: Int?

    @Option(name: .long, parsing: .upToNextOption, help: "What the workers can do, one or more names, for effects that need it.")
    var can: [String] = []

    @Flag(name: .customLong("until-idle"), help: "End when inbox, effects and timers are empty; exit 70 if effects died.")
    var untilIdle = false

    func run() async throws {
        // Each child takes three, and has the same limit.
        try raiseDescriptorLimit()
        let settings = try options.settings(seed.flags)
        // Without keys it ends as ever when its terminal hangs up.
        if settings.keys == nil { EarlyHangup.letGo() }
        let journal = try settings.journal(for: AppTypes<App>.self)
        let seats = try seats(settings)
        for endpoint in seats.map(\.endpoint) {
            try endpoint.requireListening(hasKeys: settings.keys != nil, allowsInsecure: settings.insecureTcp)
            try endpoint.prepareFolder()
        }
        // The seed is looked at here, too, so that a mistake shows before anything is started.
        _ = try seed.seedBytes()
        if seed.fresh {
            // Here and not in the store, which may be started more than once.
            try await journal.requireNoOther(than: App.Program.schema)
            if let place = try await journal.archive() { printError(JournalLocation.words(forArchive: place)) }
        } else if FileManager.default.fileExists(atPath: journal.dataFolder) {
            // As a store waits. The views of another one, which has the folder, are not shown for this one's.
            try await journal.waitForFolder()
        }

        // Whoever reads what is printed from here on may stand still: children are started again, and signals heard, all the same.
        try ErrorThread.install()
        let output = try ViewThread()
        var logger = settings.logger("up")
        if LiveScreen.isTerminal, settings.logLevel == nil { logger.logLevel = .error }
        let supervisor = Supervisor(try arguments(settings, seats, logger: logger), executable: try .own, logger: logger)
        // A store with ports is there in its folder, too, where its own need no key.
        let store = try StoreAccess(foldersOf: seats.map(\.endpoint))
        let client = try StoreClient(at: store, schema: App.Program.schema, logger: logger)
        // One sequence hears all signals: what comes between two sequences is lost. It is there before a store reads its keys.
        let hangup: [UnixSignal] = settings.keys == nil ? [] : [.sighup]
        let signals = await UnixSignalsSequence(trapping: [.sigterm, .sigint] + hangup)
        let deaths: String
        do {
            deaths = try await serve(supervisor, client, store, output, signals)
        } catch {
            await output.finish()
            throw error
        }
        await output.finish()
        guard deaths.isEmpty else { throw CommandFailure(.internal, deaths) }
    }

    /// Until nothing is left to do, or a signal has ended all children in order; says which effects died.
    private func serve(
        _ supervisor: Supervisor, _ client: StoreClient, _ store: StoreAccess, _ output: ViewThread, _ signals: UnixSignalsSequence
    ) async throws -> String {
        try await withThrowingTaskGroup(of: String?.self) { group in
            let (interruptions, interruption) = AsyncStream<Void>.makeStream()
            group.addTask {
                try await supervisor.run()
                return nil
            }
            group.addTask {
                try await client.run()
                return nil
            }
            group.addTask { [self] in try await watch(client, store, output) }
            group.addTask {
                var wish = WishToEnd()
                for await signal in signals {
                    if signal == .sighup {
                        supervisor.hangUp()
                        continue
                    }
                    guard wish.isRepeated() else {
                        interruption.yield()
                        continue
                    }
                    supervisor.killAll()
                    // As a shell says of a process that SIGINT ended.
                    _exit(130)
                }
                return nil
            }
            group.addTask {
                for await _ in interruptions { return "" }
                return nil
            }
            defer { group.cancelAll() }
            // The first answer is the watcher's (idle) or the signal's; the supervisor ends before them only by throwing.
            while let answer = try await group.next() {
                guard let answer else { continue }
                client.close()
                // Ends the children in order; a second signal ends them at once.
                await supervisor.end()
                return answer
            }
            return ""
        }
    }

    /// Where a store of this machine has its data and its sockets.
    private typealias Seat = (folder: String, endpoint: Endpoint)

    /// One for each store. Those that follow have folders in that of the first.
    private func seats(_ settings: ProcessSettings) throws -> [Seat] {
        let first = try settings.dataFolder(for: AppTypes<App>.self)
        guard (1...StoreAccess.maximumEndpoints).contains(stores) else {
            throw CommandFailure(.usage, "--stores \(stores) is not between 1 and \(StoreAccess.maximumEndpoints)")
        }
        guard !shadow || settings.journal == nil else {
            throw CommandFailure(
                .usage, "--shadow follows the store of a data folder: with --journal, --stores 2 starts a standby that compares")
        }
        guard !shadow || stores == 1 else { throw CommandFailure(.usage, "--shadow follows one store: leave --stores out") }
        guard stores > 1 else { return [(first, try settings.endpoint(for: AppTypes<App>.self))] }
        guard settings.journal != nil else {
            throw CommandFailure(.usage, "--stores \(stores) needs a journal that several stores reach: name one with --journal")
        }
        guard settings.endpoint == nil else {
            throw CommandFailure(.usage, "--stores \(stores) has its sockets by the data folder: leave --endpoint out")
        }
        return (1...stores).map { number in
            let folder = number == 1 ? first : StoreAccess.standbyFolder(number, of: first)
            return (folder, .of(dataFolder: folder))
        }
    }

    /// Of each process.
    private func arguments(
        _ settings: ProcessSettings, _ seats: [Seat], logger: Logger
    ) throws -> [Supervisor.Role: [String]] {
        let workers = workers ?? settings.workers ?? 1
        guard (0...1_024).contains(workers) else {
            throw CommandFailure(.configuration, "--workers \(workers) is not between 0 and 1024")
        }
        var common = ["--lifeline", "--log-level", "\(logger.logLevel)"]
        if let journal = options.journal { common += ["--journal", journal] }
        if let config = options.config { common += ["--config", config] }
        var store = ["store"] + common
        // What the file holds now: a store that is started again must not find another seed in it.
        if let seed = try seed.seedText() { store += ["--seed=\(seed)"] }
        store += acceptance.acceptDivergence.flatMap { ["--accept-divergence", "\($0)"] }
        if seed.insecureTcp { store += ["--insecure-tcp"] }
        if seed.checkInvariants { store += ["--check-invariants"] }
        if let keys = seed.keys { store += ["--keys", keys] }
        if let retain = seed.retain { store += ["--retain", retain] }
        let endpoints = try StoreAccess(foldersOf: seats.map(\.endpoint))
        var worker = ["worker"] + common + ["--data", seats[0].folder, "--endpoint", "\(endpoints)"]
        if let slots { worker += ["--slots", "\(slots)"] }
        // Seen here, too, so that a mistake shows before anything is started.
        if !can.isEmpty { worker += ["--can"] + (try settings.capabilities(can)).sorted() }
        let place = ["--data", seats[0].folder, "--endpoint", "\(seats[0].endpoint)"]
        guard !web || App.page != nil else { throw CommandFailure(.usage, WebCommand<AppTypes<App>>.withoutPage) }
        guard UInt16(exactly: webPort) != nil else {
            throw CommandFailure(.usage, "--web-port \(webPort) is not between 0 and 65535")
        }
        let page = ["web", "--port", "\(webPort)", "--data", seats[0].folder, "--endpoint", "\(endpoints)"]
        var arguments: [Supervisor.Role: [String]] = [:]
        for (number, seat) in seats.enumerated() {
            let place = ["--data", seat.folder, "--endpoint", "\(seat.endpoint)"]
            arguments[.store(number)] = store + place + (number == 0 ? [] : ["--standby"])
        }
        for number in 0..<workers { arguments[.worker(number)] = worker }
        if shadow { arguments[.shadow] = ["store", "--shadow"] + common + place }
        if web { arguments[.page] = page + common }
        return arguments
    }

    /// Shows views until nothing is left to do; says then which effects died.
    private func watch(_ client: StoreClient, _ store: StoreAccess, _ output: ViewThread) async throws -> String? {
        guard let (deaths, last) = try await follow(client, store, output) else { return nil }
        if let last { await output.draw(try AppTypes<App>.screen(of: last)) }
        return deaths
    }

    /// - Returns: which effects died, and the last view, when nothing is left to do.
    private func follow(
        _ client: StoreClient, _ store: StoreAccess, _ output: ViewThread
    ) async throws -> (deaths: String, last: [UInt8]?)? {
        var newest: [UInt8]?
        let (lines, line) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingNewest(1))
        // It ends with this function.
        async let _: Void = printEachSecond(lines, output)
        for await event in client.views() {
            switch event {
            case .view(let view):
                newest = view.bytes
                if LiveScreen.isTerminal {
                    await output.draw(try AppTypes<App>.screen(of: view.bytes))
                } else {
                    line.yield(try AppTypes<App>.line(of: view.bytes))
                }
            case .idle where untilIdle:
                if let deaths = try await deaths(store) { return (deaths, newest) }
            case .idle, .live, .resyncing, .stale: continue
            }
        }
        return nil
    }

    /// Not on a terminal: a line each second at most, and always that of the newest view. One that finds no space is left out: the store
    /// and its workers go on.
    private func printEachSecond(_ lines: AsyncStream<String>, _ output: ViewThread) async throws {
        var isFull = false
        for await line in lines {
            // The beginning of a line may have found space.
            guard let hasSpace = await output.add(isFull ? "\n" + line : line) else { return }
            if !hasSpace, !isFull { printError("warning: no space for standard output: views are left out until there is some") }
            isFull = !hasSpace
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Empty if no effect died; nil if the store has found something to do meanwhile, or is away.
    private func deaths(_ store: StoreAccess) async throws -> String? {
        let effects: MessagePackValue
        do {
            effects = try await AdminClient(at: store).ask("effects")
        } catch is AdminError {
            return nil
        }
        guard case .int(0) = effects["openCount"], case .array(let dead) = effects["dead"] else { return nil }
        guard !dead.isEmpty else { return "" }
        var count = dead.count
        if case .int(let all)? = effects["deadCount"] { count = max(count, Int(all)) }
        let lines = dead.map { "  " + ViewText.line(of: $0) } + (count > dead.count ? ["  … and \(count - dead.count) more"] : [])
        return "\(counted(count, "effect")) died:\n" + lines.joined(separator: "\n")
    }
}

package func ownExecutable() throws(CommandFailure) -> String {
    #if os(Linux)
    if let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return executablePath(of: link) }
    // No /proc: the name by which we were called may do.
    #endif
    guard let path = Bundle.main.executablePath ?? CommandLine.arguments.first else {
        throw CommandFailure(.internal, "cannot find this executable")
    }
    return path
}

/// Linux marks a file that is no more at its path, as after a build. What has taken its place is run.
///
/// - Parameter link: what `/proc/self/exe` says.
func executablePath(of link: String) -> String {
    let mark = " (deleted)"
    return link.hasSuffix(mark) ? String(link.dropLast(mark.count)) : link
}
