import SamovarCore
import SamovarWire

/// The kind of a record and who caused it, in one byte: five bits for its number in the journal, and three.
struct TurnMark: Equatable {
    typealias Kind = Record.Event.Kind

    /// Who caused it, without the details.
    enum Source: UInt8, CaseIterable {
        case store, client, effect, failure, followUp, `operator`, subscription
    }

    private let byte: UInt8

    init(_ kind: Kind, _ source: Source) {
        byte = UInt8(kind.rawValue) << 3 | source.rawValue
    }

    init(of record: Record) {
        self.init(record.event.kind, Source(of: record.origin))
    }

    // What a byte holds was a kind and a source.
    var kind: Kind { Kind(rawValue: Int(byte >> 3)) ?? .applied }
    var source: Source { Source(rawValue: byte & 7) ?? .store }
}

extension Record.Event.Kind {
    /// Whether something went wrong that is no answer to an input.
    var isFailure: Bool {
        switch self {
        case .attemptFailed, .dead, .quarantined: true
        default: false
        }
    }
}

extension TurnMark.Source {
    init(of origin: Origin) {
        self =
            switch origin {
            case .store: .store
            case .client: .client
            case .effect: .effect
            case .failure: .failure
            case .followUp: .followUp
            case .operator: .operator
            case .subscription: .subscription
            }
    }
}

extension Record {
    /// The turn that it follows from; nil if it comes from outside.
    var causeTurn: Int? {
        switch origin {
        case .followUp(let turn): turn
        case .effect(let effect, _, _), .failure(let effect): effect.turn
        case .store, .client, .operator, .subscription: nil
        }
    }
}

/// Which turns are looked for.
struct TurnFilter: Equatable {
    var kind: TurnMark.Kind?
    var source: TurnMark.Source?
    /// Of the chain that this turn began.
    var root: Int?
    /// Stands in the message or what else the record holds, as JSON shows it; whatever the case of its letters.
    var text: String?

    /// Whether any record may have to be read to know.
    var needsRecords: Bool { root != nil || text != nil }
    var isEmpty: Bool { self == TurnFilter() }

    func matches(_ mark: TurnMark) -> Bool {
        (kind == nil || kind == mark.kind) && (source == nil || source == mark.source)
    }

    func matches(_ record: Record) -> Bool {
        guard matches(TurnMark(of: record)), root == nil || root == record.root else { return false }
        return text.map { TurnText.holds($0, record) } ?? true
    }

    /// Of the turns of a block that lie in a range: those that may match, oldest first.
    func candidates(in block: TurnIndex.Block, _ turns: ClosedRange<Int>) -> [Int] {
        if let root, !block.mayHold(chainOf: root) { return [] }
        guard turns.overlaps(block.first...block.last) else { return [] }
        return turns.clamped(to: block.first...block.last).filter { matches(block[$0]) && $0 >= root ?? 0 }
    }
}
