import SamovarCore

/// A timer, a lifecycle event or a source that the model program subscribes to, in one number, so that it travels as one.
struct TimerSpec: Portable {
    enum Kind: UInt8, Portable, CaseIterable {
        case every
        case at
        case cron
        case resumed
        case draining
        case source

        /// It fires at moments in the life of the store, not at times.
        var isLifecycle: Bool { self == .resumed || self == .draining }
    }

    /// Which timer of the state it is; another one in its place begins anew, unless it is the same.
    var place: Int
    var kind: Kind
    var missed: UInt8 = Missed.once.rawValue
    /// Between two firings; of `at`, from the turn that arms it.
    var milliseconds = 0
    /// Each firing orders an effect, which replaces the one before.
    var isWorking = false

    /// How many places there are.
    static let places = 4

    var code: UInt64 {
        UInt64(place) | UInt64(kind.rawValue) << 4 | UInt64(missed) << 8 | (isWorking ? 1 << 12 : 0) | UInt64(milliseconds) << 16
    }

    init(place: Int, kind: Kind, missed: Missed = .once, milliseconds: Int = 0, isWorking: Bool = false) {
        self.place = place
        self.kind = kind
        self.missed = missed.rawValue
        self.milliseconds = milliseconds
        self.isWorking = isWorking
    }

    /// Nil if it is the number of none.
    init?(code: UInt64) {
        guard let kind = Kind(rawValue: UInt8(code >> 4 & 15)), let missed = Missed(rawValue: UInt8(code >> 8 & 15)) else {
            return nil
        }
        self.init(
            place: Int(code & 15), kind: kind, missed: missed, milliseconds: Int(code >> 16 & 0xffff_ffff),
            isWorking: code >> 12 & 1 == 1)
    }

    /// A timer that does not fire more often than a world can bear: where each missed firing counts, an hour that a wall clock jumps
    /// brings all of them at once.
    ///
    /// - Parameter hasSources: whether it may be a source.
    static func drawn(_ random: inout SeededRandom, hasSources: Bool) -> TimerSpec {
        if hasSources, random.chance(0.4) { return TimerSpec(place: random.number(0...places - 1), kind: .source) }
        let kind = random.pick([Kind.every, .every, .every, .at, .at, .cron, .resumed, .draining, .draining])
        let missed = random.pick(Missed.allCases)
        let milliseconds =
            switch kind {
            case .every: random.pick(missed == .all ? [10_000, 30_000] : [1_000, 3_000, 10_000])
            case .at: random.pick([0, 50, 2_000, 20_000])
            case .cron: random.pick([60_000, 120_000, 300_000])
            case .resumed, .draining, .source: 0
            }
        return TimerSpec(
            place: random.number(0...places - 1), kind: kind, missed: missed, milliseconds: milliseconds,
            isWorking: random.chance(0.3))
    }
}

/// A timer that the state subscribes to.
struct ArmedTimer: Portable {
    let inputID: UInt64
    let timer: TimerSpec
    /// When `at` fires.
    let time: Timestamp
    var count = 0

    init(_ timer: TimerSpec, inputID: UInt64, now: Timestamp) {
        self.inputID = inputID
        self.timer = timer
        time = now + .milliseconds(timer.milliseconds)
    }

    /// What it sends; another input in the same place sends another message, at the same times.
    var message: ModelProgram.Message { .fired(inputID, timer: timer.place) }

    /// What a source is, as long as it is wanted.
    var effect: ModelProgram.Effect { ModelProgram.Effect(inputID: inputID, work: .flowing, part: timer.place) }

    func subscription(id: Label) -> Subscription<ModelProgram> {
        let missed = Missed(rawValue: timer.missed) ?? .once
        switch timer.kind {
        case .every: return .every(.milliseconds(timer.milliseconds), id: id, missed: missed, send: message)
        case .at: return .at(time, id: id, missed: missed, send: message)
        case .cron: return .cron(Self.calendar(minutes: timer.milliseconds / 60_000), id: id, missed: missed, send: message)
        case .resumed: return .on(.resumed, id: id, send: message)
        case .draining: return .on(.draining, id: id, send: message)
        case .source: return .source(effect, id: id, queue: effect.work.queue, retry: effect.work.retry)
        }
    }

    private static func calendar(minutes: Int) -> Cron {
        do {
            return try Cron("*/\(minutes) * * * *")
        } catch {
            preconditionFailure("\(minutes) minutes are no calendar: \(error)")
        }
    }
}
