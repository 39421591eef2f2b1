public import SamovarCore

/// An effect that was ordered and is not closed yet, with everything that survives a restart.
public struct OpenEffect: Equatable, Sendable {
    public let id: EffectID
    /// The turn that began the chain; 0 for a source, which no chain waits for.
    public let root: Int
    public let instance: Instance
    public let options: RunOptions
    /// The effect in MessagePack.
    public private(set) var payload: [UInt8]
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

    /// A source runs for as long as it is wanted, and outlives any number of workers: their deaths say nothing of it.
    public var isSource: Bool { root == 0 }

    public var queue: Queue { options.queue }
    public var retry: Retry { options.retry }
    public var timeout: Duration? { options.timeout }

    public init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions = RunOptions(), payload: [UInt8], now: Timestamp
    ) {
        self.id = id
        self.root = root
        self.instance = instance
        self.options = options
        self.payload = payload
        notBefore = max(now + options.delay, options.at ?? now)
        expiry = options.limits.total.map { [notBefore] in notBefore + $0 }
    }

    /// The same effect in another encoding.
    func with(payload: [UInt8]) -> OpenEffect {
        var effect = self
        effect.payload = payload
        return effect
    }
}
