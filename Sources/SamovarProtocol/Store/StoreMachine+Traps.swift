import SamovarCore

/// Items that end the store: how they are told apart, taken alone, and given up.
///
/// A call into the program is marked before and unmarked after. A process that dies in between leaves the mark, and the next
/// one suspects that item: everything before it is committed first, then it is a batch of its own. An item that ends
/// the store so often that it can be nothing else is not taken any more, and its sender is told.
extension StoreMachine {
    /// Whether nothing but the next item would be lost with this process.
    private var isClean: Bool { log.batch.isEmpty && !isCommitting }

    /// Whether this item may be taken now. A suspect first waits until all before it is on disk.
    mutating func mayTake(_ call: ProgramCall) -> Bool {
        guard !suspects.isEmpty, suspects.contains(call), !isClean, suspects.verdict(on: call) == nil else { return true }
        isIsolating = true
        return false
    }

    mutating func begin(_ call: ProgramCall) {
        let (isAlone, head) = (isClean || call == .view || call == .state, head)
        uncountedMarker._withUnsafeGuaranteedRef { $0.begin(call, isAlone: isAlone, after: head) }
    }

    mutating func end(_ call: ProgramCall) {
        uncountedMarker._withUnsafeGuaranteedRef { $0.end() }
        guard !suspects.isEmpty, suspects.contains(call) else { return }
        // The trouble may be a later state: one that can be shown acquits nobody of a proven death.
        guard call != .view, call != .state else {
            suspects.forgiveKills(call)
            return marker.write(suspects.list)
        }
        note(.info, "the store has survived what it was suspected of: it \(call.activity)")
        forget(call)
        // A batch of its own also means that nothing follows in it.
        isIsolating = !log.batch.isEmpty
    }

    private mutating func forget(_ call: ProgramCall) {
        suspects.clear(call)
        marker.write(suspects.list)
    }

    /// An operator who stops the store in order may have mended what views and snapshots need.
    mutating func forgetWhatIsOff() {
        forget(.view)
        forget(.state)
        forget(.restore)
        forget(.upkeep)
    }

    /// Why the host must not call the program beside the service; nil while it may.
    public var upkeepIsOff: String? { suspects.verdict(on: .upkeep) }

    /// Writes that an item is given up, and returns why; nil if it may be tried.
    mutating func quarantine(_ call: ProgramCall, _ origin: Origin, root: Int?, now: Timestamp) -> String? {
        guard !suspects.isEmpty, let why = suspects.verdict(on: call) else { return nil }
        let text = "quarantined: \(why)"
        note(.error, "\(text); it is not tried again")
        write(.quarantined(text), origin: origin, root: root, now: now)
        counters.quarantined += 1
        forget(call)
        return text
    }

    /// A group broke a limit: there is no way back from its turns, so the process ends as at a trap, and the next one knows why.
    mutating func stop(_ limit: GroupLimit) {
        marker.note(.limit(limit.kind, limit.limit))
        stop(.groupLimit(limit))
    }

    /// `Program.start`, which has no root to be quarantined: a seed that traps is refused as a whole.
    mutating func begin(seed: [UInt8], now: Timestamp) throws {
        if let why = suspects.verdict(on: .start) {
            forget(.start)
            throw TrapError(turn: 1, why)
        }
        marker.begin(.start, isAlone: true, after: 0)
        defer { end(.start) }
        try state.engine.start(seed: seed, now: now, log: log)
    }

    /// Says in the log what the process before this one died of, and what follows from it.
    mutating func tellOfDeath() {
        switch death?.call {
        case .none, .replay: break
        case .some(let call): note(.warning, "the store ended while it \(call.activity) (\(death?.evidence.text ?? ""))")
        }
        if let death = upkeepDeath {
            note(.warning, "the store ended while it \(death.call.activity) (\(death.evidence.text))")
        }
        if let why = upkeepIsOff { note(.error, "no snapshot is made beside the service any more, and nothing is trimmed: \(why)") }
        if let why = suspects.verdict(on: .view) { turnViewsOff(why) }
    }
}

/// The program does not survive what the journal or the seed has for it.
public struct TrapError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The turn; 0 for that of a snapshot.
    public let turn: Int
    public let text: String

    public init(turn: Int, _ text: String) {
        self.turn = turn
        self.text = text.bounded()
    }

    public var description: String { turn > 0 ? "turn \(turn): \(text)" : text }
}
