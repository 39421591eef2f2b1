import ChaosSupport
import CrashPoints
import Foundation
import PostgreSQLJournal
import Samovar
import SamovarCore
import SamovarHost
import SamovarCommands
import SamovarLoadTest

/// The store and the workers of `Slate`. Workers log what they do in the folder `CHAOS_HISTORY`.
struct SlateApp: SamovarApp {
    static var journals: [JournalKind] { [.postgreSQL] }
    static var loadTest: LoadTestKind? { .agents }
    static var slots: Int { 4 }
    static var readAhead: Int { 4 }

    static var worker: Worker<Slate> {
        Worker(environment: { try WorkerLog() }) { effect, log, job in
            guard case .run(let name, let kind) = effect else { return nil }
            try log.note(.started, name, job)
            do {
                try await perform(kind, name, attempt: job.attempt)
            } catch {
                try log.note(.failed, name, job)
                throw error
            }
            try log.note(.answered, name, job)
            return .answered(job: name)
        }
    }

    private static func perform(_ kind: Slate.Kind, _ name: String, attempt: Int) async throws {
        CrashPoint.pass(.workerDuringEffect)
        switch kind {
        case .quick: break
        case .slow: try await Task.sleep(for: .milliseconds(20 + name.utf8.reduce(0) { $0 + Int($1) } % 200))
        case .flaky: if attempt == 1 { throw Unwilling(description: "not at the first attempt") }
        case .hopeless, .doomed: throw Permanent("\(name) cannot be done")
        }
    }

    private struct Unwilling: Error, CustomStringConvertible {
        let description: String
    }
}

private struct WorkerLog: Sendable {
    private let file: HistoryFile

    init() throws {
        let folder = ProcessInfo.processInfo.environment["CHAOS_HISTORY"] ?? "."
        file = try HistoryFile("\(folder)/worker-\(getpid()).jsonl")
    }

    func note(_ step: Attempt.Step, _ name: String, _ job: Job<Slate>) throws {
        try file.append(Attempt(at: machineTime(), key: job.key, attempt: job.attempt, job: name, step: step))
    }
}
