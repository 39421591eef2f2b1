import Foundation
import Logging
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarText
import SamovarWire
import Subprocess
import Synchronization
import UnixSignals

/// One load test from beginning to end: a store, agents, a coordinator, the clock of who used how much, and the judge.
struct LoadTest<Types: ProgramTypes>: Sendable {
    let command: LoadCommand<Types>
    let settings: ProcessSettings
    let isOwn: Bool
    /// What must be applied before the load, in MessagePack.
    let setup: [[UInt8]]
    let plan: LoadPlan
    let ground: LoadGround
    private let coordinator: LoadCoordinator
    private let children: [String]

    init(_ command: LoadCommand<Types>, _ settings: ProcessSettings, isOwn: Bool) throws {
        self.command = command
        self.settings = settings
        self.isOwn = isOwn
        // What is wrong in the command shows before anything is started.
        setup = try command.setupInputs(isOwn: isOwn)
        let draft = try command.plan()
        let kills = try command.killPlan()
        let meetings = try Self.meetings(command, settings)
        let outside: StoreAccess? = isOwn ? nil : try settings.access(for: Types.self)

        let scratch = LoadGround.scratchPath()
        let data = scratch + "/data"
        let arguments = Self.arguments(command, settings, data: data)
        let supervisor =
            isOwn ? Supervisor(arguments, executable: try .own, logger: Self.quiet(settings, "load")) : nil
        // Only one that this command names: that of the settings is in use.
        let place = isOwn ? command.options.store.journal : nil
        ground = LoadGround(
            store: outside ?? .of(dataFolder: data), dataFolder: outside == nil ? data : settings.data ?? ".",
            journal: try place.map { try JournalLocation($0, dataFolder: data, kinds: Types.journals) }, supervisor: supervisor,
            scratch: scratch, keepsScratch: command.keep)
        var plan = draft
        plan.endpoint = "\(ground.store)"
        plan.dataFolder = ground.dataFolder
        self.plan = plan
        let meeting = "ipc://\(scratch)/agents"
        children = (0..<command.processes).map { "agent \($0 + 1)" }
        coordinator = try LoadCoordinator(
            plan, at: [meeting] + meetings.open, keyed: meetings.keyed, expecting: command.processes + command.agents, kills: kills,
            patience: command.agents > 0 ? LoadProtocol.gathering : .seconds(30))
    }

    /// Where agents of other machines may join.
    private static func meetings(
        _ command: LoadCommand<Types>, _ settings: ProcessSettings
    ) throws -> (open: [String], keyed: LoadCoordinator.KeyedMeeting?) {
        guard let listen = command.listen else { return ([], nil) }
        let isKeyed = settings.keys != nil && listen.hasPrefix("tcp://")
        let address = try loadAddress(listen, hasKeys: isKeyed)
        let endpoint = try Endpoint(address, dataFolder: ".")
        try endpoint.requireListening(hasKeys: isKeyed, allowsInsecure: settings.insecureTcp)
        guard isKeyed, let keys = settings.keys else { return ([address], nil) }
        return ([], LoadCoordinator.KeyedMeeting(endpoint: endpoint, keysFolder: keys))
    }

    private static func quiet(_ settings: ProcessSettings, _ label: String) -> Logger {
        var logger = settings.logger(label)
        // Deaths are what this is for; the kills are told anyway.
        if settings.logLevel == nil { logger.logLevel = .error }
        return logger
    }

    /// Of each process.
    private static func arguments(
        _ command: LoadCommand<Types>, _ settings: ProcessSettings, data: String
    ) -> [Supervisor.Role: [String]] {
        var common = ["--lifeline", "--data", data, "--log-level", settings.logLevel ?? "error"]
        if let journal = command.options.store.journal { common += ["--journal", journal] }
        if let config = command.options.store.config { common += ["--config", config] }
        let store = ["store"] + common + (command.seed.map { ["--seed=\($0)"] } ?? [])
        let worker = ["worker"] + common + (command.slots.map { ["--slots", "\($0)"] } ?? [])
        var arguments: [Supervisor.Role: [String]] = [.store(0): store]
        for number in 0..<command.workerCount { arguments[.worker(number)] = worker }
        return arguments
    }

    // MARK: The course

    func run() async throws -> LoadReport {
        try ground.makeScratch()
        let log = LoadLog(plan: plan, agents: command.processes + command.agents)
        // If it ends without a report, what was begun may show why.
        var isSound: Bool?
        defer { ground.removeScratch(isSound ?? !log.hasBegun) }
        let report = try await withThrowingTaskGroup(of: LoadReport?.self) { group in
            if let supervisor = ground.supervisor {
                group.addTask {
                    try await supervisor.run()
                    return nil
                }
            }
            group.addTask {
                var count = 0
                for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
                    count += 1
                    if count > 2 { giveUp() }
                    coordinator.interrupt()
                }
                return nil
            }
            group.addTask { try await course(log) }
            defer { group.cancelAll() }
            while let part = try await group.next() {
                if let report = part { return report }
            }
            throw LoadError("the load test ended without a result")
        }
        isSound = report.judgement.findings.isSound && report.judgement.isByJournal
        return report
    }

    /// Ends this process. The coordinator ends the load at the first signal, and waits for nothing after the second; what comes before and after
    /// it, the setup and the judgement, may wait for a store that does not answer.
    private func giveUp() -> Never {
        ground.supervisor?.killAll()
        ground.removeScratch(true)
        // As a shell says of a process that SIGINT ended.
        _exit(130)
    }

    private func course(_ log: LoadLog) async throws -> LoadReport {
        try await requireClientKey()
        // Before the status: what is judged begins after its turn.
        try await setUp()
        let before = try await statusBefore()
        let begun = Date()
        let result = try await lead(log)
        log.close()
        // It is asked only whether its journal is still the same; a store that is gone has shown in what its clients were told.
        let after = before == nil ? nil : try? await ground.status(within: .seconds(10))
        if let supervisor = ground.supervisor { await supervisor.end() }
        guard result.agents.contains(where: { $0.result != nil }) else {
            let reasons = result.problems + result.agents.compactMap { agent in agent.problem.map { "\(agent.name): \($0)" } }
            throw LoadError("the load test has no result: " + reasons.joined(separator: "; "))
        }
        return try await report(result, log, begun, before: before, after: after)
    }

    /// Nil if clients reach the store and operators do not, since it is on another machine or takes another key for that.
    private func statusBefore() async throws -> MessagePackValue? {
        do {
            // Without a key, the folder that leads operators to the store at an endpoint may be another store's.
            if !isOwn { _ = try settings.admin(for: Types.self) }
            return try await ground.status(within: isOwn ? .seconds(30) : .seconds(3))
        } catch let failure as CommandFailure where [.unavailable, .configuration].contains(failure.code) && !isOwn {
        } catch AdminError.keyRefused where !isOwn {
        }
        try await withClient(command.options, for: Types.self) { _ in }
        return nil
    }

    /// Runs coordinator, agents and the sampling of processes until the coordinator is done.
    private func lead(_ log: LoadLog) async throws -> LoadCoordinator.Result {
        let supervisor = ground.supervisor
        return try await withThrowingTaskGroup(of: LoadCoordinator.Result?.self) { group in
            group.addTask {
                try await withTaskCancellationHandler {
                    try await coordinator.run { event in
                        switch event {
                        case .kill(let role):
                            guard let supervisor else { return }
                            log.killed(Self.kill(role, supervisor, log))
                        default: log.take(event)
                        }
                    }
                } onCancel: {
                    // Once to stop, and once to wait for nothing: the store is gone for good.
                    coordinator.interrupt()
                    coordinator.interrupt()
                }
            }
            for name in children {
                group.addTask {
                    try await runAgent(name)
                    return nil
                }
            }
            if let supervisor {
                group.addTask {
                    while !Task.isCancelled {
                        for child in supervisor.children {
                            guard let sample = ProcessMeter.sample(child.process) else { continue }
                            log.sampled(child.role.name, child.process, sample)
                        }
                        // A cancelled sleep is the end of the test.
                        do { try await Task.sleep(for: .milliseconds(500)) } catch { break }
                    }
                    return nil
                }
            }
            defer { group.cancelAll() }
            while let part = try await group.next() {
                if let result = part { return result }
            }
            throw LoadError("the coordinator ended without a result")
        }
    }

    /// The name of what was killed; workers die in turn.
    private static func kill(_ role: KillPlan.Role, _ supervisor: Supervisor, _ log: LoadLog) -> String? {
        switch role {
        case .store: return supervisor.kill(.store(0)) ? "store" : nil
        case .worker:
            let workers = supervisor.children.map(\.role).filter { !$0.isStore }
            guard !workers.isEmpty else { return nil }
            let worker = workers[log.workerKills % workers.count]
            return supervisor.kill(worker) ? worker.name : nil
        }
    }

    private func runAgent(_ name: String) async throws {
        var options = PlatformOptions()
        // A Ctrl-C reaches the coordinator alone, which then ends the test in order.
        options.processGroupID = 0
        var arguments = ["load", "--agent", "--join", "ipc://\(ground.scratch)/agents", "--name", name]
        if let level = settings.logLevel { arguments += ["--log-level", level] }
        if let key = settings.key { arguments += ["--key", key] }
        let result = try await Subprocess.run(
            .own, arguments: Arguments(arguments), environment: .inherit.updating(Self.noStore), platformOptions: options,
            input: .none, output: .discarded, error: .currentStandardError)
        coordinator.agentEnded(name, "its process ended (\(result.terminationStatus.words))")
    }

    /// The coordinator says where the store is.
    private static var noStore: [Environment.Key: String?] { ["SAMOVAR_DATA": nil, "SAMOVAR_ENDPOINT": nil] }
}
