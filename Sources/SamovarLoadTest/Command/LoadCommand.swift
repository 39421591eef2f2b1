import ArgumentParser
import Foundation
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarText
import SamovarWire

struct LoadCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "load",
            abstract: startsStores
                ? "Puts the program under load, kills its processes on the way, and judges what became of each input."
                : "Puts a running store under load, and judges what became of each input.",
            discussion: """
                Examples:
                \(startsStores ? withProgram : withoutProgram)
                  \(executableName) load --listen 'tcp://*:7800' --keys keys --agents 1 \\
                    --input increment --endpoint tcp://127.0.0.1:7410 --key load.key
                and on another machine:
                  \(executableName) load --agent --join tcp://10.0.0.5:7800 --key load.key \\
                    --endpoint tcp://10.0.0.5:7410
                Inputs are due at a fixed rate, and every latency counts from when an input was due. In an input, {n} is its number, \
                {client} that of its client, {sequence} its number in that client.\(startsStores ? " \(ownStore)" : "")
                Exit code 0: nothing was lost, duplicated or out of order; 70: something was, or an agent is missing.
                """)
    }

    /// An executable without a program starts no store, so it kills none.
    private static var startsStores: Bool { Types.schema != nil }

    /// The help of what is for a store that is started here: hidden where none is.
    private static func ofOwnStore(_ text: String) -> ArgumentHelp {
        ArgumentHelp(text, visibility: startsStores ? .default : .hidden)
    }

    private static var withProgram: String {
        """
          \(executableName) load --rate 1000 --duration 10s --input '{"increment":{}}' --report load.html
          \(executableName) load --saturate --clients 16 --processes 2
          \(executableName) load --rate 500 --kill store,worker --every 2s
          \(executableName) load --data FOLDER --input '{"add":{"key":"k{n}"}}'
          \(executableName) load --setup '{"open":{"hall":1}}' --input '{"book":{"hall":1,"seat":{n}}}'
        """
    }

    private static var ownStore: String {
        """
        Unless --data or --endpoint names a store that runs, or SAMOVAR_DATA, SAMOVAR_ENDPOINT or the file of --config does, it starts a \
        store and workers of its own, with data in a folder that it removes.
        """
    }

    private static var withoutProgram: String {
        """
          \(executableName) load --data FOLDER --rate 1000 --input '{"increment":{}}' --report load.html
          \(executableName) load --data FOLDER --saturate --clients 16 --processes 2 --input '{"add":{"key":"k{n}"}}'
        """
    }

    @OptionGroup var options: PeerOptions

    @Option(
        name: .long,
        help: """
            An input as JSON; may be given several times for a mix.\(startsStores ? " Default: the program's own samples." : "")
            """)
    var input: [String] = []

    @Option(
        name: .long,
        help: """
            An input as JSON that must be applied before the load; may be given several times.\
            \(startsStores ? " Default: the program's own." : "")
            """)
    var setup: [String] = []

    @Option(name: .long, help: "Inputs per second, of all clients together. Default: 1000.")
    var rate: Double?

    @Flag(name: .long, help: "In place of a rate: each client keeps --window inputs unanswered.")
    var saturate = false

    @Option(name: .long, help: "Unanswered inputs of each client with --saturate. Default: 256.")
    var window: Int?

    @Option(name: .long, help: "How long inputs are due.")
    var duration = Seconds(.seconds(10))

    @Option(name: .long, help: "How long to wait afterwards for the next answer, until all have come.")
    var drain = Seconds(.seconds(30))

    @Option(name: .long, help: "Sessions that send, over all agents.")
    var clients = 8

    @Option(name: .long, help: "Agent processes on this machine.")
    var processes = 1

    @Option(name: .long, help: "Sockets that follow the view, over all agents. Default: one for each agent.")
    var subscribers: Int?

    @Option(name: .long, help: ofOwnStore("Worker processes of its own store. Default: 1."))
    var workers: Int?

    @Option(name: .long, help: ofOwnStore("Jobs at once in each of these workers."))
    var slots: Int?

    @Option(name: .long, help: ofOwnStore("What its own store starts from, as JSON."))
    var seed: String?

    @Option(name: .long, help: ofOwnStore("Kill processes of its own store on the way, in turn: store, worker, or store,worker."))
    var kill: String?

    @Option(name: .long, help: ofOwnStore("How often one of them is killed. Default: 2s."))
    var every: Seconds?

    @Option(
        name: .long, help: "Where agents of other machines may join: tcp://*:PORT with --keys, tcp://127.0.0.1:PORT or ipc:///FILE."
    )
    var listen: String?

    @Option(name: .long, help: "With --listen: the folder with the keys of agents, which need the role of a client; see `keys`.")
    var keys: String?

    @Flag(name: .customLong("insecure-tcp"), help: "Let --listen be on TCP, where every user of this machine may join.")
    var insecureTcp = false

    @Option(name: .long, help: "How many agents of other machines to wait for.")
    var agents = 0

    @Option(name: .long, help: "Write a page with plots to this file.")
    var report: String?

    @Flag(name: .long, help: "Print the result as JSON.")
    var json = false

    @Flag(name: .long, help: ofOwnStore("Keep the data folder of its own store."))
    var keep = false

    @Flag(name: .long, help: "Take part in the load test of another process; see --join.")
    var agent = false

    @Option(name: .long, help: "With --agent: the coordinator's --listen.")
    var join: String?

    @Option(name: .long, help: .hidden)
    var name: String?

    func validate() throws {
        if agent != (join != nil) { throw ValidationError("--agent and --join ENDPOINT belong together") }
        if agent, !setup.isEmpty { throw ValidationError("--setup is the coordinator's: the agents of --join send none") }
        if agent { return }
        if !Self.startsStores, let option = ownStoreOption {
            throw ValidationError("\(option) is for a store that load starts itself, and \(executableName) has no program to start")
        }
        if saturate, rate != nil { throw ValidationError("--rate and --saturate exclude each other") }
        if let rate, !(rate >= 0.1 && rate <= 10_000_000) { throw ValidationError("--rate is between 0.1 and 10000000") }
        if window != nil, !saturate { throw ValidationError("--window is for --saturate: a rate sends whatever is unanswered") }
        if !(1...4_096).contains(saturatingWindow) { throw ValidationError("--window is between 1 and 4096") }
        if duration.duration < .milliseconds(100) { throw ValidationError("--duration is at least 100ms") }
        if !(0...64).contains(processes) { throw ValidationError("--processes is between 0 and 64") }
        if !(0...1_000).contains(agents) { throw ValidationError("--agents is between 0 and 1000") }
        if processes + agents < 1 { throw ValidationError("nobody would send: --processes and --agents are both 0") }
        if agents > 0, listen == nil { throw ValidationError("where may they join? --agents needs --listen ENDPOINT") }
        if listen != nil, agents == 0 { throw ValidationError("how many may join? --listen needs --agents N") }
        if clients < processes + agents {
            throw ValidationError("--clients \(clients) is fewer than the \(processes + agents) agents")
        }
        if clients > 100_000 { throw ValidationError("--clients is at most 100000") }
        if let subscribers, !(0...100_000).contains(subscribers) { throw ValidationError("--subscribers is between 0 and 100000") }
        if !(0...1_024).contains(workerCount) { throw ValidationError("--workers is between 0 and 1024") }
        if every != nil, kill == nil { throw ValidationError("--every is for --kill, which says whom") }
        if killInterval.duration < .milliseconds(100) { throw ValidationError("--every is at least 100ms") }
        if kill != nil, try killRoles().isEmpty { throw ValidationError("--kill names nobody: store and worker can be killed") }
        if let kills = try killPlan(), kills.due(kills.roles.count - 1, within: duration.duration.microseconds) == nil {
            throw ValidationError(
                "with a death every \(killInterval), --kill \(kill ?? "") has not had its turn when --duration \(duration) is over")
        }
    }

    /// The first option that is for a store of its own.
    private var ownStoreOption: String? {
        if kill != nil { return "--kill" }
        if every != nil { return "--every" }
        if workers != nil { return "--workers" }
        if slots != nil { return "--slots" }
        if seed != nil { return "--seed" }
        return keep ? "--keep" : nil
    }

    var workerCount: Int { workers ?? 1 }
    var saturatingWindow: Int { window ?? 256 }
    var killInterval: Seconds { every ?? Seconds(.seconds(2)) }

    private func killRoles() throws -> [KillPlan.Role] {
        try (kill ?? "").split(separator: ",").map { word in
            guard let role = KillPlan.Role(rawValue: String(word)) else {
                throw ValidationError("--kill \(word): only store and worker can be killed")
            }
            if role == .worker, workerCount == 0 { throw ValidationError("--kill worker: there is none with --workers 0") }
            return role
        }
    }

    func run() async throws {
        var flags: [String: String] = [:]
        flags["keys"] = keys
        if insecureTcp { flags["insecureTcp"] = "true" }
        let settings = try options.settings(flags)
        if agent { return try await takePart(settings) }
        let isOwn = Self.startsStores && settings.data == nil && settings.endpoint == nil
        if !isOwn, let option = ownStoreOption {
            let (places, isOne) = (settings.storePlaces.joined(separator: " and "), settings.storePlaces.count == 1)
            throw CommandFailure(
                .usage,
                "\(option) is for processes that load has started itself, and a store is named by \(places): take \(isOne ? "it" : "them") away"
            )
        }
        guard !isOwn || settings.journal == nil || options.store.journal != nil else {
            throw CommandFailure(
                .usage,
                "the settings name a journal, which may be in use: name an empty one with --journal, or take away \"journal:\" and SAMOVAR_JOURNAL"
            )
        }
        if let file = self.report { try requireWritable(file) }
        let report: LoadReport
        do {
            report = try await LoadTest<Types>(self, settings, isOwn: isOwn).run()
        } catch let error as LoadError {
            throw CommandFailure(.internal, escapeForTerminal("\(error)"))
        }
        printData(json ? JSONTranscoder.text(of: report.value) : report.text)
        if let file = self.report { try write(report, to: file) }
        guard report.isSound else {
            throw CommandFailure(.internal, escapeForTerminal(report.complaint))
        }
    }

    /// Before anything is started. What is in the file stays until there is a report.
    private func requireWritable(_ file: String) throws(CommandFailure) {
        guard let handle = fopen(file, "a") else {
            throw CommandFailure(.inputOutput, "cannot write \(file): \(String(cString: strerror(errno)))")
        }
        fclose(handle)
    }

    private func write(_ report: LoadReport, to file: String) throws {
        do {
            try Data(report.page.utf8).write(to: URL(fileURLWithPath: file))
        } catch {
            throw CommandFailure(.inputOutput, "cannot write \(file): \(error.localizedDescription)")
        }
        printError("the report is in \(file)")
    }

    private func takePart(_ settings: ProcessSettings) async throws {
        guard let join else { return }
        let store: StoreAccess? =
            settings.data == nil && settings.endpoint == nil ? nil : try settings.access(for: Types.self)
        let host = ProcessInfo.processInfo.hostName
        let agent = LoadAgent(
            address: try loadAddress(join, hasKeys: settings.key != nil),
            name: name ?? "\(host), process \(ProcessInfo.processInfo.processIdentifier)",
            machine: machineText(), store: store, keyFile: settings.key, schema: Types.schema)
        do {
            try await agent.run()
        } catch let error as LoadError {
            throw CommandFailure(.unavailable, "\(error)")
        } catch {
            throw CommandFailure(.inputOutput, "\(error)")
        }
    }

    /// The plan, as far as the options say it: not where the store is.
    func plan() throws -> LoadPlan {
        LoadPlan(
            pace: saturate ? .saturate(window: saturatingWindow) : .rate(rate ?? 1_000), clients: clients,
            subscribers: subscribers ?? processes + agents, duration: duration.duration.microseconds,
            drain: drain.duration.microseconds, inputs: try templates(), endpoint: "", dataFolder: "")
    }

    func killPlan() throws -> KillPlan? {
        let roles = try killRoles()
        return roles.isEmpty ? nil : KillPlan(roles: roles, interval: killInterval.duration.microseconds)
    }

    /// What is sent before the load. What a program declares is for a new store: one that runs is as its owner wants it.
    func setupInputs(isOwn: Bool) throws -> [[UInt8]] {
        if setup.isEmpty { return isOwn ? try Types.setupInputs() : [] }
        return try setup.map { try Self.value(of: $0, $0, "setup input").encoded }
    }

    /// - Parameter json: the text, as it is read.
    private static func value(of text: String, _ json: String, _ what: String) throws(CommandFailure) -> MessagePackValue {
        do throws(JSONError) {
            return try JSONTranscoder.parseArgument(json)
        } catch {
            throw CommandFailure(.badData, "the \(what) \(text) is no JSON: \(error)")
        }
    }

    private func templates() throws -> [[UInt8]] {
        if input.isEmpty {
            let samples = try Types.sampleInputs()
            guard !samples.isEmpty else {
                let declared = Self.startsStores ? ", or let the program declare `sampleInputs`" : ""
                throw CommandFailure(.usage, "what shall be sent? give an input as JSON with --input\(declared)")
            }
            return samples
        }
        return try input.map { InputTemplate(try Self.value(of: $0, InputTemplate.withMarks($0), "input")).encoded }
    }
}

/// Where a coordinator is reached, as ZeroMQ spells it or, with keys, as an endpoint. Without keys TCP beyond loopback is nothing for it.
func loadAddress(_ text: String, hasKeys: Bool) throws -> String {
    if text.hasPrefix("ipc://") {
        guard text.hasPrefix("ipc:///") else { throw CommandFailure(.configuration, "\(text): ipc:// needs an absolute path") }
        return text
    }
    let endpoint = try Endpoint(text, dataFolder: ".")
    if hasKeys { return text }
    guard endpoint.isOnLoopback else {
        throw CommandFailure(
            .configuration,
            "\(text) is beyond loopback, where agents join with keys alone: --keys FOLDER with --listen, --key FILE with --join"
        )
    }
    return endpoint.front
}

/// What this process runs on, in words.
func machineText() -> String {
    let process = ProcessInfo.processInfo
    let memory = Double(process.physicalMemory) / Double(1 << 30)
    return "\(process.hostName): \(process.activeProcessorCount) processors, \(Int(memory.rounded())) GiB, "
        + process.operatingSystemVersionString
}
