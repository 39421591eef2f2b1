import Foundation
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarStore
import SamovarText
import Synchronization

/// What is seen while a load test runs, kept for the report and told as it happens. Used from several threads.
final class LoadLog: Sendable {
    private struct State {
        var started: ContinuousClock.Instant?
        var seconds: [LoadReport.Second] = []
        var last: (time: Double, counts: ClientCounts, views: Int) = (0, ClientCounts(), 0)
        var kills: [LoadReport.Kill] = []
        var processes: [String: ProcessFigures] = [:]
        var coordinator = ProcessFigures("coordinator")
    }

    private let state = Mutex(State())
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let plan: LoadPlan
    private let agents: Int

    init(plan: LoadPlan, agents: Int) {
        self.plan = plan
        self.agents = agents
    }

    func take(_ event: CoordinatorMachine.Action) {
        switch event {
        case .started(let delay):
            state.withLock { $0.started = ContinuousClock.now + delay }
            say("\(agents) agent\(agents == 1 ? "" : "s") with \(plan.clients) clients: begun")
        case .show(let progress): show(progress)
        case .note(let text): say(text)
        case .kill, .say, .finish: break
        }
    }

    /// - Parameter process: nil if what was to be killed did not run just then.
    func killed(_ process: String?) {
        guard let process else { return say("nothing to kill: it is starting at present") }
        let time = state.withLock { state in
            let time = state.started.map { ($0.duration(to: .now)).seconds } ?? 0
            state.kills.append(LoadReport.Kill(time: time, process: process))
            return time
        }
        say("\(String(format: "%5.1f s", time))  killed \(process)")
    }

    /// Whether inputs were to be sent.
    var hasBegun: Bool { state.withLock { $0.started != nil } }
    var workerKills: Int { kills.count { $0.role == .worker } }
    var kills: [LoadReport.Kill] { state.withLock(\.kills) }
    var seconds: [LoadReport.Second] { state.withLock(\.seconds) }

    func sampled(_ name: String, _ process: Int32, _ sample: ProcessSample) {
        state.withLock { state in
            guard let started = state.started else { return }
            let time = started.duration(to: .now).seconds
            state.processes[name, default: ProcessFigures(name)].add(sample, of: process, at: time)
        }
    }

    /// Store and workers, the agents by their own account, and this process.
    func processes(_ agents: [CoordinatorMachine.Agent]) -> [ProcessFigures] {
        let (own, coordinator) = state.withLock { state in
            (Array(state.processes.values), state.coordinator)
        }
        let others = agents.map { agent in
            var figures = ProcessFigures(agent.name)
            for progress in agent.progress { figures.add(progress.process, at: Double(progress.elapsed) / 1_000_000) }
            return figures
        }
        let byName = { (a: ProcessFigures, b: ProcessFigures) in a.name.localizedStandardCompare(b.name) == .orderedAscending }
        return own.sorted(by: byName) + others.sorted(by: byName) + [coordinator]
    }

    private func show(_ progress: LoadProgress) {
        if progress.elapsed == 0 {
            return state.withLock { $0.coordinator.add(ProcessMeter.own, at: 0) }
        }
        let summary = LatencyRecorder(merging: progress.applied).summary
        let sample = ProcessMeter.own
        let second = state.withLock { state in
            let time = Double(progress.elapsed) / 1_000_000
            let counts = progress.counts
            let length = time - state.last.time
            var second = LoadReport.Second(
                time: time, sent: counts.sent - state.last.counts.sent, applied: counts.applied - state.last.counts.applied,
                answered: counts.answered - state.last.counts.answered,
                views: progress.views - state.last.views, unanswered: counts.unanswered, p50: summary.value(at: 50),
                p99: summary.value(at: 99), max: summary.value(at: 100))
            state.last = (time, counts, progress.views)
            state.coordinator.add(sample, at: time)
            // The last report of an agent may follow at once on the one before.
            if length < 0.25, let last = state.seconds.popLast() { second.add(last) }
            state.seconds.append(second)
            return (second, counts, length)
        }
        if second.2 >= 0.25 { tell(second.0, second.1, over: second.2) }
    }

    private func tell(_ second: LoadReport.Second, _ counts: ClientCounts, over length: Double) {
        let late = counts.due > counts.sent ? "  overdue \(countText(counts.due - counts.sent))" : ""
        let rate = length > 0 ? Int((Double(second.applied) / length).rounded()) : 0
        let line =
            "\(String(format: "%5.1f s", second.time))  applied \(countText(counts.applied)) (\(countText(rate))/s)  "
            + "unanswered \(countText(second.unanswered))\(late)  "
            + "p50 \(latencyText(second.p50))  p99 \(latencyText(second.p99))  max \(latencyText(second.max))"
        if isTerminal {
            StandardStream.error.redraw(line)
        } else {
            printError(line)
        }
    }

    /// Agents of other machines name themselves, and their reasons.
    private func say(_ text: String) {
        let text = escapeForTerminal(text)
        printError(isTerminal ? "\r\u{1B}[K\(text)" : text)
    }

    /// Ends the redrawn line.
    func close() {
        if isTerminal { printError("") }
    }
}

extension Duration {
    var seconds: Double { Double(microseconds) / 1_000_000 }
}
