import MessagePack
import SamovarCore
import SamovarStore
import SamovarText
import SamovarWire

/// Answers what a person wants to know of turns that are over, from an index and from checkpoints as far as they have come, and from the journal where
/// they have not.
///
/// The idea: the first answer needs neither. What is not asked for is worked on in between, in steps: first the index, which runs no code of the
/// program; then the states, of which one is kept here and there, so that any other is near.
struct Explorer {
    /// Bytes of a state of which no more are held than one needs.
    private static let largeState = 1 << 20

    private(set) var index = TurnIndex()
    private let checkpoints: any CheckpointStore
    /// Turns at which the program's code ended its process, or never ended, and how: no state is computed through them.
    private let blocked: [Int: String]
    /// Up to here the states were worked through.
    private var passed = 0
    private var messageBytes = 0
    /// Why the states cannot be worked through any further.
    private(set) var obstacle: String?
    /// The state that was encoded last.
    private var encoded: (turn: Int, bytes: [UInt8])?

    init(checkpoints: any CheckpointStore, blocked: [Int: String] = [:]) {
        (self.checkpoints, self.blocked) = (checkpoints, blocked)
    }

    // MARK: Answers

    /// - Parameter isEnough: whether a search has taken so long that what is found so far shall be told; asked before each turn
    ///   that it reads, once it has looked at some.
    /// - Throws: `ExplorerError`; what reading the past throws.
    mutating func answer(
        to request: ExplorerRequest, in past: any FollowedPast, isEnough: () -> Bool = { false }
    ) throws -> MessagePackValue {
        // What stood in the way may be gone, as a store that was away, or a full disk.
        if request != .density { obstacle = nil }
        switch request {
        case .turns(let place, let count, let filter):
            return try TurnSearch(filter: filter, count: count, index: index, past: past).rows(at: place, isEnough: isEnough)
        case .turn(let turn): return try record(of: turn, past)
        case .causes(let turn): return try causes(of: turn, past, isEnough: isEnough)
        case .diff(let before, let after): return try changes(from: before, to: after, past)
        case .state(let turn, let path, let from):
            guard path.root == .state else { throw ExplorerError("a path begins with `state`") }
            try reach(turn, past)
            return try StateTree.level(of: path, in: try state(of: past), from: from)
        case .density: return density(past)
        }
    }

    private func record(of turn: Int, _ past: any FollowedPast) throws -> MessagePackValue {
        guard let record = try past.record(of: turn) else {
            throw ExplorerError("the record of turn \(turn) is not kept, or not there yet")
        }
        var answer = TurnText.row(of: record)
        answer["message"] = PageValues.bounded(record.detail)
        if let sender = record.senderText { answer["sender"] = .string(sender) }
        answer["hasState"] = .bool(past.span.known.contains(turn))
        return answer
    }

    /// Up: what it followed from. Down: what followed from it.
    private func causes(of turn: Int, _ past: any FollowedPast, isEnough: () -> Bool) throws -> MessagePackValue {
        guard let record = try past.record(of: turn) else {
            throw ExplorerError("the record of turn \(turn) is not kept, or not there yet")
        }
        let chain = try CauseChain(of: record) { try past.record(of: $0) }
        let search = TurnSearch(filter: TurnFilter(), count: 0, index: index, past: past)
        let (rows, isWhole) = try search.followUps(of: turn, isEnough: isEnough)
        return ["up": chain.value, "down": .array(rows), "isWhole": .bool(isWhole)]
    }

    private mutating func changes(from before: Int, to after: Int, _ past: any FollowedPast) throws -> MessagePackValue {
        guard before < after else { throw ExplorerError("the former turn comes first") }
        try reach(before, past)
        // A large one waits where it takes no memory.
        var former: [UInt8]? = try state(of: past)
        encoded = nil
        if let state = former, state.count >= Self.largeState, checkpoints.putAside(state) { former = nil }
        if after == before + 1, blocked[after] == nil {
            // Step by step, so that it is known what the turn orders.
            try past.walk(through: after) { _ in true }
        } else {
            try reach(after, past)
        }
        let later = try state(of: past)
        guard let former = former ?? checkpoints.takeBack() else { throw ExplorerError("the state after turn \(before) was lost") }
        let changes = try ValueChanges(from: former, to: later, at: ValuePath(root: .state))
        let (shown, isCut) = ExplorerAnswers.parts(of: changes)
        var answer: MessagePackValue = ["before": .int(Int64(before)), "after": .int(Int64(after)), "changes": .array(shown)]
        answer["isCut"] = .bool(isCut)
        if after == before + 1 { answer["orders"] = PageValues.bounded(.array(past.orders)) }
        return answer
    }

    private func density(_ past: any FollowedPast) -> MessagePackValue {
        let turns = past.span.known
        let density = index.density(of: turns)
        return [
            "first": .int(Int64(turns.lowerBound)), "last": .int(Int64(turns.upperBound)), "each": .int(Int64(density.each)),
            "times": .array(density.times.map { $0.map { .int($0 / 1_000) } ?? .nil }),
            "refused": .array(density.refused.map { .int(Int64($0)) }), "failed": .array(density.failed.map { .int(Int64($0)) }),
            "isWhole": .bool(missing(in: past) == nil), "obstacle": obstacle.map { .string($0) } ?? .nil,
        ]
    }

    // MARK: States

    /// Makes the state of the past that of a turn, from whatever is nearest.
    private mutating func reach(_ turn: Int, _ past: any FollowedPast) throws {
        let span = past.span
        guard span.known.contains(turn) else {
            throw ExplorerError(
                "the state after turn \(turn) is not known: those of \(span.known.lowerBound) to \(span.known.upperBound) are")
        }
        if encoded?.turn != turn { encoded = nil }
        let isOnWay = span.goesOn(from: past.turn, to: turn)
        let begin = isOnWay ? past.turn : span.snapshots.last { $0 <= turn } ?? 0
        let kept = checkpoints.turns.last { $0 <= turn } ?? 0
        let start = max(begin, kept)
        if let (number, end) = blocked.filter({ $0.key > start && $0.key <= turn }).min(by: { $0.key < $1.key }) {
            throw ExplorerError("turn \(number): \(end)")
        }
        if kept > begin, let checkpoint = checkpoints.load(kept) { try past.begin(at: checkpoint) }
        try past.move(to: turn)
    }

    /// Encoded once for all that is asked of one turn.
    private mutating func state(of past: any FollowedPast) throws -> [UInt8] {
        if let encoded, encoded.turn == past.turn { return encoded.bytes }
        encoded = nil
        let bytes = try past.state()
        encoded = (past.turn, bytes)
        return bytes
    }

    // MARK: Work between requests

    /// Whether there is something to be done that nobody has asked for.
    func hasWork(in past: any FollowedPast, keepingStates: Bool = true) -> Bool {
        missing(in: past) != nil || keepingStates && nextState(past) != nil
    }

    /// The turns whose records are to be read next.
    private func missing(in past: any FollowedPast) -> ClosedRange<Int>? {
        let known = past.span.known
        // The state of the first turn is known from its snapshot, and its record may be gone.
        let first = max(known.lowerBound, past.firstRecord)
        return first <= known.upperBound ? index.missing(of: first...known.upperBound) : nil
    }

    /// Does a part of it.
    ///
    /// - Parameters:
    ///   - keepingStates: whether states are worked on, too.
    ///   - isEnough: asked after each turn.
    mutating func work(in past: any FollowedPast, keepingStates: Bool = true, isEnough: () -> Bool) throws {
        if let missing = missing(in: past) {
            return try past.records(of: missing) { record in
                index.note(record)
                return !isEnough()
            }
        }
        guard keepingStates, let target = nextState(past) else { return }
        do {
            try keepStates(through: target, past, isEnough: isEnough)
        } catch {
            obstacle = "\(error)"
        }
    }

    /// How far the states can be worked through; nil if that is not worth it.
    private func nextState(_ past: any FollowedPast) -> Int? {
        guard obstacle == nil else { return nil }
        let last = past.span.known.upperBound
        let begin = max(passed, past.span.known.lowerBound)
        guard begin < last, last - (checkpoints.turns.last ?? past.span.known.lowerBound) >= CheckpointPlan.turns else {
            return nil
        }
        // Beyond a turn that cannot be passed, a snapshot leads on.
        guard let wall = blocked.keys.filter({ $0 > begin && $0 <= last }).min() else { return last }
        return wall - 1 > begin ? wall - 1 : past.span.snapshots.first { $0 >= wall }
    }

    private mutating func keepStates(through target: Int, _ past: any FollowedPast, isEnough: () -> Bool) throws {
        // What was trimmed meanwhile is passed over.
        passed = max(passed == 0 ? checkpoints.turns.last ?? 0 : passed, past.span.known.lowerBound)
        if blocked.keys.contains(where: { $0 > passed && $0 <= target }) {
            // The snapshot behind it.
            passed = target
            return
        }
        if past.turn != passed { try reach(min(passed, target), past) }
        var (bytes, done) = (messageBytes, past.turn)
        let plan = CheckpointPlan(kept: checkpoints.turns)
        var failure: (any Error)?
        try past.walk(through: target) { record in
            bytes += record.event.messageBytes
            done = record.turn
            if plan.isDue(record.turn, bytes: bytes), let checkpoint = try past.checkpoint() {
                do { try checkpoints.save(checkpoint) } catch { failure = error }
                bytes = 0
                return false
            }
            return !isEnough()
        }
        (passed, messageBytes) = (done, bytes)
        if let failure { throw failure }
    }
}

extension Record.Event {
    fileprivate var messageBytes: Int {
        switch self {
        case .applied(let message, _, _), .streamed(let message, _, _): message.count
        default: 0
        }
    }
}
