import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// What would have been, as far as it is compared.
struct SupposedCourse {
    var state: ModelProgram.State
    var lost: Set<Int> = []
    var refused: [Int] = []
    var gained: [Int] = []
    /// Effects that this history orders in the turns that may differ, and the one that was does not, or otherwise.
    var ordered: [EffectID: [UInt8]] = [:]
    /// And the other way round.
    var missing: [EffectID: [UInt8]] = [:]
}

/// What would have been, computed from all records since the first with the program's own functions and the checker's books: the history that was
/// up to the first turn that may differ, from there on the rest of it, and then the other one.
struct OtherHistory {
    private(set) var course: SupposedCourse

    private let supposition: Supposition
    private let last: Int
    private var books: ReferenceModel
    private var isOther = false
    private var time = Timestamp(microseconds: 0)
    /// What the history orders that is computed now, and what the one that was has ordered.
    private var orders: [EffectID: [UInt8]] = [:]
    private var former: [EffectID: [UInt8]] = [:]
    /// The subscription that each firing was of.
    private var firings: [Int: (name: String, timer: TimerSpec)] = [:]
    private var inserted = 0

    /// - Parameters:
    ///   - records: all since the first.
    ///   - first: the first turn that may differ.
    init(_ records: ArraySlice<Record>, _ supposition: Supposition, from first: Int, like model: ReferenceModel) throws {
        self.supposition = supposition
        last = records.count
        books = ReferenceModel(timeline: model.timeline, secret: model.secret, viewBytes: model.state.viewBytes)
        course = SupposedCourse(state: books.state)
        let parting = records[max(1, first - 1)...].firstIndex { !$0.isFollowUp } ?? last
        try go(on: records[..<parting])
        (orders, firings) = ([:], [:])
        let (fork, moment) = (books, time)
        books = ReferenceModel(forkOf: fork)
        try go(on: records[parting...])
        (former, orders) = (orders, [:])
        (books, time, isOther) = (fork, moment, true)
        for turn in supposition.inserted.keys.sorted() where turn <= parting { try insert(behind: turn) }
        try go(on: records[parting...])
        course.state = books.state
        course.ordered = orders.filter { former[$0.key] != $0.value }
        course.missing = former.filter { orders[$0.key] != $0.value }
    }

    // MARK: Chains

    private mutating func go(on records: ArraySlice<Record>) throws {
        var index = records.startIndex
        while index < records.endIndex {
            let item = records[index]
            let end = records[(index + 1)...].firstIndex { !$0.isFollowUp } ?? records.endIndex
            let followUps = Array(records[index + 1..<end])
            time = item.time
            if try !take(item, followUps) { lose([item] + followUps) }
            if isOther { for turn in item.turn...item.turn + followUps.count { try insert(behind: turn) } }
            index = end
        }
    }

    private mutating func lose(_ records: [Record]) { for record in records { course.lost.insert(record.turn) } }

    private mutating func newNumber() -> Int {
        course.gained.append(last + course.gained.count + 1)
        return last + course.gained.count
    }

    private mutating func insert(behind turn: Int) throws {
        for input in supposition.inserted[turn] ?? [] {
            inserted += 1
            let origin = Origin.client(session: SessionID(high: 0, low: 0), sequence: inserted)
            try accept(input, self.turn(newNumber(), origin), [])
        }
    }

    private func turn(_ number: Int, _ origin: Origin, _ sender: Sender? = nil) -> Turn {
        Turn(number: number, now: time, origin: origin, sender: sender, secret: books.secret)
    }

    /// Whether the item comes.
    private mutating func take(_ item: Record, _ followUps: [Record]) throws -> Bool {
        if isOther, supposition.removed.contains(item.turn) { return false }
        let given = isOther ? supposition.replaced[item.turn] : nil
        switch item.event {
        case .started:
            guard item.turn == 1 else {
                books.timerOracle.returned(now: time)
                listen(turn: item.turn)
                return true
            }
            let turn = turn(1, .store)
            let next = try ModelProgram.start(ModelProgram.Seed(viewBytes: books.state.viewBytes), turn)
            books.state = next.state
            try follow(carryOut(next.command, of: turn), 1, followUps)
        case .applied(let message, _, let closes): return try take(item, message, given, closes: closes, followUps)
        case .streamed(let message, _, _): return try take(item, message, given, closes: false, followUps)
        case .refused: if let given { try accept(given, turn(item.turn, item.origin, item.sender), followUps) }
        case .attemptFailed(let id, _, _, _): return isSame(id) && books.open[id] != nil
        case .done(let id):
            guard isSame(id), books.open[id] != nil else { return false }
            books.close(id, turn: item.turn)
        case .dead(let id, _):
            guard isSame(id), books.open[id] != nil else { return false }
            books.bury(id, turn: item.turn)
        case .requeued(let id):
            guard isSame(id), books.dead[id] != nil else { return false }
            books.requeue(id, turn: item.turn, now: time)
        case .dropped(let id):
            guard isSame(id), books.open[id] != nil || books.dead[id] != nil else { return false }
            // The store drops what is requeued of a source that is not wanted. Here it is wanted, or was not requeued.
            if item.origin == .store {
                guard let open = books.open[id], books.isAbandoned(id, open) else { return true }
            }
            books.close(id, turn: item.turn)
            books.dropDead(id, turn: item.turn)
        case .controlled(let control): books.take(control, turn: item.turn, now: time)
        case .workerJoined, .workerLeft, .sessionExpired, .drained, .stateDigest, .quarantined, .divergenceAccepted: break
        }
        return true
    }

    /// Whether an effect that was ordered is ordered in the other history, too.
    private func isSame(_ id: EffectID) -> Bool { !isOther || orders[id] == former[id] }

    private mutating func take(
        _ item: Record, _ message: [UInt8], _ given: [UInt8]?, closes: Bool, _ followUps: [Record]
    ) throws -> Bool {
        switch item.origin {
        case .client:
            let turn = turn(item.turn, item.origin, item.sender)
            if let given { try accept(given, turn, followUps) } else { try apply(message, turn, followUps) }
            return true
        case .effect(let id, _, _):
            guard isSame(id), books.open[id] != nil else { return false }
            if closes { books.close(id, turn: item.turn) }
        case .failure(let id):
            guard isSame(id), books.open[id] != nil || !closes && books.dead[id] != nil else { return false }
            if closes { books.close(id, turn: item.turn) }
        // What it did about an effect is the turn before.
        case .operator: if isOther, course.lost.contains(item.turn - 1) { return false }
        case .subscription(let id, let nominal): return try fire(id, nominal, item, given, followUps)
        case .store, .followUp: break
        }
        try apply(given ?? message, turn(item.turn, item.origin, item.sender), followUps)
        return true
    }

    private mutating func fire(
        _ id: EffectID, _ nominal: Timestamp, _ item: Record, _ given: [UInt8]?, _ followUps: [Record]
    ) throws -> Bool {
        if !isOther, let name = books.timerOracle.activations.first(where: { $0.value.id == id })?.key {
            firings[item.turn] = books.timerOracle.activation(id).map { (name, $0.timer) }
        }
        guard let (name, timer) = firings[item.turn], let activation = books.timerOracle.activations[name] else { return false }
        var moment = nominal.microseconds
        if timer.kind.isLifecycle || activation.timer.kind.isLifecycle {
            guard timer.kind == activation.timer.kind else { return false }
        } else {
            guard let due = books.timerOracle.nominal(of: activation, now: time) else { return false }
            moment = due
            books.timerOracle.fired(activation.id, nominal: due)
        }
        let origin = Origin.subscription(activation.id, nominal: Timestamp(microseconds: moment))
        try apply(given ?? packed(activation.armed.message), turn(item.turn, origin), followUps)
        return true
    }

    // MARK: The program

    private mutating func accept(_ input: [UInt8], _ turn: Turn, _ followUps: [Record]) throws {
        let input = try MessagePackDecoder().decode(ModelProgram.Input.self, from: input)
        let message: ModelProgram.Message
        do throws(ModelProgram.Refusal) {
            message = try ModelProgram.accept(input, books.state, turn)
        } catch {
            course.refused.append(turn.number)
            return lose(followUps)
        }
        try apply(packed(message), turn, followUps)
    }

    private mutating func apply(_ message: [UInt8], _ turn: Turn, _ followUps: [Record]) throws {
        try follow(update(message, turn), turn.number, followUps)
    }

    private mutating func update(_ message: [UInt8], _ turn: Turn) throws -> [(message: [UInt8], cause: Int)] {
        let message = try MessagePackDecoder().decode(ModelProgram.Message.self, from: message)
        return carryOut(ModelProgram.update(&books.state, message, turn), of: turn)
    }

    private mutating func follow(_ first: [(message: [UInt8], cause: Int)], _ number: Int, _ followUps: [Record]) throws {
        var (queue, left, head) = (first, followUps, number)
        while !queue.isEmpty {
            let (message, cause) = queue.removeFirst()
            let place = left.firstIndex { record in
                guard case .applied(message, _, _) = record.event else { return false }
                return record.origin == .followUp(of: cause)
            }
            head = place.map { left.remove(at: $0).turn } ?? newNumber()
            queue += try update(message, turn(head, .followUp(of: cause)))
        }
        lose(left)
        listen(turn: head)
    }

    /// Sources that begin are ordered, too.
    private mutating func listen(turn: Int) {
        orders.merge(books.listen(turn: turn, now: time)) { _, new in new }
    }

    /// Returns the follow-ups, and the turn that orders them.
    private mutating func carryOut(_ command: Command<ModelProgram>, of turn: Turn) -> [(message: [UInt8], cause: Int)] {
        for (ordinal, order) in command.enumerated() {
            if case .run(let effect, _) = order { orders[EffectID(turn: turn.number, ordinal: ordinal)] = packed(effect) }
        }
        books.take(command, of: turn, root: turn.number)
        defer { books.announced = [] }
        return books.announced.map { ($0.message, turn.number) }
    }
}

extension WhatIf {
    /// What a machine says otherwise than a history that was computed from its beginning, in words.
    func differences(from other: SupposedCourse, was: ModelProgram.State) throws -> [String] {
        let lostTurns = Set(lost.elements.map(\.record.turn))
        let differences = [
            ("the state that was", states.was == packed(was)), ("its view", views.was == packed(ModelProgram.view(was))),
            ("the state that would be", states.wouldBe == packed(other.state)),
            ("its view", views.wouldBe == packed(ModelProgram.view(other.state))),
            ("turns that fall away: \(lostTurns.sorted()), not \(other.lost.sorted())", lostTurns == other.lost),
            ("a turn that falls away twice", lostTurns.count == lost.count),
            ("turns that come: \(gained.elements.map(\.turn)), not \(other.gained)", gained.elements.map(\.turn) == other.gained),
            (
                "refusals: \(refusals.elements.map(\.turn)), not \(other.refused)",
                refusals.elements.map(\.turn) == other.refused
            ),
            ("effects that are ordered", Self.payloads(ordered) == other.ordered),
            ("effects that are missing", Self.payloads(missing) == other.missing),
        ]
        return differences.filter { !$0.1 }.map(\.0)
    }

    private static func payloads(_ orders: List<Order>) -> [EffectID: [UInt8]] {
        Dictionary(orders.elements.map { ($0.id, $0.payload) }, uniquingKeysWith: { first, _ in first })
    }
}
