package import MessagePack
import SamovarCore
package import SamovarWire

/// Why there was a turn: what it followed from, up to what came from outside.
package struct CauseChain: Equatable {
    package struct Cause: Equatable {
        /// The turn that the words lead to; nil where the chain comes from outside.
        package var turn: Int?
        /// Such as “follow-up of 12 (started)”.
        package var text: String
    }

    /// Causes that are looked for.
    package static let maximumCauses = 1_000

    package private(set) var causes: [Cause] = []

    /// - Parameters:
    ///   - limit: causes that are looked for.
    ///   - record: of a turn; nil if it is not kept.
    package init(of first: Record, limit: Int = CauseChain.maximumCauses, record: (Int) throws -> Record?) rethrows {
        var next: Record? = first
        while let current = next {
            guard let (turn, words) = current.cause else {
                causes.append(Cause(turn: nil, text: current.outsideText))
                return
            }
            guard causes.count < limit else {
                causes.append(Cause(turn: nil, text: "… and more causes before turn \(current.turn), up to turn \(first.root)"))
                return
            }
            // A cause is always an earlier turn, whatever a journal says.
            next = turn < current.turn ? try record(turn) : nil
            causes.append(Cause(turn: turn, text: "\(words) \(turn) (\(next?.messageName ?? "not kept any more"))"))
        }
    }

    /// One after the other: `← follow-up of 12 (started) ← client 7f… #3`.
    package var line: String { causes.map { "← \($0.text)" }.joined(separator: " ") }

    package var value: MessagePackValue {
        .array(
            causes.map { cause in
                var value: MessagePackValue = ["text": .string(cause.text)]
                if let turn = cause.turn { value["turn"] = .int(Int64(turn)) }
                return value
            })
    }
}

extension MessagePackValue {
    /// Of an enum, as it is encoded; nil for what looks like none.
    var caseName: String? {
        switch self {
        case .map(let pairs) where pairs.count == 1: shortened(pairs[0].key.plainText, to: 60)
        case .string(let name): shortened(name, to: 60)
        default: nil
        }
    }
}

extension Record {
    /// What happened, in one word: the case of the message, or the kind of the record.
    package var messageName: String {
        switch event {
        case .applied, .streamed: detail.caseName ?? kind
        default: kind
        }
    }

    /// The turn that it follows from, and how; nil if it comes from outside.
    fileprivate var cause: (turn: Int, words: String)? {
        switch origin {
        case .followUp(let turn): (turn, "follow-up of")
        case .effect(let effect, _, _): (effect.turn, "answer of effect \(effect), ordered in")
        case .failure(let effect): (effect.turn, "failure of effect \(effect), ordered in")
        case .store, .client, .operator, .subscription: nil
        }
    }

    fileprivate var outsideText: String {
        let key = senderText.map { " by \($0)" } ?? ""
        return switch origin {
        case .subscription(let activation, let nominal):
            "subscription \(activation), due \(instantText(of: nominal))"
        case .store: turn == 1 ? "start of the timeline" : "store"
        default: originText + key
        }
    }

    /// For programs.
    package var value: MessagePackValue {
        [
            "turn": .int(Int64(turn)), "time": .string(instantText(of: time)), "kind": .string(kind), "origin": .string(originText),
            "root": .int(Int64(root)), "detail": detail,
        ]
    }
}
