import SamovarCore

/// What a mill may be asked to listen for: a subscription in one number, so that it travels as one.
struct Bell: Portable {
    enum Kind: UInt8, Portable, CaseIterable {
        case every
        case at
        case cron
        case resumed
        case draining

        /// It rings at moments in the life of the store, and not at times.
        var isMoment: Bool { self == .resumed || self == .draining }
    }

    /// Where it hangs; another bell in its place begins anew, unless it is the same.
    var place: Int
    var kind: Kind
    var missed: UInt8 = Missed.once.rawValue
    /// Between two rings; of `at`, from the turn that hangs it.
    var milliseconds = 0
    /// Each ring orders an effect, which takes the place of the one before.
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

    /// A bell that does not ring more often than a world can bear: where each missed ring counts, an hour that a wall clock jumps
    /// brings all of them at once.
    static func drawn(_ dice: inout Dice) -> Bell {
        let kind = dice.pick([Kind.every, .every, .every, .at, .at, .cron, .resumed, .draining, .draining])
        let missed = dice.pick(Missed.allCases)
        let milliseconds =
            switch kind {
            case .every: dice.pick(missed == .all ? [10_000, 30_000] : [1_000, 3_000, 10_000])
            case .at: dice.pick([0, 50, 2_000, 20_000])
            case .cron: dice.pick([60_000, 120_000, 300_000])
            case .resumed, .draining: 0
            }
        return Bell(
            place: dice.number(0...places - 1), kind: kind, missed: missed, milliseconds: milliseconds, isWorking: dice.chance(0.3))
    }
}

/// A bell in its place.
struct HungBell: Portable {
    let grain: UInt64
    let bell: Bell
    /// When `at` rings.
    let time: Timestamp
    var rings = 0

    init(_ bell: Bell, grain: UInt64, now: Timestamp) {
        self.grain = grain
        self.bell = bell
        time = now + .milliseconds(bell.milliseconds)
    }

    /// What it sends; another grain in the same place sends another message, at the same times.
    var message: Mill.Message { .rang(grain, bell: bell.place) }

    func subscription(id: Label) -> Subscription<Mill> {
        let missed = Missed(rawValue: bell.missed) ?? .once
        switch bell.kind {
        case .every: return .every(.milliseconds(bell.milliseconds), id: id, missed: missed, send: message)
        case .at: return .at(time, id: id, missed: missed, send: message)
        case .cron: return .cron(Self.calendar(minutes: bell.milliseconds / 60_000), id: id, missed: missed, send: message)
        case .resumed: return .on(.resumed, id: id, send: message)
        case .draining: return .on(.draining, id: id, send: message)
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
