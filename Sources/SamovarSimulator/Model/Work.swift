import MessagePack
import SamovarCore
import SamovarWire

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
    /// Never ends by itself, and has no limit but that of all its attempts together.
    case endless
    /// Ends without a message.
    case mute
    /// Answers several messages.
    case chatty
    /// Answers what is no message.
    case babbling
    /// Streams its messages, one after the other.
    case streaming
    /// Is of a source: streams its messages, and ends by itself in the end, if the source is wanted for so long.
    case flowing
    /// Answers with an order that has its own label.
    case relay
    /// Throws or answers, as it happens. When it has failed for good the program is told, and it is dead.
    case wavering
    /// The same, but it always throws, and for good.
    case cursed

    /// What every world may have; of the others, those with streams, labels, limits or controls.
    static let plain = allCases.filter {
        !$0.isDeadly && !$0.isStreaming && ![.relay, .endless, .wavering, .cursed].contains($0)
    }

    var isStreaming: Bool { self == .streaming || self == .flowing }

    var isDeadly: Bool { self == .lethal || self == .dangerous }

    /// It needs a slot for a moment only.
    var isShort: Bool { !isStreaming && ![.slow, .stuck, .endless, .lethal, .dangerous].contains(self) }

    var queue: Queue { self == .slow || self == .flaky || self == .wavering ? "heavy" : .default }

    var retry: Retry {
        switch self {
        case .flaky, .failing, .stuck, .streaming: .backoff(first: .milliseconds(200), max: .seconds(2), attempts: 3)
        case .wavering: Retry.backoff(first: .milliseconds(200), max: .seconds(1), attempts: 2).keepingDead
        case .cursed: Retry.never.keepingDead
        case .flowing: Retry.backoff(first: .milliseconds(200), max: .seconds(2), attempts: 2).keepingDead
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

    /// For all attempts together.
    var total: Duration? { self == .endless ? .seconds(3) : nil }

    var delay: Duration { self == .late ? .milliseconds(700) : .zero }
}

extension ModelProgram.Effect {
    /// Some streams run out of time in the middle.
    var timeout: Duration? { work == .streaming && inputID % 4 == 0 ? .milliseconds(900) : work.timeout }
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

    init(of effect: ModelProgram.Effect, attempt: Int, _ random: inout SeededRandom) {
        duration = effect.work == .slow ? random.time(200...4_000) * milliseconds : random.about(3 * milliseconds)
        end = .answer(.done([]))
        switch effect.work {
        case .quick, .slow, .late: end = .answer(.done([resultID(effect, &random)]))
        case .mute, .flowing: break
        case .chatty: end = .answer(.done(MessageList((0..<3).map { _ in resultID(effect, &random) })))
        case .babbling: end = .answer(.done([resultID(effect, &random), [0xc1]]))
        case .flaky: end = .answer(attempt < 3 ? .failed(.threw, "not yet", permanent: false) : .done([resultID(effect, &random)]))
        case .failing: end = .answer(.failed(.threw, "never", permanent: false))
        case .doomed, .cursed: end = .answer(.failed(.threw, "no", permanent: true))
        case .wavering:
            end = .answer(
                random.chance(0.7) ? .failed(.threw, "perhaps", permanent: false) : .done([resultID(effect, &random)]))
        case .lethal: end = .death
        case .dangerous: end = attempt == 1 ? .death : .answer(.done([resultID(effect, &random)]))
        case .stuck, .endless: end = .never
        case .streaming: if effect.inputID % 2 == 0 { end = .answer(.done([resultID(effect, &random)])) }
        case .relay:
            if let labelSpec = LabelSpec(code: effect.part) {
                end = .answer(.done([packed(ModelProgram.Message.labelled(effect.inputID, .quick, labelSpec))]))
            }
        }
    }

    private func resultID(_ effect: ModelProgram.Effect, _ random: inout SeededRandom) -> [UInt8] {
        packed(ModelProgram.Message.answered(effect.inputID, resultID: random.word()))
    }
}

/// As the store writes it.
func packed(_ value: some Encodable) -> [UInt8] {
    do {
        return try MessagePackEncoder(recording: .default).encode(value)
    } catch {
        preconditionFailure("\(value) cannot be encoded: \(error)")
    }
}
