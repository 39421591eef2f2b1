public import SamovarCore

/// An effect that was ordered and is not closed yet, with everything that survives a restart.
///
/// A value that is one reference: it goes from the turn to the ledger, to a queue and to a worker, and a copy of all its fields would
/// cost more each time than the one allocation. What changes it, a failure or a streamed message, makes a new box.
public struct OpenEffect: Equatable, Sendable {
    private struct Fields: Equatable, Sendable {
        let id: EffectID
        let root: Int
        let instance: Instance
        let options: RunOptions
        var payload: [UInt8]
        var history: History
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

    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) {
            self.fields = fields
        }
    }

    private var box: Box

    public var id: EffectID { box.fields.id }
    /// The turn that began the chain; 0 for a source, which no chain waits for.
    public var root: Int { box.fields.root }
    public var instance: Instance { box.fields.instance }
    public var options: RunOptions { box.fields.options }
    /// The effect in MessagePack.
    public var payload: [UInt8] { box.fields.payload }

    public var history: History {
        get { box.fields.history }
        set {
            var fields = box.fields
            fields.history = newValue
            box = Box(fields)
        }
    }
    public var failures: Int { box.fields.history.failures }
    public var deaths: Int { box.fields.history.deaths }
    public var failed: Lease? { box.fields.history.failed }
    public var notBefore: Timestamp { box.fields.history.notBefore }
    public var expiry: Timestamp? { box.fields.history.expiry }
    public var isCrowded: Bool { box.fields.history.isCrowded }
    public var place: StreamPlace? { box.fields.history.place }

    /// A source runs for as long as it is wanted, and outlives any number of workers: their deaths say nothing of it.
    public var isSource: Bool { root == 0 }

    public var queue: Queue { options.queue }
    public var retry: Retry { options.retry }
    public var timeout: Duration? { options.timeout }

    public init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions = RunOptions(), payload: [UInt8], now: Timestamp
    ) {
        var history = History(notBefore: now)
        if !options.isDefault {
            history.notBefore = max(now + options.delay, options.at ?? now)
            history.expiry = options.limits.total.map { [history] in history.notBefore + $0 }
        }
        self.init(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    public init(id: EffectID, root: Int, instance: Instance, options: RunOptions, payload: [UInt8], history: History) {
        box = Box(Fields(id: id, root: root, instance: instance, options: options, payload: payload, history: history))
    }

    /// The same effect in another encoding.
    func with(payload: [UInt8]) -> OpenEffect {
        OpenEffect(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    public static func == (a: OpenEffect, b: OpenEffect) -> Bool { a.box === b.box || a.box.fields == b.box.fields }
}
