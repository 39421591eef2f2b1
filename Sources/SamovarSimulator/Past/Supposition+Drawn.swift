import SamovarCore
import SamovarStore
import SamovarWire

extension Supposition {
    /// Some of these turns left out, replaced, or followed by inputs that never came.
    static func drawn(_ records: ArraySlice<Record>, _ random: inout SeededRandom) -> Supposition {
        var supposition = Supposition()
        for _ in 0..<random.number(1...4) {
            let record = records[random.number(records.startIndex...records.endIndex - 1)]
            let message = drawnMessage(&random)
            switch random.number(0...2) {
            case 0: if record.isRemovable, supposition.replaced[record.turn] == nil { supposition.removed.insert(record.turn) }
            case 1:
                guard record.isReplaceable, !supposition.removed.contains(record.turn) else { continue }
                supposition.replaced[record.turn] = record.isOfClient ? drawnInput(message, &random) : packed(message)
            default: supposition.inserted[record.turn, default: []].append(drawnInput(message, &random))
            }
        }
        return supposition
    }

    private static func drawnInput(_ message: ModelProgram.Message, _ random: inout SeededRandom) -> [UInt8] {
        packed(random.chance(0.1) ? ModelProgram.Input.refuse(0) : .message(message))
    }

    private static func drawnMessage(_ random: inout SeededRandom) -> ModelProgram.Message {
        let id = UInt64(random.number(1 << 40...1 << 41))
        let works: [Work] = [.quick, .cursed, .streaming]
        return random.pick([
            .noted(id), .link(id, rest: random.number(0...3)), .ordered(id, random.pick(works), count: random.number(0...3)),
            .labelled(id, random.pick(works), .drawn(random.chance(0.5) ? .plain : .lanes, &random)),
            .cancelled(id, labelSpec: LabelSpec.number(in: .plain, &random)), .armed(id, .drawn(&random, hasSources: true)),
            .disarmed(id, timer: random.number(0...TimerSpec.places - 1)), .controlled(id, .drawn(&random)),
        ])
    }
}

extension Record {
    var isFollowUp: Bool { if case .followUp = origin { true } else { false } }
    fileprivate var isOfClient: Bool { if case .client = origin { true } else { false } }

    /// Whether it can be supposed that it never came: it is of no store, worker or session, and follows from no other turn.
    fileprivate var isRemovable: Bool {
        switch event {
        case .attemptFailed, .done, .dead, .requeued, .dropped, .controlled: true
        default: isReplaceable
        }
    }

    /// Whether something else could have come: an input, or a message.
    fileprivate var isReplaceable: Bool {
        switch event {
        case .applied, .streamed: !isFollowUp
        case .refused: isOfClient
        default: false
        }
    }
}
