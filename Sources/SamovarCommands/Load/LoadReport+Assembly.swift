import SamovarHost
import SamovarLoad

extension LoadReport {
    /// What is known beforehand.
    struct Frame {
        var program: String
        var started: String
        var plan: LoadPlan
        var settings: [(name: String, value: String)]
        var machines: [String]
        var problems: [String]
        /// Whether store and workers are processes of this test.
        var isOwn: Bool
    }

    /// Adds up what the agents said.
    init(
        assembling agents: [CoordinatorMachine.Agent], _ seconds: [Second], processes: [ProcessFigures], kills: [Kill],
        judgement: Judgement, journalBytes: Int?, frame: Frame
    ) {
        let results = agents.compactMap(\.result)
        let counts = results.map(\.counts).reduce(ClientCounts(), +)
        let bytes = results.map(\.bytes).reduce(WireBytes(), +)
        let views = results.reduce(0) { $0 + $1.views }
        let inputs = Double(max(1, counts.sent))
        self.init(
            program: frame.program, started: frame.started, pace: frame.plan.pace, settings: frame.settings,
            machines: frame.machines, duration: Double(frame.plan.duration) / 1_000_000, counts: counts,
            withoutView: results.reduce(0) { $0 + $1.withoutView },
            latencies: Latencies(
                applied: LatencyRecorder(merging: results.map(\.latencies.applied)).summary,
                settled: LatencyRecorder(merging: results.map(\.latencies.settled)).summary,
                view: LatencyRecorder(merging: results.map(\.latencies.view)).summary),
            seconds: seconds, processes: processes, kills: kills,
            bytes: BytesPerMessage(
                sent: Double(bytes.sent) / inputs, received: Double(bytes.received) / inputs,
                view: views == 0 ? nil : Double(bytes.viewed) / Double(views), journal: journalBytes.map { Double($0) / inputs }),
            judgement: judgement, problems: frame.problems, notes: [])
        notes = remarks(frame, rejection: results.lazy.compactMap(\.rejection).first)
        if counts.applied + counts.refused == 0 { self.problems.append("no input was applied, so nothing was tested") }
    }

    private func remarks(_ frame: Frame, rejection: String?) -> [String] {
        var notes: [String] = []
        if counts.due > counts.sent {
            notes.append(
                "\(countText(counts.due - counts.sent)) inputs were due and never sent, since the store did not keep up: "
                    + "the latencies are those of the others, and too good.")
        }
        if counts.rejected > 0 {
            notes.append("\(countText(counts.rejected)) inputs were rejected: \(rejection ?? "without a reason")")
        }
        if case .saturate = frame.plan.pace {
            notes.append(
                "With --saturate a client waits for the store before it sends more, so latency means how long the queue is.")
        }
        let measured = latencies.settled.count
        if measured < latencies.applied.count {
            notes.append(
                "send → settled was measured for \(countText(measured)) inputs, chosen by their number before they were sent.")
        }
        if withoutView > 0 {
            notes.append(
                "\(countText(withoutView)) inputs were followed by no view of their turn or a later one: they did not change it.")
        }
        if counts.dead > 0 { notes.append("\(countText(counts.dead)) effects died.") }
        if !frame.isOwn { notes.append("The store was not started by this test, so its processor and memory are not in it.") }
        return notes
    }
}
