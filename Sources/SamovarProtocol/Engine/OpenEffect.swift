public import SamovarCore

/// An effect that was ordered and is not closed yet, with everything that survives a restart.
///
/// A value that is one reference: it goes from the turn to the ledger, to a queue and to a worker, and a copy of all its fields would
/// cost more each time than the one allocation, in which its bytes are, too. What changes it, a failure or a streamed message, makes a new box.
///
/// `@unchecked`: nothing in a box changes once it is made.
public struct OpenEffect: Equatable, @unchecked Sendable {
    private struct Fields: Equatable, Sendable {
        let id: EffectID
        let root: Int
        let instance: Instance
        let options: RunOptions
        let history: History
        /// It has no options, and nothing has become of it: so it is with nearly all effects.
        let isUsual: Bool
        /// How many bytes follow.
        let size: Int
    }

    /// What has become of its attempts.
    public struct History: Equatable, Sendable {
        /// Attempts that failed, deaths of workers not counted.
        public var failures = 0
        /// Workers that died while they ran it.
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
    }

    /// The fields, and behind them the bytes.
    private let box: ManagedBuffer<Fields, UInt8>

    public var id: EffectID { fields { $0.pointee.id } }
    /// The turn that began the chain; 0 for a source, which no chain waits for.
    public var root: Int { fields { $0.pointee.root } }
    public var instance: Instance { fields { $0.pointee.instance } }
    public var options: RunOptions { fields { $0.pointee.options } }
    /// How many bytes the effect has in MessagePack.
    var size: Int { fields { $0.pointee.size } }
    /// The effect in MessagePack, copied.
    public var payload: [UInt8] { withPayload { [UInt8]($0) } }

    public var history: History {
        get { fields { $0.pointee.history } }
        set {
            self = withPayload {
                OpenEffect(id: id, root: root, instance: instance, options: options, payload: $0, history: newValue)
            }
        }
    }
    public var failures: Int { fields { $0.pointee.history.failures } }
    public var deaths: Int { fields { $0.pointee.history.deaths } }
    public var failed: Lease? { fields { $0.pointee.history.failed } }
    public var notBefore: Timestamp { fields { $0.pointee.history.notBefore } }
    public var expiry: Timestamp? { fields { $0.pointee.history.expiry } }
    public var isCrowded: Bool { fields { $0.pointee.history.isCrowded } }
    public var place: StreamPlace? { fields { $0.pointee.history.place } }

    /// A source runs for as long as it is wanted, and outlives any number of workers: their deaths say nothing of it.
    public var isSource: Bool { root == 0 }

    /// Whether it has no options, and nothing has become of it: so it is with nearly all effects.
    var isUsual: Bool { fields { $0.pointee.isUsual } }

    public var queue: Queue { options.queue }
    public var retry: Retry { options.retry }
    public var timeout: Duration? { isUsual ? nil : options.timeout }

    /// An effect that a turn orders now.
    init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions, payload: UnsafeRawBufferPointer, now: Timestamp
    ) {
        var history = History(notBefore: now)
        if !options.isDefault {
            history.notBefore = max(now + options.delay, options.at ?? now)
            history.expiry = options.limits.total.map { [history] in history.notBefore + $0 }
        }
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
        box = ManagedBuffer<Fields, UInt8>.create(minimumCapacity: payload.count) { _ in
            Fields(
                id: id, root: root, instance: instance, options: options, history: history,
                isUsual: options.isDefault && instance == .main && history == History(notBefore: history.notBefore),
                size: payload.count)
        }
        box.withUnsafeMutablePointerToElements {
            UnsafeMutableRawBufferPointer(start: $0, count: payload.count).copyMemory(from: payload)
        }
    }

    /// The same effect in another encoding.
    func with(payload: [UInt8]) -> OpenEffect {
        OpenEffect(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    /// Calls `body` with the effect in MessagePack where it stands.
    func withPayload<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try box.withUnsafeMutablePointers { try body(UnsafeRawBufferPointer(start: $1, count: $0.pointee.size)) }
    }

    @inline(__always)
    private func fields<Result>(_ body: (UnsafePointer<Fields>) -> Result) -> Result {
        box.withUnsafeMutablePointerToHeader { body($0) }
    }

    public static func == (a: OpenEffect, b: OpenEffect) -> Bool {
        if a.box === b.box { return true }
        return a.fields { a in b.fields { b in a.pointee == b.pointee } }
            && a.withPayload { a in b.withPayload { b in a.elementsEqual(b) } }
    }
}
