import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A log that a test hands around, and to which it applies one item at a time.
final class SharedLog {
    fileprivate(set) var log: TurnLog

    init(after turn: Int) { log = TurnLog(after: turn) }
    init(ofReplayAfter turn: Int) { log = TurnLog(ofReplayAfter: turn) }

    var batch: RecordBatch {
        get { log.batch }
        set { log.batch = newValue }
    }

    /// The effects that were ordered.
    var opened: [OpenEffect] { log.orders.compactMap { if case .run(let effect)? = $0 { effect } else { nil } } }

    var hasOrders: Bool { log.hasOrders }
    var isTapped: Bool { log.isTapped }
    func append(_ order: LoggedOrder) { log.append(order) }
    func write(_ record: Record) { log.write(record) }
    func takeOrders(_ carryOut: (consuming LoggedOrder) -> Void) { log.takeOrders(carryOut) }
    func committed(through turn: Int) { log.committed(through: turn) }
}

/// Nothing was applied, because a message is not one of the program.
struct UnreadableAnswer: Error {
    let text: String
}

extension ProgramEngine {
    func start(seed: [UInt8], now: Timestamp, log: SharedLog) throws { try start(seed: seed, now: now, log: &log.log) }
    func replay(_ record: Record, log: SharedLog) throws(ReplayError) { try replay(record, log: &log.log) }
    func resubscribe(now: Timestamp, log: SharedLog) { resubscribe(now: now, log: &log.log) }

    private func applyReadable(_ input: borrowing EngineInput, now: Timestamp, log: SharedLog) throws {
        if case .unreadable(let text) = try apply(input, now: now, log: &log.log) { throw UnreadableAnswer(text: text) }
    }

    func take(_ input: [UInt8], now: Timestamp, origin: Origin, log: SharedLog) throws(GroupLimit) -> Outcome.Verdict {
        if case .refused(let verdict) = try apply(.input(input, origin), now: now, log: &log.log) { verdict } else { .applied }
    }

    func take(answer messages: MessageList, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: SharedLog) throws {
        try applyReadable(.answer(messages, effect, lease, root: root), now: now, log: log)
    }

    func take(only message: ArraySlice<UInt8>, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: SharedLog) throws {
        let origin = Origin.effect(effect, lease: lease, index: 0)
        try applyReadable(
            .message(EngineMessage(bytes: message, origin: origin, role: .closes, checkpoint: nil, root: root)), now: now, log: log)
    }

    func take(
        streamed message: [UInt8], checkpoint: [UInt8]?, origin: Origin, root: Int, now: Timestamp, log: SharedLog
    ) throws {
        let message = EngineMessage(bytes: message[...], origin: origin, role: .streamed, checkpoint: checkpoint, root: root)
        try applyReadable(.message(message), now: now, log: log)
    }

    func take(firing message: [UInt8], origin: Origin, now: Timestamp, log: SharedLog) throws {
        try applyReadable(
            .message(EngineMessage(bytes: message[...], origin: origin, role: .open, checkpoint: nil, root: 0)), now: now, log: log)
    }

    func take(
        failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: SharedLog
    ) throws(GroupLimit) -> Bool {
        try apply(.failure(failure, effect, payload: payload, root: root, staysDead: false), now: now, log: &log.log) == .applied
    }
}

extension StoreState {
    mutating func replay(_ record: Record, log: SharedLog) throws(ReplayError) { try replay(record, log: &log.log) }
    mutating func carryOut(_ log: SharedLog) { carryOut(&log.log) }
}
