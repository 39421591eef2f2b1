import MessagePack
public import SamovarCore
import SamovarWire

/// Lets the items of a capsule happen again, all of them or some, to the program as it is now.
///
/// Nothing is compared with what the journal says: the program may have been mended since. An item keeps its number, its time and its origin, and
/// follow-ups are what `update` orders now, with the numbers that they had, and beyond those with numbers behind the last one. An item whose cause is
/// gone falls away: the answer of an effect that is not open, and the firing of a subscription that is not wanted. Messages of clients and operators
/// are taken as they were accepted.
///
/// Of the effects that were open before the first turn nothing is known but their numbers: they are open until they are answered. Of the others, those
/// of which no item tells are as if they had not been ordered: one that a policy has passed over, because another was open before, must not stand in
/// the way of a later one.
public struct CapsuleReplay<P: Program> {
    /// What the items came to.
    public struct Outcome {
        public let state: P.State
        /// The names of the invariants that were broken after any of the turns, in the program's order.
        public let broken: [String]
        /// The places of the items that did not fall away.
        public let taken: [Int]
        /// A digest of each effect that was ordered.
        public let orders: [EffectID: UInt64]
    }

    /// Turns that may follow from one item, as in a store.
    private static var maximumTurns: Int { GroupLimits.default.turns }

    private let content: CapsuleContent
    private let messages: [P.Message?]
    private let begin: P.State?
    /// Effects of which an item tells.
    private let told: Set<EffectID>
    private let encoder = MessagePackEncoder(recording: .default)

    /// - Throws: `CapsuleError` if it is a capsule of another program, or of another version of its types.
    public init(_ content: CapsuleContent, of program: P.Type = P.self) throws(CapsuleError) {
        guard content.schema == P.schema else {
            throw CapsuleError("it is a capsule of \(content.schema); this program is \(P.schema)")
        }
        self.content = content
        let decoder = MessagePackDecoder(limits: .state, lenient: true, refusingUnknownFields: false)
        func decode<Value: Decodable>(_ bytes: [UInt8], _ what: String) throws(CapsuleError) -> Value {
            do {
                return try decoder.decode(Value.self, from: bytes)
            } catch {
                throw CapsuleError("\(what) cannot be read: \(describe(decodingFailure: error, of: Value.self))")
            }
        }
        begin = content.turn == 0 ? nil : try decode(content.state, "the state after turn \(content.turn)")
        var messages: [P.Message?] = []
        for item in content.items {
            switch item.record.event {
            case .applied(let message, _, _), .streamed(let message, _, _):
                messages.append(try decode(message, "the message of turn \(item.record.turn)"))
            default: messages.append(nil)
            }
        }
        self.messages = messages
        told = Set(content.items.compactMap(\.record.effect))
    }

    /// - Parameters:
    ///   - places: of the items; nil for all.
    ///   - orders: an effect that is ordered now and has another digest there is another effect, whose answer falls away.
    /// - Throws: `CapsuleError` if a chain of follow-ups has no end, or the program refuses its seed.
    public func run(_ places: [Int]? = nil, matching orders: [EffectID: UInt64]? = nil) throws(CapsuleError) -> Outcome {
        var run = Run(state: begin, known: content.turn, next: content.last, former: orders, told: told)
        for place in places ?? Array(content.items.indices) {
            let item = content.items[place]
            guard run.isCaused(item.record, messages[place]) else { continue }
            run.taken.append(place)
            try take(item, messages[place], &run)
        }
        guard let state = run.state else { throw CapsuleError("it has no state, and no turn that begins one") }
        let names = run.invariants.filter(\.isBroken).map(\.invariant.name)
        return Outcome(state: state, broken: names, taken: run.taken, orders: run.orders)
    }

    private func take(_ item: CapsuleContent.Item, _ message: P.Message?, _ run: inout Run) throws(CapsuleError) {
        let record = item.record
        var turn = Turn(
            number: record.turn, now: record.time, origin: record.origin, sender: record.sender, secret: content.secret)
        run.note(record)
        if let message {
            try run.update(message, turn, encoder)
        } else if case .started(_, _, _, let seed) = record.event {
            try run.start(seed, turn, encoder)
        }
        var count = 0
        while let (message, cause) = run.followUps.first {
            run.followUps.removeFirst()
            count += 1
            guard count < Self.maximumTurns else {
                throw CapsuleError("more than \(Self.maximumTurns) turns follow from turn \(record.turn)")
            }
            if count > item.followUps { run.next += 1 }
            turn = Turn(
                number: count > item.followUps ? run.next : record.turn + count, now: record.time, origin: .followUp(of: cause),
                secret: content.secret)
            try run.update(message, turn, encoder)
        }
    }
}

/// One run through the items.
extension CapsuleReplay {
    private struct Run {
        var state: P.State?
        /// Effects up to this turn were ordered before.
        let known: Int
        /// The number of the newest follow-up that never was.
        var next: Int
        let former: [EffectID: UInt64]?
        let told: Set<EffectID>
        var ledger = EffectLedger()
        /// Effects that were ordered before and are closed.
        var closed: Set<EffectID> = []
        var orders: [EffectID: UInt64] = [:]
        var followUps: [(message: P.Message, of: Int)] = []
        var taken: [Int] = []
        var invariants = P.invariants.map { (invariant: $0, isBroken: false) }

        /// Whether that from which a record comes is there.
        func isCaused(_ record: Record, _ message: P.Message?) -> Bool {
            if let effect = record.effect { return isKept(effect) }
            if case .subscription = record.origin { return isWanted(message) }
            return true
        }

        /// Whether an effect is open or dead, and the one that it was.
        private func isKept(_ effect: EffectID) -> Bool {
            if effect.ordinal >= SubscriptionTable.firstSource {
                return wanted.contains { if case .source = $0.event { true } else { false } }
            }
            if effect.turn <= known { return !closed.contains(effect) }
            guard ledger.isKept(effect) else { return false }
            return former == nil || former?[effect] == orders[effect]
        }

        private func isWanted(_ message: P.Message?) -> Bool {
            wanted.contains { subscription in
                switch subscription.event {
                case .timer(_, let wanted), .lifecycle(_, let wanted): wanted == message
                case .source: false
                }
            }
        }

        private var wanted: [Subscription<P>] { state.map(P.subscriptions) ?? [] }

        /// What a record is for the effect that it is about, before what its turn orders.
        mutating func note(_ record: Record) {
            let place = EffectID(turn: record.turn, ordinal: 0)
            switch (record.event, record.origin) {
            case (.applied(_, _, closes: true), .effect(let effect, _, _)), (.applied(_, _, closes: true), .failure(let effect)),
                (.done(let effect), _):
                close(effect)
            case (.dead(let effect, let failure), _): ledger.bury(effect, failure)
            case (.quarantined(let text), .effect(let effect, _, _)), (.quarantined(let text), .failure(let effect)):
                ledger.bury(effect, Failure(reason: .unhandled, text: text, attempts: 1))
            case (.requeued(let effect), _): ledger.requeue(effect, by: place, now: record.time)
            case (.dropped(let effect), _):
                close(effect)
                ledger.drop(effect)
            case (.controlled(let control), _): ledger.take(control, at: place, now: record.time)
            case (.divergenceAccepted(let turn, _, _), _): ledger.park(orderedBy: turn, "it orders something else")
            default: break
            }
            ledger.forgetChanges()
        }

        private mutating func close(_ effect: EffectID) {
            if effect.turn <= known { closed.insert(effect) } else { ledger.close(effect) }
        }

        mutating func start(_ seed: [UInt8], _ turn: Turn, _ encoder: MessagePackEncoder) throws(CapsuleError) {
            do {
                let decoder = MessagePackDecoder(lenient: true, refusingUnknownFields: false)
                let next = try P.start(try decoder.decode(P.Seed.self, from: seed), turn)
                state = next.state
                try carryOut(next.command, of: turn, encoder)
            } catch let error as CapsuleError {
                throw error
            } catch {
                throw CapsuleError("the program does not start: \(error)")
            }
        }

        mutating func update(_ message: P.Message, _ turn: Turn, _ encoder: MessagePackEncoder) throws(CapsuleError) {
            guard var state else { throw CapsuleError("turn \(turn.number) comes before the program has started") }
            // In place: a second reference would have it copied.
            self.state = nil
            let command = P.update(&state, message, turn)
            self.state = state
            try carryOut(command, of: turn, encoder)
        }

        private mutating func carryOut(
            _ command: Command<P>, of turn: Turn, _ encoder: MessagePackEncoder
        ) throws(CapsuleError) {
            for (ordinal, order) in command.enumerated() {
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                switch order {
                case .run(let effect, let options):
                    let payload: [UInt8]
                    do {
                        payload = try encoder.encode(effect)
                    } catch {
                        throw CapsuleError("effect \(id) cannot be encoded: \(error)")
                    }
                    orders[id] = KeyedHash.of(payload)
                    guard told.contains(id) else { continue }
                    ledger.order(OpenEffect(id: id, root: turn.number, options: options, payload: payload, now: turn.now))
                case .then(let message): followUps.append((message, turn.number))
                case .cancel(let label): ledger.cancel(label)
                case .control(let control): ledger.take(control, at: id, now: turn.now)
                case .emit: break
                }
            }
            ledger.forgetChanges()
            for place in invariants.indices where !invariants[place].isBroken {
                if let state, !invariants[place].invariant.holds(state) { invariants[place].isBroken = true }
            }
        }
    }
}
