import SamovarCore
public import SamovarStore
public import SamovarWire

/// A command that a replay has computed again, beside all that the journal knows of the recorded one; or the same of a state.
///
/// Of a recorded command the journal keeps a hash. Its follow-ups are records of their own and known in full; its effects are
/// known by what happened to them later, and in full only while a snapshot holds them.
public struct DivergenceReport: Codable, Equatable, Sendable {
    /// What the two hashes are of.
    public var subject: Divergence.Subject
    /// The turn whose command it is, or that tells of the state before it.
    public var turn: Int
    /// Where the turn came from, in words.
    public var origin: String
    /// What `update` was given, in MessagePack; at turn 1 the seed.
    public var message: [UInt8]
    /// The hash in the journal, in 16 hexadecimal digits; nil at turn 1, whose record has none.
    public var recordedHash: String?
    /// Whether the recorded command ordered nothing.
    public var recordedNothing: Bool
    /// The build that the recorded command comes from; empty if it is not known.
    public var recordedBuild: String
    /// The recorded ones, in full.
    public var recordedFollowUps: [TurnTraces.FollowUp]
    /// The recorded ones, as far as they are known.
    public var recordedEffects: [EffectTrace]
    /// The hash of what this process orders.
    public var hash: String
    /// What this process orders; the first 100.
    public var orders: [Order]
    /// How many more it orders.
    public var omitted: Int

    /// One thing that is ordered now.
    public struct Order: Codable, Equatable, Sendable {
        /// What kind of order it is.
        public enum Kind: String, Codable, Sendable {
            case run, then, cancel, emit, control
        }

        /// What kind of order it is.
        public var kind: Kind
        /// An effect, a follow-up or an output in MessagePack; empty for a cancel.
        public var value: [UInt8]
        /// How an effect is to be run, or what is cancelled, in words.
        public var options: String
    }

    /// What the journal knows of a recorded effect.
    public struct EffectTrace: Codable, Equatable, Sendable {
        /// `turn/ordinal`.
        public var effect: String
        /// What happened to it last, such as `answered at turn 14`; empty if nothing has.
        public var trace: String
        /// The effect in MessagePack, if a snapshot holds it.
        public var value: [UInt8]?
    }

    /// Whether the two commands are different ones, as far as that is known.
    public var differs: Bool { recordedHash != hash }

    private static let orderLimit = 100

    /// - Parameter kept: effects of the turn that a snapshot holds.
    init(_ divergence: Divergence, traces: TurnTraces, kept: [OpenEffect]) {
        subject = divergence.subject
        turn = divergence.turn
        origin = divergence.origin.words
        message = divergence.message
        recordedHash = divergence.recorded.map(hexadecimal)
        recordedNothing = divergence.recorded == 0
        recordedBuild = traces.build
        recordedFollowUps = Array(traces.followUps.prefix(Self.orderLimit))
        let values = Dictionary(kept.map { ($0.id.ordinal, $0.payload) }, uniquingKeysWith: { first, _ in first })
        recordedEffects = Set(values.keys).union(traces.effects.keys).sorted().prefix(Self.orderLimit).map { ordinal in
            EffectTrace(
                effect: "\(divergence.turn)/\(ordinal)",
                trace: traces.effects[ordinal].map { "\($0.what) at turn \($0.turn)" } ?? "", value: values[ordinal])
        }
        hash = hexadecimal(divergence.hash)
        orders = divergence.orders.prefix(Self.orderLimit).map(Order.init)
        omitted = divergence.orders.count - orders.count
    }
}

extension DivergenceReport.Order {
    init(_ order: Divergence.Order) {
        switch order {
        case .then(let message): self.init(kind: .then, value: message, options: "")
        case .cancel(let label): self.init(kind: .cancel, value: [], options: label.text)
        case .emit(let output): self.init(kind: .emit, value: output, options: "")
        case .control(let control): self.init(kind: .control, value: [], options: "\(control)")
        case .run(let effect): self.init(kind: .run, value: effect.payload, options: Self.words(effect.options))
        }
    }

    private static func words(_ options: RunOptions) -> String {
        var words = [
            "in queue \(options.queue)", "\(options.retry.attempts) \(options.retry.attempts == 1 ? "attempt" : "attempts")",
        ]
        if let label = options.id { words.append("as “\(label)”, policy \(options.policy)") }
        if let timeout = options.timeout { words.append("timeout \(timeout)") }
        if options.delay > .zero { words.append("after \(options.delay)") }
        if options.priority != 0 { words.append("priority \(options.priority)") }
        return words.joined(separator: ", ")
    }
}

extension Origin {
    fileprivate var words: String {
        switch self {
        case .store: "the store's first start"
        case .client(let session, let sequence): "input \(sequence) of session \(session)"
        case .effect(let effect, _, let index): "message \(index) of the answer of effect \(effect)"
        case .failure(let effect): "the failure of effect \(effect)"
        case .followUp(let turn): "a follow-up of turn \(turn)"
        case .operator: "an operator"
        case .subscription(let activation, let nominal): "a firing of subscription \(activation), due at \(nominal)"
        }
    }
}
