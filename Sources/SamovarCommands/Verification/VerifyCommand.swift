import ArgumentParser
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import Subprocess

struct VerifyCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract: "Replays the journal in two processes with different hash seeds and compares, also beside its store.",
            discussion: """
                Example: \(executableName) verify --data .samovar/\(executableName)
                Compared are the commands with the recorded ones, the states of both processes with each other, and each snapshot
                with the state of its turn. At a difference it exits with 65 and names the first turn and what differs there. So it does for each
                of the program's invariants that is ever broken.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text
    /// What one of the two processes is told to do: a plan in MessagePack and base64.
    @Option(name: .long, help: .hidden) var pass: String?

    func run() async throws {
        let settings = try options.settings()
        let journal = try settings.servedJournal(for: AppTypes<App>.self)
        if let pass { return try await runPass(pass, journal) }
        let subject = try await VerificationPass<App.Program>.subject(of: journal)
        let executable = try Executable.own
        let verification = Verification(of: subject) { [arguments = ["verify"] + options.arguments] plan in
            try await Self.report(executable, arguments, plan)
        }
        let verdict: Verdict
        do {
            verdict = try await verification.verdict()
        } catch let error as VerificationError {
            throw CommandFailure(error == .otherJournal ? .tryLater : .internal, "\(error)")
        }
        try show(verdict, verdict.finding == nil ? try await breaches(settings) : [])
    }

    /// A replay more, for a program that says what is true of its states.
    private func breaches(_ settings: ProcessSettings) async throws -> [Breach] {
        let names = App.Program.invariants.map(\.name)
        guard !names.isEmpty else { return [] }
        return try await StorePast<App>.read(settings, "verify") { try Breach.first(of: names, in: $0) }
    }

    private func show(_ verdict: Verdict, _ breaches: [Breach]) throws(CommandFailure) {
        for snapshot in verdict.unreadable {
            printError("warning: the snapshot of turn \(snapshot.turn) cannot be compared: \(snapshot.problem ?? "")")
        }
        if format == .json { printData(JSONTranscoder.text(of: VerdictText.value(of: verdict, breaches))) }
        guard breaches.isEmpty else { throw CommandFailure(.badData, breaches.map(\.text).joined(separator: "\n")) }
        guard let finding = verdict.finding else {
            if format == .text { printData(VerdictText.success(verdict)) }
            return
        }
        throw CommandFailure(.badData, VerdictText.failure(finding, verdict.replayed))
    }

    // MARK: One pass

    /// In a process of its own, because a process has one hash seed. They run one after the other, since each locks the folder.
    private static func report(
        _ executable: Executable, _ arguments: [String], _ plan: VerificationPlan
    ) async throws -> VerificationReport {
        let encoded = Data(try MessagePackEncoder().encode(plan)).base64EncodedString()
        // A reproducible hash seed would make the two processes alike.
        let environment = Environment.inherit.updating(["SWIFT_DETERMINISTIC_HASHING": nil])
        let result = try await Subprocess.run(
            executable, arguments: Arguments(arguments + ["--pass", encoded]), environment: environment,
            output: .bytes(limit: .max), error: .currentStandardError)
        switch result.terminationStatus {
        case .exited(0): break
        case .exited(let code):
            throw CommandFailure(CommandFailure.Code(rawValue: code) ?? .internal, "a replay cannot run; see its message above")
        case .signaled(let signal): throw CommandFailure(.internal, "a replay was ended by signal \(signal)")
        }
        do {
            let limits = MessagePackLimits(maximumBytes: .max)
            return try MessagePackDecoder(limits: limits).decode(VerificationReport.self, from: result.standardOutput)
        } catch {
            let why = describe(decodingFailure: error, of: VerificationReport.self)
            throw CommandFailure(.internal, "a replay's report cannot be read: \(why)")
        }
    }

    private func runPass(_ text: String, _ journal: JournalLocation) async throws {
        guard let data = Data(base64Encoded: text) else { throw ValidationError("--pass is for verify itself") }
        // What the program prints is no part of the report.
        guard let output = reserveStandardOutput() else {
            throw CommandFailure(.inputOutput, "cannot keep standard output for the report")
        }
        let plan: VerificationPlan
        do {
            plan = try MessagePackDecoder().decode(VerificationPlan.self, from: Array(data))
        } catch {
            throw ValidationError("--pass is for verify itself: \(error)")
        }
        let report = try await VerificationPass<App.Program>.run(plan, of: journal, build: executableBuild) {
            App.engine(secret: $0, limits: .default)
        }
        let bytes = try MessagePackEncoder(limits: MessagePackLimits(maximumBytes: .max)).encode(report)
        if let error = writeAll(bytes, to: output) {
            throw CommandFailure(.inputOutput, "cannot write the report: \(String(cString: strerror(error)))")
        }
    }
}
