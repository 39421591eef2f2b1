public import ArgumentParser
import Foundation
import MessagePack
import SamovarCommands
public import SamovarConformance
import SamovarCore
import SamovarHost
import SamovarText

extension Subject: ExpressibleByArgument {}

/// `samovar conform`: plays a store that is hostile and faulty to a worker, a client or a subscriber in any language.
public struct ConformCommand: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "conform",
            abstract:
                "Says which rules of docs/protocol.md a worker, a client or a subscriber breaks, in whichever language it is.",
            discussion: """
                Starts the command once for each scenario, with SAMOVAR_ENDPOINT=ipc:///FOLDER in its environment, and plays a store to it
                that says what a store may say, and what it must not. What the command has to do is little: see docs/conformance.md.
                Examples:
                  samovar conform worker -- python3 my_worker.py
                  samovar conform client --format json -- ./my-client
                  samovar conform worker --rule noise --rule claims -- ./my-worker
                  samovar conform subscriber --list
                If a rule is broken, the exit code is 65.
                """)
    }

    @Argument(help: "What the command is.") var role: Subject
    @Argument(parsing: .postTerminator, help: "The command, with its arguments.") var command: [String] = []
    @Option(name: .long, help: "Play this scenario alone; may be given more than once.") var rule: [String] = []
    @Flag(name: .long, help: "List the scenarios.") var list = false
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text
    @Option(name: .long, help: "How many milliseconds a busy machine may be late.") var slack = 2_000
    @Option(name: .long, help: "So many scenarios at once: most of their time is waiting.") var jobs = 8

    public init() {}

    public func validate() throws {
        guard list || !command.isEmpty else { throw ValidationError("which command? write it behind --") }
        guard (0...600_000).contains(slack) else { throw ValidationError("--slack is between 0 and 600,000") }
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs is between 1 and 64") }
        let names = Scenario.all(of: role).map(\.name)
        for name in rule where !names.contains(name) { throw ValidationError("there is no scenario \(name); --list shows them") }
    }

    public func run() async throws {
        let scenarios = Scenario.all(of: role).filter { rule.isEmpty || rule.contains($0.name) }
        if list {
            let lines = scenarios.map { "\($0.name)\t\($0.rule)\t\($0.story)" }.joined(separator: "\n")
            return printData(format == .text ? lines : JSONTranscoder.text(of: ["scenarios": .array(scenarios.map(\.value))]))
        }
        var signals: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGTERM, SIGHUP] { signals.append(await endChildren(at: number)) }
        defer { for signal in signals { signal.cancel() } }
        let report: Report
        do {
            report = try await play(scenarios)
        } catch let error as SpawnError {
            throw ValidationError("\(error)")
        }
        printData(format == .text ? report.text : JSONTranscoder.text(of: report.value))
        if report.broken > 0 { throw ExitCode(65) }
    }

    /// What this process has started ends with it.
    private func endChildren(at number: Int32) async -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { PeerProcess.endAll(exiting: 128 + number) }
        // Until then it is lost, and nothing that has to be ended shall be there before.
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler { continuation.resume() }
            source.activate()
        }
        return source
    }

    /// So many at once, each on a thread of its own.
    private func play(_ scenarios: [Scenario]) async throws -> Report {
        let (role, command, slack) = (role, command, Duration.milliseconds(slack))
        var report = Report()
        report.results = try await withThrowingTaskGroup(of: (Int, Report.Result).self) { group in
            var results: [Int: Report.Result] = [:]
            for (index, scenario) in scenarios.enumerated() {
                if index >= jobs, let (done, result) = try await group.next() { results[done] = result }
                group.addTask {
                    let (verdict, errors) = try await onThread("conform") {
                        var play = try Play(scenario, as: role, command, slack: slack)
                        return try play.run()
                    }
                    return (index, Report.Result(scenario, verdict, errors: errors))
                }
            }
            for try await (done, result) in group { results[done] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
        return report
    }
}
