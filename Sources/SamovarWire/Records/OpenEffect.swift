public import SamovarCore

/// An effect that was ordered and is not closed yet, with everything that survives a restart.
///
/// A value that is one reference: it goes from the turn to the ledger, to a queue and to a worker, and a copy of all its fields would
/// cost more each time than the one allocation, in which its bytes are, too. What changes it, a failure or a streamed message, makes a new box.
///
/// `@unchecked`: nothing in a box changes once it is made.
public struct OpenEffect: Equatable, @unchecked Sendable {
    @usableFromInline
    struct Fields: Sendable {
        @usableFromInline let id: EffectID
        @usableFromInline let root: Int
        /// How many bytes follow.
        @usableFromInline let size: Int
        let notBefore: Timestamp
        /// Nil for nearly all effects: they have no options, and nothing has become of them.
        @usableFromInline let rest: Rest?
    }

    /// What few effects have.
    @usableFromInline
    final class Rest: Equatable, Sendable {
        let instance: Instance
        @usableFromInline let options: RunOptions
        let history: History

        init(_ instance: Instance, _ options: RunOptions, _ history: History) {
            self.instance = instance
            self.options = options
            self.history = history
        }

        @usableFromInline
        static func == (a: Rest, b: Rest) -> Bool {
            a === b || a.instance == b.instance && a.options == b.options && a.history == b.history
        }
    }

    /// What has become of its attempts.
    public struct History: Equatable, Sendable {
        /// Attempts that failed; of a source, deaths of its workers among them.
        public var failures = 0
        /// Workers that died while they ran it; none of a source.
        public var deaths = 0
        /// The newest lease whose attempt has failed; an answer under it, or an older one, was counted or came too late.
        public var failed: Lease?
        /// Not to be handed out earlier.
        public var notBefore: Timestamp
        /// When all its attempts together have taken too long.
        public var expiry: Timestamp?
        /// Its policy allows no more with its label: it fails without an attempt.
        public var isCrowded = false
        /// How far its attempts have come with streaming; nil before the first message.
        public var place: StreamPlace?
        /// The attempt that has streamed last, if it was handed out before a start that it has outlived.
        public var adoptedStream: AdoptedStream?
        /// When it was ordered; nil while it may be handed out since then.
        public var ordered: Timestamp?
        /// Of one that was dead: the order by which it took its place among those with its label, which is its own if it has kept its first place.
        /// Builds before this one have nil in that case.
        public var requeued: EffectID?

        /// Of the effect when it is opened again by an order: how far it has streamed stays, and its attempts start anew.
        package func reopened(by order: EffectID, at now: Timestamp, ordered: Timestamp, expiry: Timestamp?) -> History {
            History(
                failed: failed, notBefore: now, expiry: expiry, place: place, adoptedStream: adoptedStream, ordered: ordered,
                requeued: order)
        }

        /// It may not be handed out before this time.
        package mutating func wait(until time: Timestamp) {
            ordered = ordered ?? notBefore
            notBefore = time
        }
    }

    /// An attempt that streams beyond a restart of the store.
    public struct AdoptedStream: Equatable, Sendable {
        public var lease: Lease
        /// The number of the start in which it has streamed last.
        public var start: Int

        package init(lease: Lease, start: Int) {
            self.lease = lease
            self.start = start
        }
    }

    /// The fields, and behind them the bytes.
    @usableFromInline let box: ManagedBuffer<Fields, UInt8>

    @inlinable public var id: EffectID { fields { $0.pointee.id } }
    /// The turn that began the chain; 0 for a source, which no chain waits for.
    @inlinable public var root: Int { fields { $0.pointee.root } }
    public var instance: Instance { rest?.instance ?? .main }
    public var options: RunOptions { rest?.options ?? .default }
    /// How many bytes the effect has in MessagePack.
    @inlinable package var size: Int { fields { $0.pointee.size } }
    /// The effect in MessagePack, copied.
    public var payload: [UInt8] { withPayload { [UInt8]($0) } }

    public var history: History {
        get { rest?.history ?? History(notBefore: notBefore) }
        set {
            self = withPayload {
                OpenEffect(id: id, root: root, instance: instance, options: options, payload: $0, history: newValue)
            }
        }
    }
    public var failures: Int { rest?.history.failures ?? 0 }
    public var deaths: Int { rest?.history.deaths ?? 0 }
    public var failed: Lease? { rest?.history.failed }
    /// Whether the attempt under this lease is over on record: it has failed, or a newer one has, or another one that was handed out before
    /// a restart, too, has gone on with the stream since then, so that what this one streams would follow what it never sent.
    package func isOver(under lease: Lease) -> Bool {
        guard let history = rest?.history else { return false }
        if let failed = history.failed, lease <= failed { return true }
        guard let adoptedStream = history.adoptedStream else { return false }
        return lease != adoptedStream.lease && lease.start < adoptedStream.start
    }
    public var notBefore: Timestamp { fields { $0.pointee.notBefore } }
    /// When it was ordered; of one that a build before this one has delayed, when it may be handed out.
    public var ordered: Timestamp { rest?.history.ordered ?? notBefore }
    /// The order by which it took its place among the effects with its label.
    package var opened: EffectID { rest?.history.requeued ?? id }
    public var expiry: Timestamp? { rest?.history.expiry }
    public var isCrowded: Bool { rest?.history.isCrowded ?? false }
    public var place: StreamPlace? { rest?.history.place }

    @inlinable var rest: Rest? { fields { $0.pointee.rest } }

    /// A source runs for as long as it is wanted, and outlives any number of workers: their deaths say nothing of it.
    @inlinable public var isSource: Bool { root == 0 }

    /// Whether it has no options, and nothing has become of it: so it is with nearly all effects.
    @inlinable package var isUsual: Bool { fields { $0.pointee.rest == nil } }

    /// What others refer to it by; nil if nobody does.
    @inlinable package var label: Label? { rest?.options.id }
    public var queue: Queue { options.queue }
    public var retry: Retry { options.retry }
    public var timeout: Duration? { rest?.options.timeout }

    /// An effect that a turn orders now.
    package init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions, payload: UnsafeRawBufferPointer, now: Timestamp
    ) {
        guard !options.isDefault || instance != .main else {
            self.init(id: id, root: root, notBefore: now, rest: nil, payload: payload)
            return
        }
        var history = History(notBefore: now)
        let earliest = max(now + options.delay, options.at ?? now)
        if earliest > now { history.wait(until: earliest) }
        history.expiry = options.limits.total.map { [history] in history.notBefore + $0 }
        self.init(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    public init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions = RunOptions(), payload: [UInt8], now: Timestamp
    ) {
        self = payload.withUnsafeBytes {
            OpenEffect(id: id, root: root, instance: instance, options: options, payload: $0, now: now)
        }
    }

    public init(id: EffectID, root: Int, instance: Instance, options: RunOptions, payload: [UInt8], history: History) {
        self = payload.withUnsafeBytes {
            OpenEffect(id: id, root: root, instance: instance, options: options, payload: $0, history: history)
        }
    }

    private init(
        id: EffectID, root: Int, instance: Instance, options: RunOptions, payload: UnsafeRawBufferPointer, history: History
    ) {
        let isUsual = options.isDefault && instance == .main && history == History(notBefore: history.notBefore)
        let rest = isUsual ? nil : Rest(instance, options, history)
        self.init(id: id, root: root, notBefore: history.notBefore, rest: rest, payload: payload)
    }

    private init(id: EffectID, root: Int, notBefore: Timestamp, rest: Rest?, payload: UnsafeRawBufferPointer) {
        box = ManagedBuffer<Fields, UInt8>.create(minimumCapacity: payload.count) { _ in
            Fields(id: id, root: root, size: payload.count, notBefore: notBefore, rest: rest)
        }
        box.withUnsafeMutablePointerToElements {
            UnsafeMutableRawBufferPointer(start: $0, count: payload.count).copyMemory(from: payload)
        }
    }

    /// Calls `body` with the effect in MessagePack where it stands.
    func withPayload<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try box.withUnsafeMutablePointers { try body(UnsafeRawBufferPointer(start: $1, count: $0.pointee.size)) }
    }

    /// The same effect in another encoding.
    package func with(payload: [UInt8]) -> OpenEffect {
        OpenEffect(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    @inlinable @inline(__always)
    func fields<Result>(_ body: (UnsafePointer<Fields>) -> Result) -> Result {
        box.withUnsafeMutablePointerToHeader { body($0) }
    }

    public static func == (a: OpenEffect, b: OpenEffect) -> Bool {
        if a.box === b.box { return true }
        return a.id == b.id && a.root == b.root && a.notBefore == b.notBefore && a.rest == b.rest
            && a.withPayload { a in b.withPayload { b in a.elementsEqual(b) } }
    }
}
