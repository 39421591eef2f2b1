import DequeModule
public import MessagePack
public import SamovarCore

/// What a message from outside is for the effect of its origin.
@usableFromInline
enum MessageRole {
    /// The effect stays as it is, or there is none.
    case open
    /// The effect is done.
    case closes
    /// The effect goes on from here.
    case streamed(checkpoint: [UInt8]?)
}

/// Writes the record of each turn of a group, and collects what its turns order.
///
/// It knows bytes, and nothing of the program's types. So it is compiled here, where the compiler sees all of it, and not in the user's
/// module, where it would count a reference for nearly each step. What a group needs is made once, for all groups of a log; a group begins
/// with ``begin(root:)``. A class, so that nothing of it is copied on the way; its sink alone reaches it, so nothing overlaps that would have
/// to be checked each time.
@usableFromInline
final class GroupWriter {
    /// A message that follows: where its bytes are among the encoded ones, and the turn that ordered it.
    struct FollowUp {
        let bytes: Range<Int>
        let cause: Int
    }

    @usableFromInline let log: TurnLog
    @exclusivity(unchecked) @usableFromInline var root = 0
    /// What the next message from outside is.
    @exclusivity(unchecked) private var role = MessageRole.open
    /// The next message as it arrived, for as long as its turn lasts; nil if it has to be encoded.
    @exclusivity(unchecked) private var given: UnsafeRawBufferPointer?
    /// What this group and some before it have encoded, one after the other.
    @exclusivity(unchecked) @usableFromInline var encoded = MessagePackWriter()
    /// Where the message of the turn is among them, unless it was given.
    @exclusivity(unchecked) @usableFromInline var message: Range<Int>?
    /// Follow-ups in the order in which the engine takes them.
    @exclusivity(unchecked) private var followUps = ShortQueue<FollowUp>()
    @exclusivity(unchecked) private var isFollowUp = false
    @exclusivity(unchecked) private var orders = CommandHash()
    /// That of the newest command; 0 if it is empty.
    @exclusivity(unchecked) @usableFromInline private(set) var hash: UInt64 = 0
    @exclusivity(unchecked) private var start = 0
    /// What came from outside as it is, and is limited there.
    @exclusivity(unchecked) private var givenBytes = 0
    /// The largest effect of the group.
    @exclusivity(unchecked) private var largestEffect = 0
    @exclusivity(unchecked) private(set) var failure: GroupLimit?

    init(_ log: TurnLog) {
        self.log = log
    }

    /// Nothing of the group before is left. Its first message is `given`, or has to be encoded.
    @usableFromInline
    func begin(root: Int, given: UnsafeRawBufferPointer?, role: MessageRole) {
        self.root = root
        start = log.batch.byteCount
        givenBytes = 0
        largestEffect = 0
        hash = 0
        self.role = role
        self.given = given
        if failure != nil { failure = nil }
        forgetFollowUps()
        // Not emptied for each group, which takes longer than to encode a small message. One large message shall not be paid for ever.
        if encoded.count > 1 << 16 { encoded = MessagePackWriter() } else if encoded.count > 1 << 14 { encoded.removeAll() }
    }

    /// The next message from outside, and what it is.
    @usableFromInline
    func expect(_ given: UnsafeRawBufferPointer, role: MessageRole) {
        self.given = given
        self.role = role
    }

    @usableFromInline
    func forgetFollowUps() {
        if !followUps.isEmpty { followUps = ShortQueue() }
    }

    /// The bytes of the next follow-up, and the turn that ordered it.
    @usableFromInline
    func takeFollowUp() -> (bytes: [UInt8], cause: Int)? {
        followUps.popFirst().map { (bytes($0.bytes), $0.cause) }
    }

    func bytes(_ place: Range<Int>) -> [UInt8] { encoded.withWritten(place) { [UInt8]($0) } }

    // MARK: Turns

    /// Begins a turn; returns whether its message has to be encoded.
    @usableFromInline
    func begin(_ turn: Turn) -> Bool {
        hash = 0
        if case .followUp = turn.origin, let next = followUps.popFirst() {
            message = next.bytes
            isFollowUp = true
            return false
        }
        message = nil
        isFollowUp = false
        log.note(role, of: turn.origin)
        return given == nil
    }

    /// Writes the record of the turn.
    @usableFromInline
    func end(_ turn: Turn) {
        defer { given = nil }
        guard log.writesRecords else { return }
        if let message {
            encoded.withWritten(message) { write($0, turn) }
        } else if let given {
            let before = log.batch.byteCount
            write(given, turn)
            givenBytes += log.batch.byteCount - before
        }
    }

    private func write(_ message: UnsafeRawBufferPointer, _ turn: Turn) {
        var closes = false
        if !isFollowUp {
            switch role {
            case .open: break
            case .closes: closes = true
            case .streamed(let checkpoint):
                let event = Record.Event.streamed(message: Array(message), hash: hash, checkpoint: checkpoint)
                return log.batch.append(Record(turn: turn.number, time: turn.now, origin: turn.origin, root: root, event: event))
            }
        }
        log.batch.append(applied: message, hash: hash, closes: closes, turn: turn, root: root)
    }

    // MARK: Orders

    /// An effect, whose bytes are among the encoded ones.
    @usableFromInline
    func run(_ place: Range<Int>, _ options: RunOptions, _ ordinal: Int, _ turn: Turn) {
        largestEffect = max(largestEffect, place.count)
        let id = EffectID(turn: turn.number, ordinal: ordinal)
        encoded.withWritten(place) { payload in
            orders.run(payload, options)
            log.add(.run(OpenEffect(id: id, root: root, options: options, payload: payload, now: turn.now)))
        }
    }

    /// A message that follows.
    @usableFromInline
    func follow(_ place: Range<Int>, of turn: Int) {
        encoded.withWritten(place) { orders.follow($0) }
        followUps.append(FollowUp(bytes: place, cause: turn))
    }

    @usableFromInline
    func cancel(_ label: Label) {
        orders.cancel(label)
        log.append(.cancel(label))
    }

    @usableFromInline
    func emit(_ place: Range<Int>, _ ordinal: Int, _ turn: Turn) {
        let bytes = bytes(place)
        largestEffect = max(largestEffect, bytes.count)
        bytes.withUnsafeBytes { orders.emit($0) }
        log.append(.emit(EmittedOutput(id: EffectID(turn: turn.number, ordinal: ordinal), bytes: bytes)))
    }

    /// All orders of a command are noted.
    @usableFromInline
    func endOrders() {
        hash = orders.value
        orders = CommandHash()
    }

    /// A value of the group refuses to be encoded.
    @usableFromInline
    func fail(_ error: any Error) {
        failure = .unencodable("\(error)".bounded(), root: root)
    }

    /// The limit that the group has passed; nil if there is none.
    @usableFromInline
    func broken(of limits: GroupLimits) -> GroupLimit? {
        if failure != nil { return failure }
        if largestEffect > limits.effectBytes { return .effectBytes(limits.effectBytes, root: root) }
        if log.batch.byteCount - start - givenBytes > limits.bytes { return .bytes(limits.bytes, root: root) }
        return nil
    }
}

extension TurnLog {
    /// What a message is for the effect or the subscription that it comes from, before what its turn orders.
    @usableFromInline
    func note(_ role: MessageRole, of origin: Origin) {
        switch (origin, role) {
        case (.effect(let effect, _, _), .closes), (.failure(let effect), .closes): add(.close(effect))
        case (.effect(let effect, let lease, let index), .streamed(let checkpoint)):
            append(.streamed(effect, lease: lease, index: index, checkpoint: checkpoint))
        case (.subscription(let activation, let nominal), _): append(.fired(activation, nominal: nominal))
        default: break
        }
    }
}
