import MessagePack
import SamovarCore
import SamovarProtocol

/// The kinds of effects, each with another way to end.
enum Work: String, Portable, CaseIterable {
    case quick
    /// Takes seconds.
    case slow
    /// Starts after a delay.
    case late
    /// Throws at its first attempts.
    case flaky
    /// Throws always, and becomes a message.
    case failing
    /// Throws for good, and stays dead.
    case doomed
    /// Ends its worker, always.
    case lethal
    /// Ends its first worker.
    case dangerous
    /// Never ends by itself.
    case stuck
    /// Ends without a message.
    case mute
    /// Answers several messages.
    case chatty
    /// Answers what is no message.
    case babbling
    /// Streams its messages, one after the other.
    case pouring
    /// Answers with an order for the stone on which it lies.
    case relay

    /// What every world may have; of the others, those with streams or stones.
    static let plain = allCases.filter { !$0.isDeadly && $0 != .pouring && $0 != .relay }

    var isDeadly: Bool { self == .lethal || self == .dangerous }

    /// It needs a slot for a moment only.
    var isShort: Bool { ![.slow, .stuck, .lethal, .dangerous, .pouring].contains(self) }

    var queue: Queue { self == .slow || self == .flaky ? "heavy" : .default }

    var retry: Retry {
        switch self {
        case .flaky, .failing, .stuck, .pouring: .backoff(first: .milliseconds(200), max: .seconds(2), attempts: 3)
        default: .never
        }
    }

    var timeout: Duration? {
        switch self {
        case .stuck: .milliseconds(800)
        case .quick: .seconds(30)
        default: nil
        }
    }

    var delay: Duration { self == .late ? .milliseconds(700) : .zero }
}

extension Mill.Effect {
    /// Some streams run out of time in the middle.
    var timeout: Duration? { work == .pouring && grain % 4 == 0 ? .milliseconds(900) : work.timeout }
}

/// How one execution will end.
struct Execution {
    enum End {
        case answer(JobResult.Answer)
        case death
        /// Only when it is told to stop.
        case never
    }

    var duration: Instant
    var end: End

    init(of effect: Mill.Effect, attempt: Int, _ dice: inout Dice) {
        duration = effect.work == .slow ? dice.time(200...4_000) * milliseconds : dice.about(3 * milliseconds)
        end = .answer(.done([]))
        switch effect.work {
        case .quick, .slow, .late: end = .answer(.done([flour(effect, &dice)]))
        case .mute: break
        case .chatty: end = .answer(.done(MessageList((0..<3).map { _ in flour(effect, &dice) })))
        case .babbling: end = .answer(.done([flour(effect, &dice), [0xc1]]))
        case .flaky: end = .answer(attempt < 3 ? .failed(.threw, "not yet", permanent: false) : .done([flour(effect, &dice)]))
        case .failing: end = .answer(.failed(.threw, "never", permanent: false))
        case .doomed: end = .answer(.failed(.threw, "no", permanent: true))
        case .lethal: end = .death
        case .dangerous: end = attempt == 1 ? .death : .answer(.done([flour(effect, &dice)]))
        case .stuck: end = .never
        case .pouring: if effect.grain % 2 == 0 { end = .answer(.done([flour(effect, &dice)])) }
        case .relay:
            if let stone = Stone(code: effect.part) {
                end = .answer(.done([packed(Mill.Message.laid(effect.grain, .quick, stone))]))
            }
        }
    }

    private func flour(_ effect: Mill.Effect, _ dice: inout Dice) -> [UInt8] {
        packed(Mill.Message.ground(effect.grain, flour: dice.word()))
    }
}

/// Canonical, as the store writes it.
func packed(_ value: some Encodable) -> [UInt8] {
    do {
        return try MessagePackEncoder(canonical: true).encode(value)
    } catch {
        preconditionFailure("\(value) cannot be encoded: \(error)")
    }
}
