import SamovarCore
import SamovarPeers
import SamovarWire

/// What clients and subscribers are told, and what workers do.
extension InvariantChecker {
    // MARK: Clients

    func told(_ client: ClientProcess, _ outcome: Outcome, _ input: ClientProcess.Input, timeline: Timeline) throws(Violation) {
        let fate = reference(of: timeline)?.fateAt[outcome.turn]
        try require(
            fate?.inputID == input.inputID && fate?.verdict == outcome.verdict, .i1,
            expected: "turn \(outcome.turn) of the journal to be that of \(input), as \(client.name) is told",
            seen: fate.map { "\($0)" } ?? "no input at that turn")
    }

    func unknown(_ client: ClientProcess, _ reason: ClientMachine.UnknownReason) throws(Violation) {
        switch reason {
        case .closed, .kept: break
        case .timelineChanged:
            try require(
                !archive.isEmpty, .i12, expected: "an outcome: there is one timeline", seen: "\(client.name): \(reason)")
        case .refused(let text):
            try require(
                hasLost(client) || world.swarm.isHarsh, .i12, expected: "an outcome: the store keeps the session",
                seen: "\(client.name) is told “\(text)”")
        }
    }

    /// Its session has ended without it: who has ended it by an input hears the outcome, however often it comes. In another timeline all
    /// begin anew, but for who comes back to a session that was left in an earlier one.
    func hasLost(_ client: ClientProcess) -> Bool {
        if sentAway.contains(client.session) { return true }
        if client.hasComeBack, reference.fates[client.session] == nil { return true }
        return reference.isOver(client.session) && (client.hasComeBack || !reference.endedByInput.contains(client.session))
    }

    /// A store may only send away a client whose session has ended.
    func refused(_ client: ClientProcess, _ error: PeerError) throws(Violation) {
        try require(
            hasLost(client) || world.swarm.isHarsh, .i12, expected: "\(client.name) to be served, the store keeps its session",
            seen: "it is refused: \(error)")
    }

    func settled(_ client: ClientProcess, turn: Int, timeline: Timeline) throws(Violation) {
        let reference = reference(of: timeline)
        try require(
            reference?.openByRoot[turn] == nil || reference?.reopened[turn] != nil, .i6,
            expected: "no open effect under turn \(turn)", seen: "\(client.name) is told that there is none")
    }

    /// A view was shown, after the one before it.
    func shown(_ client: ClientProcess, turn: Int, bytes: [UInt8], timeline: Timeline, after previous: Int?) throws(Violation) {
        if let previous {
            try require(
                turn > previous, .i7, expected: "\(client.name) to be shown a view after turn \(previous)", seen: "turn \(turn)")
        }
        guard let reference = reference(of: timeline) else {
            return try require(false, .i7, expected: "a timeline that there was", seen: "\(timeline)")
        }
        try require(
            turn <= reference.last && bytes == reference.view(at: turn), .i7, expected: "the view of turn \(turn)",
            seen: "\(client.name) is shown another one")
    }

    // MARK: Workers

    func started(_ task: JobTask, in timeline: Timeline, _ worker: WorkerProcess) throws(Violation) {
        guard let assignment = reference(of: timeline)?.assignments[task.lease] else {
            return try require(false, .i5, expected: "a task that the store sent", seen: "\(worker.name) starts \(task.effect)")
        }
        try require(
            assignment.worker == worker.id && !assignment.isRunning && (assignment.answer == nil || world.swarm.isHarsh), .i6,
            expected: "lease \(task.lease) to be run once", seen: "\(worker.name) starts it")
        assignment.isRunning = true
    }

    // MARK: The end

    /// Everything is healed, and time enough has passed.
    func requireRest() throws(Violation) {
        for (id, order) in reference.open.sorted(by: { $0.key < $1.key }) {
            try require(
                false, .i9, expected: "no open effect", seen: "effect \(id) (\(order.effect.work.rawValue)) of turn \(id.turn)")
        }
        try requireTimers()
        if let operatorProcess = world.operatorProcess {
            try require(operatorProcess.isIdle, .i9, expected: "the operator to have all answers", seen: "it waits for one")
        }
        if let keyKeeper = world.keyKeeper {
            try require(keyKeeper.isIdle, .i9, expected: "the keys that were written to be in force", seen: "others")
        }
        for client in world.clients {
            try require(
                client.isSettled, .i9, expected: "\(client.name) to have all its answers",
                seen: "it waits for \(client.waitsFor)")
            try requireHead(client)
        }
        for worker in world.workers {
            try require(
                worker.isIdle, .i9, expected: "\(worker.name) to hold nothing", seen: "\(worker.holds)")
        }
    }

    private func requireHead(_ client: ClientProcess) throws(Violation) {
        let isNewest = client.shown.map { $0.timeline == reference.timeline && $0.bytes == reference.view(at: reference.last) }
        try require(
            isNewest ?? false, .i9, expected: "\(client.name) to show the view of turn \(reference.last)",
            seen: client.shown.map { "turn \($0.turn)" } ?? "nothing")
    }
}
