import Foundation
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarLoad

extension LoadTest {
    /// Adds up what the agents said, with the judge's findings.
    func report(
        _ result: LoadCoordinator.Result, _ log: LoadLog, _ begun: Date, before: MessagePackValue?, after: MessagePackValue?
    ) async throws -> LoadReport {
        let turn: Int? = if case .int(let turn)? = before?["turn"] { Int(turn) } else { nil }
        let (judgement, journalBytes, problem) = await ground.judge(try Self.judge(of: result.agents), after: turn)
        let results = result.agents.compactMap(\.result)
        let counts = results.map(\.counts).reduce(ClientCounts(), +)
        let bytes = results.map(\.bytes).reduce(WireBytes(), +)
        let views = results.reduce(0) { $0 + $1.views }
        let inputs = Double(max(1, counts.sent))

        var problems = result.problems
        if let problem { problems.append(problem) }
        problems += result.agents.compactMap { agent in agent.problem.map { "\(agent.name) is missing: \($0)" } }
        problems += result.agents.flatMap { agent in (agent.result?.problems ?? []).map { "\(agent.name): \($0)" } }
        if let after, let timeline = after["timeline"], before?["timeline"] != timeline {
            problems.append("the store has another journal than at the beginning")
        }
        if result.stoppedAfter == nil, let kills = try command.killPlan() { problems += kills.problems(after: log.kills) }
        if counts.applied + counts.refused == 0 { problems.append("no input was applied, so nothing was tested") }

        var report = LoadReport(
            program: Self.program(before) ?? Types.schema?.name ?? "an unknown program", started: begun.ISO8601Format(),
            pace: plan.pace, settings: command.shownSettings(isOwn: isOwn), machines: Self.machines(result.agents),
            duration: (result.stoppedAfter ?? .microseconds(plan.duration)).seconds, counts: counts,
            withoutView: results.reduce(0) { $0 + $1.withoutView },
            withoutEnd: results.reduce(0) { $0 + $1.withoutEnd },
            latencies: Latencies(
                applied: LatencyRecorder(merging: results.map(\.latencies.applied)).summary,
                settled: LatencyRecorder(merging: results.map(\.latencies.settled)).summary,
                view: LatencyRecorder(merging: results.map(\.latencies.view)).summary),
            seconds: log.seconds, processes: log.processes(result.agents), kills: log.kills,
            bytes: LoadReport.BytesPerMessage(
                sent: Double(bytes.sent) / inputs, received: Double(bytes.received) / inputs,
                view: views == 0 ? nil : Double(bytes.viewed) / Double(views), journal: journalBytes.map { Double($0) / inputs }),
            judgement: judgement, problems: problems)
        report.notes = report.remarks(isOwn: isOwn, rejection: results.lazy.compactMap(\.rejection).first)
        return report
    }

    /// With what all sessions were told. What one that is missing has told of its own may be cut short.
    private static func judge(of agents: [CoordinatorMachine.Agent]) throws -> Judge {
        var judge = Judge()
        for agent in agents where agent.result != nil {
            for (text, ledger) in agent.ledgers {
                guard let session = SessionID(text) else { throw LoadError("\(agent.name) named a session that is none") }
                do {
                    try judge.add(session, sent: ledger.sent, ledger: ledger.bytes)
                } catch {
                    throw LoadError("\(agent.name): \(error)")
                }
            }
        }
        return judge
    }

    private static func program(_ status: MessagePackValue?) -> String? {
        guard case .string(let name)? = status?["program"] else { return nil }
        return name
    }

    private static func machines(_ agents: [CoordinatorMachine.Agent]) -> [String] {
        var machines: [String] = []
        for machine in [machineText()] + agents.map(\.machine) where !machines.contains(machine) { machines.append(machine) }
        return machines
    }
}
