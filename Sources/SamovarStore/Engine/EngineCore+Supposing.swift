import DequeModule
import MessagePack
import SamovarCore
import SamovarWire

/// A turn as it would have been: an input, or a message, with the number, the time and the origin that it has.
public struct SupposedTurn {
    enum Content {
        /// Goes through `accept`.
        case input([UInt8])
        case message([UInt8], MessageRole, checkpoint: [UInt8]?)
    }

    let number: Int
    let time: Timestamp
    let origin: Origin
    let sender: Sender?
    let root: Int
    let content: Content
}

/// What became of one.
public struct SupposedEnd {
    /// What `accept` says of an input.
    let verdict: Outcome.Verdict
    /// Whether `accept` has made another message of an input that is a message: then it was none that the journal has.
    var isRemade = false
}

/// Turns that never were so: what would have followed if something had been otherwise.
extension EngineCore {
    mutating func skip(to turn: Int) { turns?.skip(to: turn) }

    mutating func suppose(
        _ given: SupposedTurn, log: inout TurnLog,
        followUp: (_ message: [UInt8], _ cause: Int) -> (number: Int, message: [UInt8])
    ) throws -> SupposedEnd {
        skip(to: given.number - 1)
        var isRemade = false
        let (message, bytes, role, checkpoint): (P.Message, [UInt8], MessageRole, [UInt8]?)
        switch given.content {
        case .message(let given, let itsRole, let place):
            (message, bytes, role, checkpoint) = (try self.message(given), given, itsRole, place)
        case .input(let input):
            let turn = Turn(
                number: given.number, now: given.time, origin: given.origin, sender: given.sender, secret: secret)
            switch admit(input, turn: turn, asksGates: false) {
            case .message(let accepted):
                (message, bytes, role, checkpoint) = (accepted, [], .open, nil)
                if P.Input.self == P.Message.self { isRemade = try self.message(input) != accepted }
            case .refused(let verdict):
                skip(to: given.number)
                return SupposedEnd(verdict: verdict.bounded)
            }
        }
        var followUps: Deque<(bytes: [UInt8], cause: Int)> = []
        // No records are written: counted are the bytes of follow-ups alone, and a group a little over the limit may pass.
        var (count, effects, size) = (1, try take(message, bytes, role, checkpoint, of: given, log: &log), 0)
        while let next = log.takeFollowUp() { followUps.append(next) }
        while let next = followUps.popFirst() {
            guard count < limits.turns else { throw GroupLimit.turns(limits.turns, root: given.number) }
            count += 1
            size += next.bytes.count
            let (number, bytes) = followUp(next.bytes, next.cause)
            let turn = SupposedTurn(
                number: number, time: given.time, origin: .followUp(of: next.cause), sender: nil, root: given.root,
                content: .message(bytes, .open, checkpoint: nil))
            skip(to: number - 1)
            effects += try take(try self.message(bytes), bytes, .open, nil, of: turn, log: &log)
            while let next = log.takeFollowUp() { followUps.append(next) }
        }
        guard effects <= limits.effects else { throw GroupLimit.effects(limits.effects, root: given.number) }
        guard size <= limits.bytes else { throw GroupLimit.bytes(limits.bytes, root: given.number) }
        subscribe(now: given.time, log: &log)
        return SupposedEnd(verdict: .applied, isRemade: isRemade)
    }

    /// - Returns: how many effects it orders.
    private mutating func take(
        _ message: P.Message, _ bytes: [UInt8], _ role: MessageRole, _ checkpoint: [UInt8]?, of given: SupposedTurn,
        log: inout TurnLog
    ) throws -> Int {
        guard let (turn, command) = turns?.step(message, now: given.time, origin: given.origin, sender: given.sender) else {
            throw ReplayError(turn: given.number, "a message before the program has started")
        }
        took(turn, message, bytes, command, role, checkpoint, root: given.root, log: &log)
        try log.check(limits)
        return command.reduce(0) { count, order in if case .run = order { count + 1 } else { count } }
    }
}
