import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// `whatif`, item by item.
@Suite struct WhatIfMachineTests {
    private func whatIf(_ journal: MillJournal, _ supposition: Supposition, through last: Int? = nil) throws -> WhatIf {
        var random = Random(seed: 1)
        return try SamovarStoreTests.whatIf(journal.records, supposition, through: last ?? journal.records.count, &random)
    }

    private func state(_ result: WhatIf) throws -> Mill.State { try unpacked(Mill.State.self, result.states.wouldBe) }

    private func reasons(_ result: WhatIf) -> [Int: WhatIf.Reason] {
        Dictionary(uniqueKeysWithValues: result.lost.elements.map { ($0.record.turn, $0.reason) })
    }

    private func pour(_ amount: Int) -> [UInt8] { packed(Mill.Message.pour(amount)) }

    /// Turns 1 and 2 are the start, with 2 of grain, and its echo; turn 3 orders an effect with the grain of then.
    private func ground(_ first: Mill.Message? = nil) throws -> MillJournal {
        let journal = try MillJournal()
        if let first { try journal.send(first) }
        try journal.send(.grind("a"))
        return journal
    }

    @Test func `What a store would have ended with ends the supposition, without follow-ups, too`() throws {
        let journal = try MillJournal()
        let machine = WhatIfMachine(Supposition(inserted: [2: [packed(Mill.Message.grind("a"))]]), through: 2) {
            TypedEngine(Mill.self, secret: millSecret, limits: GroupLimits(effects: 0))
        }
        #expect(throws: GroupLimit.self) {
            for record in journal.records { try machine.take(record) }
            _ = try machine.finish()
        }
    }

    @Test func `An effect that is supposed may be as large as a store lets it be, and no larger`() throws {
        let journal = try MillJournal()
        func suppose(_ letters: Int) throws -> WhatIf {
            let message = packed(Mill.Message.grind(String(repeating: "a", count: letters)))
            let machine = WhatIfMachine(Supposition(inserted: [2: [message]]), through: 2) {
                TypedEngine(Mill.self, secret: millSecret, limits: GroupLimits(effectBytes: 1_000))
            }
            for record in journal.records { try machine.take(record) }
            return try machine.finish()
        }
        #expect(try suppose(100).ordered.count == 1)
        #expect(throws: GroupLimit.self) { try suppose(2_000) }
    }

    @Test func `A chain that is supposed may have as many turns as a store lets it have, and no more`() throws {
        let journal = try MillJournal()
        func suppose(turns: Int) throws -> WhatIf {
            let machine = WhatIfMachine(Supposition(inserted: [2: [packed(Mill.Message.echo("a", turns))]]), through: 2) {
                TypedEngine(Mill.self, secret: millSecret, limits: GroupLimits(turns: 3))
            }
            for record in journal.records { try machine.take(record) }
            return try machine.finish()
        }
        #expect(try suppose(turns: 3).gained.count == 3)
        #expect(throws: GroupLimit.turns(3, root: 3)) { try suppose(turns: 4) }
    }

    @Test func `The follow-ups that are supposed may take as many bytes as a store lets a group take, and no more`() throws {
        let journal = try MillJournal()
        func suppose(letters: Int) throws -> WhatIf {
            let message = packed(Mill.Message.echo(String(repeating: "a", count: letters), 3))
            let machine = WhatIfMachine(Supposition(inserted: [2: [message]]), through: 2) {
                TypedEngine(Mill.self, secret: millSecret, limits: GroupLimits(bytes: 1_000))
            }
            for record in journal.records { try machine.take(record) }
            return try machine.finish()
        }
        // Two follow-ups of so many letters each.
        #expect(try suppose(letters: 400).gained.count == 3)
        #expect(throws: GroupLimit.bytes(1_000, root: 3)) { try suppose(letters: 600) }
    }

    @Test func `As many effects as a store would allow in one group may be supposed`() throws {
        let journal = try MillJournal()
        let machine = WhatIfMachine(Supposition(inserted: [2: [packed(Mill.Message.grind("a"))]]), through: 2) {
            TypedEngine(Mill.self, secret: millSecret, limits: GroupLimits(effects: 1))
        }
        for record in journal.records { try machine.take(record) }
        let result = try machine.finish()
        #expect(result.ordered.count == 1)
    }

    @Test func `An input that is removed takes its follow-ups along, and those behind keep their numbers`() throws {
        let journal = try MillJournal()
        try journal.send(.pour(8))
        try journal.send(.echo("behind", 1))
        #expect(journal.records.map(\.turn) == [1, 2, 3, 4, 5])
        let result = try whatIf(journal, Supposition(removed: [3]))
        #expect(reasons(result) == [3: .removed, 4: .notOrdered(by: 3)])
        #expect(try state(result).grain == 2)
        #expect(try state(result).dice == unpacked(Mill.State.self, result.states.was).dice)
        #expect(result.gained.count == 0 && result.refusals.count == 0)
    }

    @Test func `An answer counts if its effect is the same, and falls away if it is another one or none`() throws {
        let journal = try ground(.pour(3))
        let effect = try #require(journal.open.first?.id)
        try journal.answer(effect, ["flour"])
        let answer = journal.records.count
        let same = try whatIf(journal, Supposition(replaced: [3: pour(6)]))
        #expect(reasons(same)[answer] == nil && same.ordered.elements.allSatisfy { $0.id != effect })
        #expect(same.assumptions.contains(.answers(1)))
        let other = try whatIf(journal, Supposition(replaced: [3: pour(1)]))
        #expect(reasons(other)[answer] == .ofAnotherEffect(effect))
        #expect(other.ordered.elements.contains(WhatIf.Order(id: effect, payload: packed(Mill.Job(name: "a", grain: 0)))))
        #expect(other.missing.elements.contains(WhatIf.Order(id: effect, payload: packed(Mill.Job(name: "a", grain: 2)))))
        #expect(other.assumptions == [.open(other.ordered.count)])
        let none = try whatIf(journal, Supposition(removed: [effect.turn]))
        #expect(reasons(none)[answer] == .withoutEffect(effect))
        #expect(try state(none).done.isEmpty)
    }

    @Test func `Effects that are closed in both histories are not remembered`() throws {
        let journal = try MillJournal()
        var orders: Set<Int> = []
        for _ in 0..<100 {
            orders.insert(journal.records.count + 1)
            try journal.send(.grind("a"))
            for effect in journal.open { try journal.answer(effect.id, []) }
        }
        let machine = WhatIfMachine(Supposition(removed: orders), through: journal.records.count) {
            TypedEngine(Mill.self, secret: millSecret)
        }
        machine.remembered = 10
        var most = 0
        for record in journal.records {
            try machine.take(record)
            most = max(most, machine.differing)
        }
        #expect(try machine.finish().missing.count >= 100)
        #expect((5...11).contains(most), "\(most)")
    }

    @Test func `What the store has dropped of a source that nobody wanted stays where it would be wanted`() throws {
        let journal = try MillJournal()
        try journal.send(.watch("d"))
        let source = try #require(journal.open.first { $0.isSource }?.id)
        try journal.fail(source)
        try journal.send(.watch(""))
        let unwatched = journal.records.count
        journal.write(.requeued(source), origin: .operator)
        journal.write(.dropped(source))
        journal.write(.attemptFailed(source, .threw, "no", notBefore: at(200)))
        try journal.send(.echo("behind", 1))
        let wanted = try whatIf(journal, Supposition(removed: [unwatched]))
        #expect(reasons(wanted) == [unwatched: .removed])
        let unwanted = try whatIf(journal, Supposition(inserted: [unwatched: [packed(Mill.Message.echo("more", 1))]]))
        #expect(reasons(unwanted) == [unwatched + 3: .ofClosedEffect(source)])
        #expect(unwanted.assumptions.contains(.requests(1)), "of an operator is the requeue alone")
    }

    @Test func `What the build of a journal did not cancel stays dead in the history that was`() throws {
        // One whose cancellations did not reach the dead.
        let journal = try MillJournal(by: "mill")
        try journal.send(.grind("dusty"))
        let effect = try #require(journal.open.first?.id)
        try journal.fail(effect)
        try journal.send(.stop("dusty"))
        #expect(journal.dead == [effect])
        try journal.operate(effect, requeues: true)
        let machine = WhatIfMachine(Supposition(removed: [effect.turn]), through: journal.records.count) {
            TypedEngine(Mill.self, secret: millSecret)
        }
        for record in journal.records {
            // Whatever neither history has any more is forgotten at once.
            machine.remembered = 0
            try machine.take(record)
        }
        let lost = reasons(try machine.finish())
        #expect(lost == [3: .removed, 4: .withoutEffect(effect), 6: .withoutEffect(effect)])
    }

    @Test func `What the store has dropped of a source that nobody wanted stays dead where it was not requeued`() throws {
        let journal = try MillJournal()
        try journal.send(.watch("d"))
        let source = try #require(journal.open.first { $0.isSource }?.id)
        try journal.fail(source)
        try journal.send(.watch(""))
        let requeue = journal.records.count + 1
        try journal.send(.revive)
        journal.write(.dropped(source))
        journal.write(.requeued(source), origin: .operator)
        try journal.send(.echo("behind", 1))
        let without = Supposition(removed: [requeue])
        #expect(reasons(try whatIf(journal, without)) == [requeue: .removed])
        let naive = try NaiveWhatIf(journal.records, without, through: requeue + 1).wouldBe
        #expect(naive.dead[source] != nil && naive.open[source] == nil)
        let alike = Supposition(inserted: [requeue - 1: [packed(Mill.Message.echo("more", 1))]])
        #expect(reasons(try whatIf(journal, alike)) == [requeue + 2: .ofClosedEffect(source)])
        let naiveAlike = try NaiveWhatIf(journal.records, alike, through: requeue + 1).wouldBe
        #expect(naiveAlike.dead[source] == nil && naiveAlike.open[source] == nil)
    }

    @Test func `An answer falls away if its effect was cancelled before`() throws {
        let journal = try MillJournal()
        try journal.send(.grind("long"))
        let effect = try #require(journal.open.first?.id)
        try journal.answer(effect, ["flour"])
        let result = try whatIf(journal, Supposition(inserted: [effect.turn: [packed(Mill.Message.stop("long"))]]))
        #expect(reasons(result) == [journal.records.count: .ofClosedEffect(effect)])
    }

    @Test func `An input goes through accept again, and may be refused now`() throws {
        let journal = try MillJournal()
        try journal.send(.pour(5))
        let second = journal.records.count + 1
        try journal.send(.pour(-6))
        let result = try whatIf(journal, Supposition(removed: [3]))
        let verdict = Outcome.Verdict(refusal: packed(Mill.Refusal.empty(2)))
        #expect(result.refusals.elements == [WhatIf.Refusal(turn: second, verdict: verdict)])
        #expect(try state(result).grain == 2)
    }

    @Test func `An input that was refused stays so, unless another one came instead`() throws {
        let journal = try MillJournal()
        try journal.send(.pour(-3))
        #expect(try whatIf(journal, Supposition(inserted: [2: [pour(5)]])).assumptions == [.refusedInputs(1)])
        let result = try whatIf(journal, Supposition(replaced: [3: pour(-1)]))
        #expect(try state(result).grain == 1 && result.refusals.count == 0)
    }

    @Test func `What is inserted is numbered behind the last turn, and shifts nobody`() throws {
        let journal = try MillJournal()
        try journal.send(.echo("behind", 1))
        let result = try whatIf(journal, Supposition(inserted: [1: [pour(1), pour(3)]]))
        #expect(
            result.gained.elements == [
                WhatIf.Gained(turn: 4, cause: .inserted(after: 1), content: pour(1)),
                WhatIf.Gained(turn: 5, cause: .followUp(of: 4), content: packed(Mill.Message.echo("third", 2))),
                WhatIf.Gained(turn: 6, cause: .followUp(of: 5), content: packed(Mill.Message.echo("third", 1))),
                WhatIf.Gained(turn: 7, cause: .inserted(after: 1), content: pour(3)),
                WhatIf.Gained(turn: 8, cause: .followUp(of: 7), content: packed(Mill.Message.echo("even", 1))),
                WhatIf.Gained(turn: 9, cause: .followUp(of: 7), content: packed(Mill.Message.echo("third", 2))),
                WhatIf.Gained(turn: 10, cause: .followUp(of: 9), content: packed(Mill.Message.echo("third", 1))),
            ])
        #expect(try state(result).dice == unpacked(Mill.State.self, result.states.was).dice)
        // Behind the last turn it is what would come next.
        let next = try whatIf(journal, Supposition(inserted: [3: [packed(Mill.Message.echo("next", 1))]]))
        try journal.send(.echo("next", 1))
        #expect(try state(next) == unpacked(Mill.State.self, whatIf(journal, Supposition()).states.was))
    }

    @Test func `A timer fires if its subscription is there and due, and no timer fires that did not`() throws {
        let journal = try MillJournal()
        try journal.send(.time("t", 2))
        journal.wait(.seconds(3))
        try journal.fire()
        let firing = journal.records.count
        #expect(reasons(try whatIf(journal, Supposition(removed: [3]))) == [3: .removed, firing: .notDue("t")])
        let slower = try whatIf(journal, Supposition(replaced: [3: packed(Mill.Message.time("t", 9))]))
        #expect(reasons(slower) == [firing: .notDue("t")])
        let other = try whatIf(journal, Supposition(replaced: [3: packed(Mill.Message.time("u", 1))]))
        #expect(other.assumptions == [.due("u", at(101))])
    }

    @Test func `What cannot be supposed is said with the turn`() throws {
        let journal = try ground(.pour(2))
        let cases: [(Supposition, String)] = [
            (Supposition(removed: [4]), "turn 4: it follows from turn 3, and is derived again: change that one"),
            (Supposition(removed: [1]), "turn 1: it is no input and no message (started): it cannot be removed"),
            (Supposition(removed: [3], replaced: [3: pour(1)]), "turn 3: it cannot be both removed and replaced"),
        ]
        for (supposition, words) in cases {
            #expect { try whatIf(journal, supposition) } throws: { "\($0)" == words }
        }
        for given in [Supposition(replaced: [3: [0xc0]]), Supposition(inserted: [3: [[0xc0]]])] {
            #expect { try whatIf(journal, given) } throws: {
                "\($0)".contains(": what shall come there is no input of this program: ")
            }
        }
    }

    @Test func `A list is cut, and counts on`() {
        var list = WhatIf.List<Int>()
        for number in 0..<WhatIf.listed + 5 { list.append(number) }
        #expect(list.count == 1_005 && list.elements.count == 1_000)
    }
}
