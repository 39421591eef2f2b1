import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// `whatif` against those who compute the other history from its beginning, on journals made at random.
@Suite struct WhatIfRandomTests {
    /// Fixed ones, and one that nobody has seen.
    static let seeds: [UInt64] = [1, 2, 3, .random(in: 0...UInt64.max)]

    @Test(arguments: seeds)
    func `What would have been is what the program makes of the other history from its beginning`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        var seen = (lost: 0, gained: 0, refused: 0, ordered: 0, missing: 0)
        // Refusals are rare: some seeds need more rounds than others to show enough of them.
        for round in 0..<1_000 where round < 250 || seen.refused <= 5 {
            let records = try MillJournal(&random, items: .random(in: 0...40, using: &random)).records
            let last = Self.ends(of: records).randomElement(using: &random) ?? 2
            let supposition = Self.supposition(&random, records.filter { $0.turn <= last })
            let place: Comment = "seed \(seed), round \(round): \(supposition) through \(last)"
            let naive = try NaiveWhatIf(records, supposition, through: last)
            let found = try whatIf(records, supposition, through: last, &random)
            #expect(try unpacked(Mill.State.self, found.states.was) == naive.was.state, place)
            #expect(try unpacked(Mill.State.self, found.states.wouldBe) == naive.wouldBe.state, place)
            #expect(Set(found.lost.elements.map(\.record.turn)) == naive.lost, place)
            #expect(found.lost.count == naive.lost.count, place)
            #expect(found.gained.elements.map(\.turn) == naive.gained, place)
            #expect(found.refusals.elements.map(\.turn) == naive.refused, place)
            #expect(try Self.jobs(found.ordered) == Self.missing(in: naive.was, of: naive.wouldBe), place)
            #expect(try Self.jobs(found.missing) == Self.missing(in: naive.wouldBe, of: naive.was), place)
            seen.lost += naive.lost.count
            seen.gained += naive.gained.count
            seen.refused += naive.refused.count
            seen.ordered += found.ordered.count
            seen.missing += found.missing.count
        }
        // Else the journals would prove little.
        #expect(seen.lost > 100 && seen.gained > 100 && seen.refused > 5 && seen.ordered > 50 && seen.missing > 50, "\(seen)")
    }

    @Test(arguments: seeds)
    func `If nothing was otherwise, everything is as it was`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        for round in 0..<100 {
            let records = try MillJournal(&random, items: 40).records
            let found = try whatIf(records, Supposition(), through: records.count, &random)
            let place: Comment = "seed \(seed), round \(round)"
            #expect(found.states.was == found.states.wouldBe && found.views.was == found.views.wouldBe, place)
            #expect(found.lost.count + found.gained.count + found.refusals.count == 0, place)
            #expect(found.ordered.count + found.missing.count == 0, place)
        }
    }

    /// An answer may take what `accept` lets no input take: the timer that follows has a period all the same.
    @Test func `An answer that leaves less than nothing has timers that fire`() throws {
        let journal = try MillJournal()
        try journal.send(.grind("a"))
        try journal.answer(#require(journal.open.first).id, ["a"])
        let answer = try #require(journal.records.last).turn
        try journal.send(.time("t", 1))
        journal.wait(.seconds(3))
        try journal.fire()
        var random = Random(seed: 1)
        let (records, last) = (journal.records, journal.records.count)
        let supposition = Supposition(replaced: [answer: packed(Mill.Message.pour(-3))])
        let found = try whatIf(records, supposition, through: last, &random)
        let naive = try NaiveWhatIf(records, supposition, through: last)
        #expect(naive.wouldBe.state.grain == 0 && naive.was.state.grain == 3)
        #expect(try unpacked(Mill.State.self, found.states.wouldBe) == naive.wouldBe.state)
    }

    /// Turns with which a chain ends.
    private static func ends(of records: [Record]) -> [Int] {
        let starts = records.filter { if case .followUp = $0.origin { false } else { true } }
        return starts.dropFirst().map { $0.turn - 1 } + [records.count]
    }

    private static func supposition(_ random: inout Random, _ records: [Record]) -> Supposition {
        var supposition = Supposition()
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard let record = records.randomElement(using: &random) else { continue }
            let turn = record.turn
            let message = packed(Self.message(&random))
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                if Supposition(removed: [turn]).objection(to: record) == nil, supposition.replaced[turn] == nil {
                    supposition.removed.insert(turn)
                }
            case 1:
                if Supposition(replaced: [turn: message]).objection(to: record) == nil, !supposition.removed.contains(turn) {
                    supposition.replaced[turn] = message
                }
            default: supposition.inserted[turn, default: []].append(message)
            }
        }
        return supposition
    }

    private static func message(_ random: inout Random) -> Mill.Message {
        let messages: [Mill.Message] = [
            .pour(.random(in: -4...4, using: &random)), .grind("a"), .grind("long"), .stop("long"), .time("t", 2), .watch("x"),
            .echo("new", 2), .flour("new"),
        ]
        return messages.randomElement(using: &random) ?? .pour(1)
    }

    private static func jobs(_ list: WhatIf.List<WhatIf.Order>) throws -> [EffectID: Mill.Job] {
        try Dictionary(uniqueKeysWithValues: list.elements.map { ($0.id, try unpacked(Mill.Job.self, $0.payload)) })
    }

    private static func missing(in a: NaiveWhatIf.History, of b: NaiveWhatIf.History) -> [EffectID: Mill.Job] {
        b.ordered.filter { a.ordered[$0.key] != $0.value }
    }
}

/// Has a machine read the records, in one batch or from a snapshot on.
func whatIf(
    _ records: [Record], _ supposition: Supposition, through last: Int, _ random: inout Random
) throws -> WhatIf {
    let machine = WhatIfMachine(supposition, through: last) { TypedEngine(Mill.self, secret: millSecret) }
    // What it forgets makes no difference.
    if Bool.random(using: &random) { machine.remembered = 0 }
    var from = 0
    if let first = supposition.first, first > 2, Bool.random(using: &random) {
        if let snapshot = try snapshot(of: records, at: .random(in: 1..<first, using: &random)) {
            try machine.restore(snapshot: snapshot)
            from = machine.turn
        }
    }
    for record in records where record.turn > from && record.turn <= last { try machine.take(record) }
    return try machine.finish()
}

/// What a store would have kept of the chains up to a turn; nil before the first is over.
private func snapshot(of records: [Record], at turn: Int) throws -> [UInt8]? {
    var state = StoreState(engine: TypedEngine(Mill.self, secret: millSecret), window: 100)
    let log = SharedLog(ofReplayAfter: 0)
    var snapshot: [UInt8]?
    for record in records where record.turn <= turn + 1 {
        if case .followUp = record.origin {} else if record.turn > 1 { snapshot = try state.snapshot() }
        if record.turn <= turn { try state.replay(record, log: log) }
    }
    return snapshot
}
