import DequeModule
public import MessagePack
public import SamovarCore
public import SamovarWire

/// What a message from outside is for the effect or the session of its origin.
public enum MessageRole: Sendable {
    /// It stays as it is, or there is none.
    case open
    /// The effect is done, or the session ends.
    case closes
    /// The effect goes on from here, with the checkpoint that comes with the message.
    case streamed
}

/// Records what turns give, in order: a record of each for the journal, and the changes of the books that it orders.
///
/// It knows bytes, and nothing of the program's types. So it is compiled here, where the compiler sees all of it, and not in the user's
/// module, where it would count a reference for nearly each step. One that cannot be copied: the store lends it to its engine, so the
/// compiler proves that nobody else reaches it, and a batch that grows is never copied.
public struct TurnLog: ~Copyable {
    public var batch: RecordBatch
    /// What turns ordered, and behind it unused entries. Entries are used again: to empty the array for each turn is too slow.
    private(set) var orders: [LoggedOrder?] = []
    private var orderCount = 0
    /// Whether records are written to the batch. Those of a replay are in the journal already.
    @usableFromInline let writesRecords: Bool
    /// Takes the view after each turn, while somebody watches every one; else nil.
    var tap: ViewTap?
    /// Mutating for the same reason as ``check(_:)``.
    @usableFromInline var isTapped: Bool { mutating get { tap != nil } }
    /// What observers made of turns that are not on disk yet: as much as the batches that wait for it.
    private var undelivered: Deque<(turn: Int, deliver: @Sendable () -> Void)> = []

    // Of the group.
    private(set) var root = 0
    /// What the next message from outside is.
    private var role = MessageRole.open
    /// That of a streamed message.
    private var checkpoint: [UInt8]?
    /// The next message as it arrived, for as long as its turn lasts; nil if it has to be encoded.
    private var given: UnsafeRawBufferPointer?
    /// What this group and some before it have encoded, one after the other.
    @usableFromInline var encoded = MessagePackWriter()
    /// Where the message of the turn is among them, unless it was given.
    @usableFromInline var message: Range<Int>?
    /// Where the follow-ups are among them, in the order in which the engine takes them, and the turn that ordered each.
    private var followUps = ShortQueue<(bytes: Range<Int>, cause: Int)>()
    private var command = CommandHash()
    /// That of the newest command; 0 if it is empty.
    @usableFromInline private(set) var hash: UInt64 = 0
    /// The size of the batch when the group began, and what came from outside since then, which is limited there.
    private var start = 0
    /// The largest effect of the group.
    private var largestEffect = 0
    /// Why a value of the group cannot be encoded.
    private var failure: String?

    public init(after turn: Int) {
        batch = RecordBatch(after: turn)
        writesRecords = true
    }

    /// Collects what a replay orders, and writes nothing.
    init(ofReplayAfter turn: Int) {
        batch = RecordBatch(after: turn)
        writesRecords = false
    }

    // MARK: Orders of all turns

    /// Whether turns have ordered something that was not taken yet.
    var hasOrders: Bool { orderCount > 0 }

    /// Notes what a turn orders. Inlined, so that an order is written to its place, and not handed on through memory.
    @inline(__always)
    mutating func append(_ order: consuming LoggedOrder) {
        if orderCount == orders.count { orders.append(nil) }
        orders[orderCount] = order
        orderCount += 1
    }

    /// Hands over what was ordered, in the order in which turns gave it, which is the order in which it must be carried out, live and in
    /// a replay.
    mutating func takeOrders(_ carryOut: (consuming LoggedOrder) -> Void) {
        for index in 0..<orderCount {
            if let order = orders[index].take() { carryOut(order) }
        }
        orderCount = 0
    }

    /// Writes a record, unless it was read from the journal.
    @usableFromInline
    mutating func write(_ record: Record) {
        if writesRecords { batch.append(record) }
    }

    // MARK: Groups

    /// Begins a group: nothing of the one before is left. The hash is set by each turn.
    @usableFromInline
    mutating func begin(root: Int) {
        self.root = root
        start = batch.byteCount
        largestEffect = 0
        expect(nil, .open)
        if failure != nil { failure = nil }
        forgetFollowUps()
        // Not emptied for each group, which takes longer than to encode a small message. One large message shall not be paid for ever.
        if encoded.count > 1 << 16 { encoded = MessagePackWriter() } else if encoded.count > 1 << 14 { encoded.removeAll() }
    }

    /// The next message from outside, which has not to be encoded if it is given, and what it is.
    @usableFromInline
    mutating func expect(_ given: UnsafeRawBufferPointer?, _ role: MessageRole, checkpoint: [UInt8]? = nil) {
        self.given = given
        self.role = role
        if checkpoint != nil || self.checkpoint != nil { self.checkpoint = checkpoint }
    }

    @usableFromInline
    mutating func forgetFollowUps() {
        if !followUps.isEmpty { followUps = ShortQueue() }
    }

    /// The bytes of the next follow-up, and the turn that ordered it.
    @usableFromInline
    mutating func takeFollowUp() -> (bytes: [UInt8], cause: Int)? {
        guard let next = followUps.popFirst() else { return nil }
        return (bytes(next.bytes), next.cause)
    }

    private mutating func bytes(_ place: Range<Int>) -> [UInt8] { encoded.withWritten(place) { [UInt8]($0) } }

    /// A value of the group refuses to be encoded.
    @usableFromInline
    mutating func fail(_ error: any Error) { failure = "\(error)".bounded() }

    /// Mutating, although nothing is changed: to be read, a log that is lent would be copied.
    ///
    /// - Throws: the limit that the group has passed.
    @usableFromInline
    mutating func check(_ limits: GroupLimits) throws(GroupLimit) {
        if let failure { throw .unencodable(failure, root: root) }
        if largestEffect > limits.effectBytes { throw .effectBytes(limits.effectBytes, root: root) }
        if batch.byteCount - start > limits.bytes { throw .bytes(limits.bytes, root: root) }
    }

    // MARK: Turns

    /// Begins a turn; returns whether its message has to be encoded.
    @usableFromInline
    mutating func begin(_ turn: Turn) -> Bool {
        hash = 0
        if case .followUp = turn.origin, let next = followUps.popFirst() {
            message = next.bytes
            return false
        }
        note(turn.origin)
        return given == nil
    }

    /// What the message is for the effect or the subscription that it comes from, before what its turn orders.
    @usableFromInline
    mutating func note(_ origin: Origin) {
        switch (origin, role) {
        case (.effect(let effect, _, _), .closes), (.failure(let effect), .closes): append(.close(effect))
        case (.effect(let effect, let lease, let index), .streamed):
            append(.streamed(effect, lease: lease, index: index, checkpoint: checkpoint))
        case (.subscription(let activation, let nominal), _):
            append(.fired(activation, nominal: nominal, message: writesRecords ? nil : given.map { [UInt8]($0) }))
        default: break
        }
    }

    /// Notes an effect, whose bytes are among the encoded ones.
    @usableFromInline
    mutating func run(_ place: Range<Int>, _ options: RunOptions, _ ordinal: Int, _ turn: Turn) {
        largestEffect = max(largestEffect, place.count)
        let id = EffectID(turn: turn.number, ordinal: ordinal)
        let effect = encoded.withWritten(place) { payload in
            command.run(payload, options)
            return OpenEffect(id: id, root: root, options: options, payload: payload, now: turn.now)
        }
        append(.run(consume effect))
    }

    @usableFromInline
    mutating func follow(_ place: Range<Int>, of turn: Int) {
        encoded.withWritten(place) { command.follow($0) }
        followUps.append((place, turn))
    }

    @usableFromInline
    mutating func cancel(_ label: Label) {
        command.cancel(label)
        append(.cancel(label))
    }

    @usableFromInline
    mutating func emit(_ place: Range<Int>, _ ordinal: Int, _ turn: Turn) {
        largestEffect = max(largestEffect, place.count)
        encoded.withWritten(place) { command.emit($0) }
        append(.emit(EmittedOutput(id: EffectID(turn: turn.number, ordinal: ordinal), bytes: bytes(place))))
    }

    @usableFromInline
    mutating func control(_ control: Control, _ ordinal: Int, _ turn: Turn) {
        command.control(control)
        append(.control(control, at: EffectID(turn: turn.number, ordinal: ordinal), now: turn.now))
    }

    @usableFromInline
    mutating func endOrders() {
        hash = command.value
        command = CommandHash()
    }

    /// Writes the record of the turn. What follows in the group comes from within, unless it is expected.
    @usableFromInline
    mutating func end(_ turn: Turn) {
        if let message {
            if writesRecords {
                encoded.withWritten(message) { batch.append($0, role, checkpoint: checkpoint, hash: hash, turn, root: root) }
            }
            self.message = nil
        } else if let given {
            let before = batch.byteCount
            if writesRecords { batch.append(given, role, checkpoint: checkpoint, hash: hash, turn, root: root) }
            start += batch.byteCount - before
            self.given = nil
        }
        role = .open
    }

    // MARK: Observers

    /// An observer is to be told of a turn when it is on disk.
    @usableFromInline
    mutating func deliver(_ deliver: @escaping @Sendable () -> Void, after turn: Int) { undelivered.append((turn, deliver)) }

    /// The journal holds every turn up to this one: observers may be told.
    mutating func committed(through turn: Int) {
        while let first = undelivered.first, first.turn <= turn {
            undelivered.removeFirst()
            first.deliver()
        }
    }
}

extension RecordBatch {
    /// Appends the record of a message, which is for the effect of its origin what `role` says.
    fileprivate mutating func append(
        _ message: UnsafeRawBufferPointer, _ role: MessageRole, checkpoint: [UInt8]?, hash: UInt64, _ turn: Turn, root: Int
    ) {
        switch role {
        case .open, .closes: append(applied: message, hash: hash, closes: role == .closes, turn: turn, root: root)
        case .streamed:
            let event = Record.Event.streamed(message: Array(message), hash: hash, checkpoint: checkpoint)
            append(Record(turn: turn.number, time: turn.now, origin: turn.origin, root: root, event: event))
        }
    }
}
