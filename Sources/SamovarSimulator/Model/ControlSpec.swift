import SamovarCore

/// An order about dead effects, queues or labels, in one number, so that it travels as one.
struct ControlSpec: Portable {
    enum Kind: UInt8, Portable, CaseIterable {
        case requeue
        case drop
        case pause
        case resume
        case rule
    }

    let kind: Kind
    /// A queue, else a label. Rules are of queues.
    let isOfQueue: Bool
    /// The place among the queues, or the number of the label.
    let place: Int
    /// The place among `rules`.
    var rule = 0

    static let queues: [Queue] = [.default, "heavy"]

    static let rules: [QueueRules] = [
        .none,
        QueueRules(rate: .init(5, per: .seconds(1), burst: 1)),
        QueueRules(rate: .init(20, per: .seconds(1), burst: 5)),
        QueueRules(rate: .init(2, per: .milliseconds(700))),
        QueueRules(shares: .init([LabelSpec.label(10): 4, LabelSpec.label(11): 2])),
        QueueRules(
            rate: .init(10, per: .seconds(1), burst: 2), shares: .init([LabelSpec.label(10): 1, LabelSpec.label(11): 5], others: 2)),
    ]

    var code: UInt64 {
        UInt64(kind.rawValue) | (isOfQueue ? 1 << 4 : 0) | UInt64(place) << 8 | UInt64(rule) << 12
    }

    var queue: Queue { Self.queues[place] }
    var label: Label { LabelSpec.label(place) }
    private var queueOrLabel: QueueOrLabel { isOfQueue ? .queue(queue) : .label(label) }

    init(_ kind: Kind, queue: Int, rule: Int = 0) {
        self.init(kind, isOfQueue: true, place: queue, rule: rule)
    }

    init(_ kind: Kind, label: Int) {
        self.init(kind, isOfQueue: false, place: label, rule: 0)
    }

    private init(_ kind: Kind, isOfQueue: Bool, place: Int, rule: Int) {
        self.kind = kind
        self.isOfQueue = isOfQueue
        self.place = place
        self.rule = rule
    }

    /// Nil if it is the number of none.
    init?(code: UInt64) {
        let (place, rule) = (Int(code >> 8 & 15), Int(code >> 12 & 15))
        let isOfQueue = code >> 4 & 1 == 1
        guard code < 1 << 16, let kind = Kind(rawValue: UInt8(code & 15)), rule < Self.rules.count,
            place < (isOfQueue ? Self.queues.count : LabelSpec.count), isOfQueue || kind != .rule
        else { return nil }
        self.init(kind, isOfQueue: isOfQueue, place: place, rule: rule)
    }

    /// Mostly of labels: what is paused as a whole keeps the world from its work.
    static func drawn(_ random: inout SeededRandom) -> ControlSpec {
        let kind = random.pick([Kind.requeue, .requeue, .drop, .pause, .resume, .resume, .rule])
        if kind == .rule { return ControlSpec(.rule, queue: random.number(0...1), rule: random.number(0...rules.count - 1)) }
        return random.chance(0.3)
            ? ControlSpec(kind, queue: random.number(0...1)) : ControlSpec(kind, label: random.number(0...LabelSpec.count - 1))
    }

    var command: Command<ModelProgram> {
        switch (kind, queueOrLabel) {
        case (.requeue, .label(let label)): .requeue(label)
        case (.requeue, .queue(let queue)): .requeue(queue: queue)
        case (.drop, .label(let label)): .drop(label)
        case (.drop, .queue(let queue)): .drop(queue: queue)
        case (.pause, .label(let label)): .pause(label)
        case (.pause, .queue(let queue)): .pause(queue: queue)
        case (.resume, .label(let label)): .resume(label)
        case (.resume, .queue(let queue)): .resume(queue: queue)
        case (.rule, _): .rule(queue, Self.rules[rule])
        }
    }
}
