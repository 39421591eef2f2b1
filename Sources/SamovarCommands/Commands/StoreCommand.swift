import ArgumentParser
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire
import SamovarWorker

/// Options of a store process, shared with `up`.
struct SeedOptions: ParsableArguments {
    @Option(
        name: .long, help: "What a new timeline starts from: JSON, or @FILE for a file that holds it. A data folder remembers it.")
    var seed: String?

    @Flag(name: .long, help: "Archive the timeline of the data folder first, and begin another. Nothing is deleted.")
    var fresh = false

    @Option(name: .long, help: "Remove all but so many of the newest turns from the journal, behind verified snapshots.")
    var retain: String?

    @Option(name: .long, help: "The folder with the keys of the store and of those who may come over TCP; see `keys`.")
    var keys: String?

    @Flag(
        name: .customLong("insecure-tcp"),
        help: "Listen on TCP, on loopback, although there are no keys: every user of this machine gets in.")
    var insecureTcp = false

    @Flag(
        name: .customLong("check-invariants"),
        help: "Look at the program's invariants after each group, and say in the log and in `status` which is broken.")
    var checkInvariants = false

    /// Those that are settings.
    var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["retain"] = retain
        flags["keys"] = keys
        if insecureTcp { flags["insecureTcp"] = "true" }
        if checkInvariants { flags["checkInvariants"] = "true" }
        return flags
    }

    /// The system hands a process no argument that is longer than 128 KiB.
    private static let maximumFile = 100_000

    /// The seed as JSON. No JSON begins with the sign of a file.
    func seedText() throws -> String? {
        guard let seed, seed.hasPrefix("@") else { return seed }
        do {
            return try readText(of: String(seed.dropFirst()), atMost: Self.maximumFile)
        } catch {
            throw CommandFailure(.configuration, "the seed: \(error)")
        }
    }

    func seedBytes() throws -> [UInt8]? {
        guard let seed = try seedText() else { return nil }
        do {
            return try JSONTranscoder.parse(seed).encoded
        } catch {
            throw CommandFailure(.configuration, "the seed is no JSON: \(error)")
        }
    }
}

/// Consent to a journal that tells another story than the program, shared with `up`.
struct AcceptanceOptions: ParsableArguments {
    @Option(
        name: .customLong("accept-divergence"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Accept that this build orders something else at a turn than the journal says. May be given several times.",
            discussion: "It is written to the journal. What the turn ordered and is still open waits, dead, for you.",
            valueName: "turn"))
    var acceptDivergence: [Int] = []

    func validate() throws { try Self.requireTurns(acceptDivergence) }

    static func requireTurns(_ turns: [Int]) throws {
        if let turn = turns.first(where: { $0 < 1 }) {
            throw ValidationError("--accept-divergence \(turn) is no turn: they are numbered from 1")
        }
    }
}

struct StoreCommand<App: SamovarApp>: AsyncParsableCommand, HearingHangup {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "store", abstract: "Runs the store process.",
            discussion: "Example: \(executableName) store --data .samovar/\(executableName)")
    }

    @OptionGroup var options: StoreOptions
    @OptionGroup var seed: SeedOptions
    @OptionGroup var acceptance: AcceptanceOptions

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Follow the journal, and take over from the store that has it when that is gone.",
            discussion:
                "On a journal in a database, any store follows as long as another has the journal; this one begins no timeline."))
    var standby = false

    @Flag(name: .customLong("hand-over"), help: "Ask the store that has the journal for it, once this one is warm.")
    var handOver = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Follow the running store of the data folder from a process of its own, and compare.",
            discussion:
                "It serves nobody, and ends with exit code 65 at a turn of which it makes something else. On a journal in a database, a standby compares."
        ))
    var shadow = false

    @Flag(name: .long, help: .hidden) var lifeline = false

    func validate() throws {
        guard shadow else { return }
        let others = [
            ("--standby", standby), ("--hand-over", handOver), ("--fresh", seed.fresh), ("--seed", seed.seed != nil),
            ("--retain", seed.retain != nil), ("--accept-divergence", !acceptance.acceptDivergence.isEmpty),
        ]
        if let other = others.first(where: \.1) { throw ValidationError("--shadow follows a store, and has no use for \(other.0)") }
    }

    func run() async throws {
        let settings = try options.settings(seed.flags)
        // Without keys it ends as ever when its terminal hangs up, and so does a shadow.
        if shadow || settings.keys == nil { EarlyHangup.letGo() }
        if shadow { return try await follow(settings) }
        guard settings.journal != nil || !(standby || handOver) else {
            throw CommandFailure(.usage, "a standby needs a journal that several stores reach: name one with --journal")
        }
        let logger = settings.logger("store")
        var configuration = StoreConfiguration(
            journal: try settings.journal(for: AppTypes<App>.self), endpoint: try settings.endpoint(for: AppTypes<App>.self))
        configuration.seed = try seed.seedBytes()
        configuration.build = executableBuild
        configuration.isFresh = seed.fresh
        configuration.acceptedDivergences = Set(acceptance.acceptDivergence)
        configuration.allowsInsecureTCP = settings.insecureTcp
        configuration.retain = settings.retain
        configuration.settings = settings.store
        if seed.fresh { try await configuration.journal.requireNoOther(than: App.Program.schema) }
        configuration.keysFolder = settings.keys
        configuration.goodbye = settings.goodbye
        configuration.backlogObserver = App.backlogObserver
        (configuration.isStandby, configuration.isHandOver) = (standby, handOver)
        let store = try Store<App.Program>(configuration, logger: logger, engine: App.engine)
        let news = Lifeline { line in
            // “gone ID”: the supervisor saw this worker end.
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count >= 2, words[0] == "gone", let id = WorkerID(words[1]) else { return }
            store.workerDied(id, words.count > 2 ? words[2] : "its process ended")
        } drain: {
            // The next supervisor waits 5 s for the data folder.
            store.drain(within: .seconds(2))
        }
        let readKeys = settings.keys == nil ? nil : { @Sendable in store.readKeys() }
        try await runProcess(store, lifeline: lifeline ? news : nil, onHangup: readKeys, logger: logger)
    }

    private func follow(_ settings: ProcessSettings) async throws {
        guard settings.journal == nil else {
            throw CommandFailure(.usage, "a shadow follows the store of a data folder; a journal at a place has --standby for that")
        }
        let logger = settings.logger("shadow")
        let shadow = Shadow<App.Program>(
            of: try settings.dataFolder(for: AppTypes<App>.self), at: try settings.endpoint(for: AppTypes<App>.self),
            build: executableBuild, logger: logger, engine: App.engine)
        try await runProcess(shadow, lifeline: lifeline ? Lifeline { shadow.end() } : nil, logger: logger)
    }
}

/// Names the build in the journal: when the executable was made.
var executableBuild: String {
    // The same one, however it was called. Where it cannot be found the build is unknown.
    guard let path = try? ownExecutable(),
        let date = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
    else { return executableName }
    return "\(executableName) \(date.ISO8601Format())"
}

struct WorkerCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "worker", abstract: "Runs a worker process.",
            discussion: """
                Example: \(executableName) worker --slots 8 --queue default http=4
                         \(executableName) worker --endpoint tcp://store.example:7410 --key render.key
                """)
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, parsing: .unconditional, help: "Jobs at once.")
    var slots: Int?

    @Option(
        name: .long, parsing: .upToNextOption,
        help: ArgumentHelp(
            "The queues to serve, one or more; NAME=4 for at most 4 jobs of it at once. Default: what the program says.",
            discussion: "They are served in this order: a later one gets what the earlier ones leave."))
    var queue: [String] = []

    @Option(
        name: .long, parsing: .upToNextOption,
        help: "What this worker can do, one or more names: it gets effects that need them, too. Default: nothing.")
    var can: [String] = []

    @Option(name: .customLong("read-ahead"), parsing: .unconditional, help: "Jobs that wait in the worker beside the running ones.")
    var readAhead: Int?

    @Flag(name: .long, help: .hidden) var lifeline = false
    @Option(name: .long, help: .hidden) var id: String?

    func run() async throws {
        let settings = try options.settings()
        let logger = settings.logger("worker")
        let slots = slots ?? settings.slots ?? App.slots
        guard ProcessSettings.slotRange.contains(slots) else {
            let place = self.slots == nil ? "the program's slots:" : "--slots"
            throw CommandFailure(.configuration, "\(place) \(slots) is not between 1 and 65536")
        }
        if let readAhead, !(0...65_536).contains(readAhead) {
            throw CommandFailure(.configuration, "--read-ahead \(readAhead) is not between 0 and 65536")
        }
        let given = try (queue.isEmpty ? settings.queues : queue).map(queueFlag)
        var configuration = WorkerConfiguration(store: try settings.access(for: AppTypes<App>.self))
        if let id = id.flatMap({ WorkerID($0) }) { configuration.id = id }
        configuration.slots = slots
        configuration.queues = given.map(\.queue)
        for named in given where named.limit != nil { configuration.limits[named.queue] = named.limit }
        configuration.readAhead = readAhead ?? settings.readAhead ?? App.readAhead
        configuration.capabilities = try settings.capabilities(can)
        let worker = try WorkerHost(App.worker, configuration, logger: logger)
        let service = PunctualService(base: worker, logger: logger)
        try await runProcess(service, lifeline: lifeline ? Lifeline { worker.drain() } : nil, logger: logger)
    }
}

extension ProcessSettings {
    /// What a worker can do, by its flag or else by these settings, which have been looked at.
    func capabilities(_ flag: [String]) throws(CommandFailure) -> Set<String> {
        let names = Set(flag.isEmpty ? capabilities : flag)
        if let name = names.first(where: { !(1...WorkerOffer.capabilityBytes).contains($0.utf8.count) }) {
            throw CommandFailure(
                .configuration, "--can \(name.bounded()): a name has from 1 to \(WorkerOffer.capabilityBytes) bytes")
        }
        guard names.count <= WorkerOffer.capabilityLimit else {
            throw CommandFailure(.configuration, "--can names \(names.count) capabilities; \(WorkerOffer.capabilityLimit) at most")
        }
        return names
    }
}

private func queueFlag(_ text: String) throws(CommandFailure) -> (queue: Queue, limit: Int?) {
    // A setting that is none was refused where it stands.
    guard let queue = queueArgument(text) else {
        throw CommandFailure(.configuration, "--queue \(text): write \(queueForm), and several with spaces between")
    }
    return queue
}

/// What a queue of a worker looks like, as a flag or a setting.
let queueForm = "NAME, or NAME=4 for at most 4 of its jobs at once"

/// Nil for a text that is none. A comma is between the names of a variable, and in none of them.
func queueArgument(_ text: String) -> (queue: Queue, limit: Int?)? {
    guard !text.isEmpty, !text.contains(",") else { return nil }
    guard let sign = text.lastIndex(of: "=") else { return (Queue(text), nil) }
    guard let number = Int(text[text.index(after: sign)...]), ProcessSettings.slotRange.contains(number), sign > text.startIndex
    else { return nil }
    return (Queue(String(text[..<sign])), number)
}
