import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What the ledger tells of effects that may be handed out.
@Suite struct EffectLedgerTests {
    private func effect(_ turn: Int, root: Int, _ options: RunOptions = RunOptions()) -> OpenEffect {
        OpenEffect(
            id: EffectID(turn: turn, ordinal: 0), root: root, options: options, payload: [0x01], now: Timestamp(microseconds: 7))
    }

    @Test func `Only an effect that nothing can have closed since is handed out without another look`() {
        var ledger = EffectLedger()
        ledger.order(effect(1, root: 1))
        ledger.order(effect(2, root: 1, RunOptions(id: "label")))
        ledger.order(effect(3, root: 1, RunOptions(delay: .seconds(1))))
        // The state may want a source, and no longer want it, before anybody has followed.
        ledger.order(effect(4, root: 0))
        #expect(ledger.changes.opened.map(\.id.turn) == [1, 2, 3, 4])
        #expect(ledger.changes.opened.map(\.isUsual) == [true, false, false, false])
    }

    @Test func `An effect beyond the limit of its label holds no place in it`() throws {
        var ledger = EffectLedger()
        let serial = RunOptions(id: "label", policy: .serial(limit: 1))
        for turn in 1...3 { ledger.order(effect(turn, root: 1, serial)) }
        let crowded = try #require(ledger.open[effect(2, root: 1).id])
        #expect(crowded.isCrowded)
        ledger.forgetChanges()
        ledger.close(effect(1, root: 1).id)
        #expect(ledger.changes.opened.isEmpty, "nothing waited behind it")
        ledger.order(effect(4, root: 1, serial))
        #expect(ledger.open[effect(4, root: 1).id]?.isCrowded == false, "and there is room again")
    }

    @Test func `An effect without options has all the fields of one with them`() {
        let usual = effect(1, root: 1)
        #expect(usual.isUsual && usual.options == .default && usual.instance == .main && usual.label == nil && usual.timeout == nil)
        #expect(usual.history == OpenEffect.History(notBefore: Timestamp(microseconds: 7)) && usual.payload == [0x01])
        var failed = usual
        failed.history.failures = 2
        #expect(!failed.isUsual && failed.failures == 2 && failed.deaths == 0 && failed != usual && failed.id == usual.id)
        failed.history.failures = 0
        #expect(failed.isUsual && failed == usual, "nothing has become of it after all")
        let labelled = effect(1, root: 1, RunOptions(id: "label"))
        #expect(labelled.label == "label" && labelled != usual && labelled == effect(1, root: 1, RunOptions(id: "label")))
    }

    @Test func `In which order effects with one label have died makes no difference, as a snapshot does not tell it`() {
        let failure = Failure(reason: .threw, text: "no", attempts: 1)
        func ledger(dying turns: [Int]) -> EffectLedger {
            var ledger = EffectLedger()
            for turn in 1...2 { ledger.order(effect(turn, root: 1, RunOptions(id: "label"))) }
            for turn in turns { ledger.bury(effect(turn, root: 1).id, failure) }
            ledger.forgetChanges()
            return ledger
        }
        var ledgers = [ledger(dying: [1, 2]), ledger(dying: [2, 1])]
        #expect(ledgers[0] == ledgers[1])
        for place in ledgers.indices { ledgers[place].cancel("label") }
        #expect(ledgers[0].cancelled == ledgers[1].cancelled && ledgers[0].cancelled.map(\.id.turn) == [1, 2])
    }

    // MARK: What is remembered

    @Test func `The newest thousand that were cancelled are remembered`() {
        var ledger = EffectLedger()
        for turn in 1...EffectLedger.cancelledLimit { ledger.order(effect(turn, root: turn, RunOptions(id: "label"))) }
        ledger.cancel("label")
        #expect(ledger.cancelled.count == 1_000 && ledger.cancelled.first?.id.turn == 1)
        ledger.order(effect(2_000, root: 2_000, RunOptions(id: "label")))
        ledger.cancel("label")
        #expect(ledger.cancelled.count == 1_000 && ledger.cancelled.first?.id.turn == 2)
        #expect(ledger.report(of: 2_000) == ["effect 2000/0, “label”, was cancelled"] && ledger.report(of: 1).isEmpty)
    }

    @Test func `An effect without a label is cancelled and not remembered`() {
        var ledger = EffectLedger()
        ledger.order(effect(1, root: 1))
        ledger.cancel(EffectID(turn: 1, ordinal: 0))
        #expect(ledger.open.isEmpty && ledger.cancelled.isEmpty)
        #expect(ledger.changes.cancelled.map(\.id) == [EffectID(turn: 1, ordinal: 0)])
        ledger.forgetChanges()
        #expect(ledger.changes == EffectLedger.Changes())
    }

    @Test func `A report lists a hundred, the oldest first, and says how many more there are`() {
        var ledger = EffectLedger()
        for turn in (1...101).reversed() {
            ledger.order(effect(turn, root: 1))
            ledger.bury(EffectID(turn: turn, ordinal: 0), Failure(reason: .threw, text: "no", attempts: 1))
            if turn == 2 {
                let full = ledger.report(of: 1)
                #expect(full.count == 100 && full.last == "effect 101/0 in queue default failed after 1 attempt: no")
            }
        }
        let report = ledger.report(of: 1)
        #expect(report.count == 101 && report.first == "effect 1/0 in queue default failed after 1 attempt: no")
        #expect(report.last == "and 1 more")
        #expect(ledger.report(of: 2).isEmpty, "they are of another root")
    }

    // MARK: Roots

    @Test func `A root is settled when the last of its effects is closed, whatever closes it`() {
        var ledger = EffectLedger()
        for turn in 1...4 { ledger.order(effect(turn, root: 1)) }
        #expect(ledger.openCount(of: 1) == 4 && ledger.isSettled(2) && ledger.openCount(of: 2) == 0)
        ledger.close(EffectID(turn: 1, ordinal: 0))
        ledger.cancel(EffectID(turn: 2, ordinal: 0))
        ledger.bury(EffectID(turn: 3, ordinal: 0), Failure(reason: .threw, text: "no", attempts: 1))
        #expect(ledger.openCount(of: 1) == 1 && !ledger.isSettled(1))
        ledger.drop(EffectID(turn: 4, ordinal: 0))
        #expect(ledger.isSettled(1))
        ledger.requeue(EffectID(turn: 3, ordinal: 0), by: EffectID(turn: 9, ordinal: 0), now: at(9))
        #expect(ledger.openCount(of: 1) == 1 && ledger.dead.isEmpty)
    }

    @Test func `What is requeued has all its attempts and all its time again, and stays fenced and in its place`() throws {
        var ledger = EffectLedger()
        let options = RunOptions(limits: RunLimits(total: .seconds(10)))
        let id = EffectID(turn: 1, ordinal: 0)
        ledger.order(effect(1, root: 1, options))
        ledger.streamed(id, lease: Lease(start: 1, counter: 5), index: 3, checkpoint: nil, start: 2)
        ledger.attemptFailed(id, .threw, lease: Lease(start: 1, counter: 5), notBefore: at(2))
        ledger.bury(id, Failure(reason: .threw, text: "no", attempts: 1))
        ledger.requeue(id, by: EffectID(turn: 9, ordinal: 0), now: at(100))
        let effect = try #require(ledger.open[id])
        #expect(effect.failures == 0 && effect.deaths == 0 && effect.notBefore == at(100) && effect.expiry == at(110))
        #expect(effect.failed == Lease(start: 1, counter: 5) && effect.place == StreamPlace(index: 3))
    }

    // MARK: Attempts

    @Test func `A death counts apart from failures, but for a source, and only a failure fences its lease`() throws {
        var ledger = EffectLedger()
        let (job, source) = (EffectID(turn: 1, ordinal: 0), EffectID(turn: 2, ordinal: 0))
        ledger.order(effect(1, root: 1))
        ledger.order(effect(2, root: 0))
        for id in [job, source] { ledger.attemptFailed(id, .workerDied, lease: nil, notBefore: at(1)) }
        #expect(ledger.open[job]?.deaths == 1 && ledger.open[job]?.failures == 0 && ledger.open[job]?.failed == nil)
        #expect(ledger.open[source]?.deaths == 0 && ledger.open[source]?.failures == 1)
        ledger.attemptFailed(job, .threw, lease: Lease(start: 1, counter: 2), notBefore: at(3))
        ledger.attemptFailed(job, .workerDied, lease: nil, notBefore: at(4))
        let effect = try #require(ledger.open[job])
        #expect(effect.deaths == 2 && effect.failures == 1 && effect.notBefore == at(4))
        #expect(effect.isOver(under: Lease(start: 1, counter: 2)) && !effect.isOver(under: Lease(start: 1, counter: 3)))
    }

    @Test func `A streamed message fences the attempts before its own, and with a checkpoint makes them count anew`() throws {
        var ledger = EffectLedger()
        let id = EffectID(turn: 1, ordinal: 0)
        ledger.order(effect(1, root: 1))
        ledger.attemptFailed(id, .threw, lease: Lease(start: 1, counter: 2), notBefore: at(1))
        ledger.attemptFailed(id, .workerDied, lease: nil, notBefore: at(1))
        ledger.streamed(id, lease: Lease(start: 1, counter: 7), index: 1, checkpoint: nil, start: 2)
        #expect(ledger.open[id]?.failed == Lease(start: 1, counter: 6) && ledger.open[id]?.failures == 1)
        ledger.streamed(id, lease: Lease(start: 1, counter: 7), index: 2, checkpoint: [8], start: 2)
        ledger.streamed(id, lease: Lease(start: 1, counter: 7), index: 3, checkpoint: nil, start: 2)
        let effect = try #require(ledger.open[id])
        #expect(effect.failures == 0 && effect.deaths == 0 && effect.place == StreamPlace(index: 3, checkpoint: [8]))
        ledger.streamed(id, lease: Lease(start: 2, counter: 0), index: 4, checkpoint: nil, start: 2)
        #expect(ledger.open[id]?.failed == Lease(start: 2, counter: 0))
        ledger.streamed(id, lease: Lease(start: 1, counter: 7), index: 5, checkpoint: nil, start: 2)
        #expect(ledger.open[id]?.failed == Lease(start: 2, counter: 0), "a fence is not taken back")
    }

    @Test func `An attempt is noted as one that streams beyond a restart if it was handed out before it, and not otherwise`() {
        var ledger = EffectLedger()
        let (id, lease) = (EffectID(turn: 1, ordinal: 0), Lease(start: 2, counter: 3))
        ledger.order(effect(1, root: 1))
        ledger.streamed(id, lease: lease, index: 1, checkpoint: nil, start: 2)
        #expect(ledger.open[id]?.place == StreamPlace(index: 1) && ledger.open[id]?.history.adoptedStream == nil)
        ledger.streamed(id, lease: lease, index: 2, checkpoint: nil, start: 3)
        #expect(ledger.open[id]?.history.adoptedStream == OpenEffect.AdoptedStream(lease: lease, start: 3))
    }

    @Test func `What a diverged turn has ordered is left to an operator, and nothing else`() {
        var ledger = EffectLedger()
        for turn in 1...2 { ledger.order(effect(turn, root: 1)) }
        ledger.attemptFailed(EffectID(turn: 2, ordinal: 0), .threw, lease: Lease(start: 1, counter: 1), notBefore: at(1))
        ledger.attemptFailed(EffectID(turn: 2, ordinal: 0), .workerDied, lease: nil, notBefore: at(1))
        ledger.park(orderedBy: 2, "why")
        #expect(ledger.open.keys.map(\.turn) == [1])
        #expect(ledger.dead.values.map(\.failure) == [Failure(reason: .diverged, text: "why", attempts: 2)])
    }

    @Test func `A snapshot of a build that did not know of adopted streams is no other`() throws {
        var ledger = EffectLedger()
        let effect = OpenEffect(id: EffectID(turn: 1, ordinal: 0), root: 1, payload: [0], now: at(0))
        ledger.order(effect)
        ledger.streamed(effect.id, lease: Lease(start: 1, counter: 1), index: 1, checkpoint: nil, start: 2)
        var former = ledger
        former.streamed(effect.id, lease: Lease(start: 1, counter: 1), index: 1, checkpoint: nil, start: 1)
        #expect(former != ledger && former.formerly == ledger.formerly)
        former.streamed(effect.id, lease: Lease(start: 1, counter: 1), index: 2, checkpoint: nil, start: 1)
        #expect(former.formerly != ledger.formerly)
        ledger.bury(effect.id, Failure(reason: .threw, text: "", attempts: 1))
        let dead = ledger.formerly.dead[effect.id]?.effect
        #expect(dead?.history.adoptedStream == nil && dead?.place == StreamPlace(index: 1))
    }

    @Test func `Nor is one of a build that did not know with which attempt an effect had died, dead or requeued`() {
        let (id, lease) = (EffectID(turn: 1, ordinal: 0), Lease(start: 1, counter: 5))
        func dead(with lease: Lease?) -> EffectLedger {
            var ledger = EffectLedger()
            ledger.order(effect(1, root: 1))
            ledger.bury(id, Failure(reason: .threw, text: "no", attempts: 1), lease: lease)
            return ledger
        }
        var ledgers = [dead(with: lease), dead(with: nil)]
        #expect(ledgers[0] != ledgers[1] && ledgers[0].formerly == ledgers[1].formerly)
        for place in ledgers.indices { ledgers[place].requeue(id, by: EffectID(turn: 9, ordinal: 0), now: at(9)) }
        #expect(ledgers[0] != ledgers[1] && ledgers[0].formerly == ledgers[1].formerly)
    }

    @Test func `Nor is one of a build that knew an effect's last failure, and not that it was requeued`() {
        let id = EffectID(turn: 1, ordinal: 0)
        var ledger = EffectLedger()
        ledger.order(effect(1, root: 1))
        ledger.attemptFailed(id, .threw, lease: Lease(start: 1, counter: 4), notBefore: at(1))
        ledger.bury(id, Failure(reason: .threw, text: "no", attempts: 2), lease: Lease(start: 1, counter: 5))
        ledger.requeue(id, by: EffectID(turn: 9, ordinal: 0), now: at(9))

        var history = OpenEffect.History(notBefore: at(9))
        history.failed = Lease(start: 1, counter: 4)
        var former = EffectLedger()
        former.open(OpenEffect(id: id, root: 1, instance: .main, options: RunOptions(), payload: [0x01], history: history))
        // Those of the snapshot are no news.
        ledger.forgetChanges()
        former.forgetChanges()
        #expect(ledger.formerly(beside: former) == former.formerly(beside: ledger))

        history.notBefore = at(10)
        former = EffectLedger()
        former.open(OpenEffect(id: id, root: 1, instance: .main, options: RunOptions(), payload: [0x01], history: history))
        former.forgetChanges()
        #expect(ledger.formerly(beside: former) != former.formerly(beside: ledger))
    }

    @Test func `Nor is one of a build that did not note the requeue of an effect which has kept its place in a lane that stops`() {
        let (id, options) = (EffectID(turn: 1, ordinal: 0), RunOptions(id: "label", policy: .lane(limit: 2, behindDead: .stops)))
        var ledger = EffectLedger()
        ledger.order(effect(1, root: 1, options))
        ledger.bury(id, Failure(reason: .threw, text: "no", attempts: 1))
        ledger.requeue(id, by: EffectID(turn: 9, ordinal: 0), now: at(9))
        #expect(ledger.open[id]?.history.requeued == id)

        var former = EffectLedger()
        var history = OpenEffect.History(notBefore: at(9))
        history.ordered = Timestamp(microseconds: 7)
        former.open(OpenEffect(id: id, root: 1, instance: .main, options: options, payload: [0x01], history: history))
        ledger.forgetChanges()
        former.forgetChanges()
        #expect(ledger != former && ledger.formerly(beside: former) == former.formerly(beside: ledger))
    }

    @Test func `Which attempt of an effect that never died has failed last is compared with a snapshot of any build`() {
        func ledger(failed counter: Int) -> EffectLedger {
            var ledger = EffectLedger()
            ledger.order(effect(1, root: 1))
            ledger.attemptFailed(
                EffectID(turn: 1, ordinal: 0), .threw, lease: Lease(start: 1, counter: counter), notBefore: at(1))
            return ledger
        }
        #expect(ledger(failed: 1).formerly == ledger(failed: 1).formerly)
        #expect(ledger(failed: 1).formerly != ledger(failed: 2).formerly)
    }
}

extension EffectLedger {
    /// As a former build has it in a snapshot, whose effects are encoded as they are now.
    fileprivate var formerly: EffectLedger { formerly(beside: self) }

    fileprivate func formerly(beside other: EffectLedger) -> EffectLedger { asFormerly(beside: other) { $0 } }
}
