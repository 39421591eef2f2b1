import SamovarCore

/// Calls into the program, each marked and judged by the quarantine.
extension StoreMachine {
    /// Whether nothing but the next item would be lost with this process.
    private var isClean: Bool { log.batch.isEmpty && !commits.isCommitting }

    /// Whether this item may be taken now. A suspect first waits until all before it is on disk.
    mutating func mayTake(_ call: ProgramCall) -> Bool { quarantine.mayTake(call, isClean: isClean) }

    func begin(_ call: ProgramCall) { quarantine.begin(call, isAlone: isClean, after: head) }

    mutating func end(_ call: ProgramCall) {
        guard quarantine.end(call, hasTurns: !log.batch.isEmpty) else { return }
        note(.info, "the store has survived what it was suspected of: it \(call.activity)")
    }

    /// Why the host must not call the program beside the service; nil while it may.
    public var maintenanceIsOff: String? { quarantine.verdict(on: .maintenance) }

    /// Writes that an item is given up, and returns why; nil if it may be tried.
    mutating func giveUp(_ call: ProgramCall, _ origin: Origin, root: Int?, now: Timestamp) -> String? {
        guard !quarantine.isEmpty, let why = quarantine.giveUp(call) else { return nil }
        let text = "quarantined: \(why)"
        note(.error, "\(text); it is not tried again")
        write(.quarantined(text), origin: origin, root: root, now: now)
        counters.quarantined += 1
        return text
    }

    /// There is no way back from the turns of a group that broke a limit: the process ends as at a trap.
    mutating func stop(_ limit: GroupLimit) {
        quarantine.broke(limit)
        stop(.groupLimit(limit))
    }

    /// `Program.start`, which has no root to be given up.
    mutating func begin(seed: [UInt8], now: Timestamp) throws {
        try quarantine.admit(.start, after: head)
        quarantine.begin(.start, isAlone: true, after: 0)
        defer { end(.start) }
        try state.engine.start(seed: seed, now: now, log: &log)
    }

    /// Says in the log what the process before this one died of, and what follows from it.
    mutating func tellOfDeath() {
        for note in quarantine.report() { actions.append(.note(note)) }
        if let why = quarantine.verdict(on: .view) { turnViewsOff(why) }
    }
}
