import SamovarCore

/// Items that end the store: how they are told apart, taken alone, and given up.
///
/// A call into the program is marked before and unmarked after. A process that dies in between leaves the mark, and the next
/// one suspects that item: everything before it is committed first, then it is a batch of its own. An item that ends
/// the store so often that it can be nothing else is not taken any more, and its sender is told.
///
/// | of a call | nothing is held against it | suspected | to be given up |
/// |---|---|---|---|
/// | `mayTake` while turns are not on disk | yes | no, and no other item until they are | yes |
/// | `mayTake` otherwise | yes | yes | yes |
/// | `verdict`, `giveUp` | nil | nil | why; it is forgotten |
/// | `end` | – | forgotten, and its batch ends; of views and states only the kills are forgiven | – |
struct Quarantine: ~Copyable {
    private let marker: TrapMarker
    /// How the process before this one ended, if it was in a call.
    private let death: Suspicion.Death?
    /// The same for the thread that makes snapshots.
    private let maintenanceDeath: Suspicion.Death?
    private(set) var suspects: Suspects
    /// The open batch has to be on disk before another item is taken: a suspect stays alone.
    private(set) var isIsolating = false

    /// - Parameter marker: a page that outlives the process, with what the one before has left in it.
    init(_ marker: TrapMarker, timeline: Timeline, build: String, settings: StoreSettings) {
        self.marker = marker
        let suspicion = marker.take(timeline: timeline, build: KeyedHash.of(Array(build.utf8)))
        death = suspicion.death
        maintenanceDeath = suspicion.maintenanceDeath
        suspects = Suspects(suspicion, settings: settings)
        marker.write(suspects.list)
    }

    // MARK: Calls

    /// Whether nothing is held against any call.
    var isEmpty: Bool { suspects.isEmpty }

    /// Whether an item may be taken now.
    ///
    /// - Parameter isClean: nothing but this item would be lost with the process.
    mutating func mayTake(_ call: ProgramCall, isClean: Bool) -> Bool {
        guard suspects.contains(call), !isClean, suspects.verdict(on: call) == nil else { return true }
        isIsolating = true
        return false
    }

    /// The program is called now.
    ///
    /// - Parameter isAlone: nothing but this item would be lost with the process. A view and a state always count as alone: they are made
    ///   again of the turns on disk.
    func begin(_ call: ProgramCall, isAlone: Bool, after head: Int) {
        marker.begin(call, isAlone: isAlone || call == .view || call == .state, after: head)
    }

    /// The call has returned; true if that cleared it of a suspicion.
    ///
    /// - Parameter hasTurns: the open batch has turns. If one is a suspect's, nothing follows in it.
    mutating func end(_ call: ProgramCall, hasTurns: Bool) -> Bool {
        end()
        guard suspects.contains(call) else { return false }
        // The trouble may be a later state: one that can be shown acquits nobody of a proven death.
        guard call != .view, call != .state else {
            returned(call)
            return false
        }
        forget(call)
        isIsolating = hasTurns
        return true
    }

    /// A call of before the service has returned, which clears nobody.
    func end() {
        marker.end()
    }

    /// Another thread is done with a call, or it was made with another state: that acquits it of kills, and of no proven death.
    mutating func returned(_ call: ProgramCall) {
        guard suspects.contains(call) else { return }
        suspects.forgiveKills(call)
        marker.write(suspects.list)
    }

    /// The open batch is on disk.
    mutating func committed() {
        isIsolating = false
    }

    /// A group broke a limit: there is no way back from its turns, so the process ends as at a trap, and the next one knows why.
    func broke(_ limit: GroupLimit) {
        marker.note(.limit(limit.kind, limit.limit))
    }

    /// Takes the views of single turns, each a call of its own.
    func viewTap() -> ViewTap { ViewTap(marker: marker) }

    // MARK: Verdicts

    /// Why a call is not made any more; nil if it may be tried.
    func verdict(on call: ProgramCall) -> String? {
        suspects.isEmpty ? nil : suspects.verdict(on: call)
    }

    /// The same of an item that is passed over for that, so that nothing is held against it any more.
    mutating func giveUp(_ call: ProgramCall) -> String? {
        guard let why = verdict(on: call) else { return nil }
        forget(call)
        return why
    }

    /// An operator who stops the store in order may have mended what views and snapshots need.
    mutating func forgetWhatIsOff() {
        for call in [ProgramCall.view, .state, .restore, .maintenance] { forget(call) }
    }

    private mutating func forget(_ call: ProgramCall) {
        suspects.clear(call)
        marker.write(suspects.list)
    }

    // MARK: Before the service

    /// Throws if the program is known not to survive a call of before the service. A seed that traps is refused as a whole.
    mutating func admit(_ call: ProgramCall, after head: Int) throws(TrapError) {
        switch call {
        case .start:
            if let why = giveUp(.start) { throw TrapError(turn: 1, why) }
        case .restore:
            // Whatever the one before the last process died of: the whole journal will do.
            if suspects.contains(.restore) { throw TrapError(turn: 0, "its state ended the store when it was read") }
        case .replay(let turn):
            guard let evidence = proof(against: call) else { return }
            let text = "the program ended the store when it replayed this turn (\(evidence)): it, or its machine, has changed"
            throw TrapError(turn: turn, text)
        case .subscriptions:
            guard let evidence = proof(against: call) else { return }
            throw TrapError(turn: head, "the program ended the store when asked for its subscriptions (\(evidence))")
        case .input, .answer, .failure, .firing, .operated, .view, .state, .maintenance: return
        }
    }

    /// What proves that the process before this one died of a call; nil if nothing does.
    private func proof(against call: ProgramCall) -> String? {
        guard let death, death.call == call, death.evidence.isProof else { return nil }
        return death.evidence.text
    }

    /// What the process before this one died of, and what follows from it, for the log.
    func report() -> [Note] {
        var notes: [Note] = []
        for death in [death, maintenanceDeath].compactMap({ $0 }) {
            // The turn of a replay is told of when it is refused.
            if case .replay = death.call { continue }
            notes.append(Note(.warning, "the store ended while it \(death.call.activity) (\(death.evidence.text))"))
        }
        if let why = verdict(on: .maintenance) {
            notes.append(Note(.error, "no snapshot is made beside the service any more, and nothing is trimmed: \(why)"))
        }
        return notes
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
