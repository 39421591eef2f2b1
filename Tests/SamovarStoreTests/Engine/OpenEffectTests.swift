import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// An effect as a value: what it is when it is ordered, and what makes two of them different.
@Suite struct OpenEffectTests {
    private static let id = EffectID(turn: 2, ordinal: 1)

    private static func effect(
        id: EffectID = id, root: Int = 2, instance: Instance = .main, options: RunOptions = RunOptions(),
        payload: [UInt8] = [1, 2],
        now: Timestamp = at(5), _ change: (inout OpenEffect.History) -> Void = { _ in }
    ) -> OpenEffect {
        let ordered = OpenEffect(id: id, root: root, instance: instance, options: options, payload: payload, now: now)
        var history = ordered.history
        change(&history)
        return OpenEffect(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }

    @Test func `Only a source has a further attempt when a death follows its last pause, and its pauses grow on`() {
        let options = RunOptions(retry: .backoff(first: .seconds(1), attempts: 3))
        let (job, source) = (Self.effect(options: options), Self.effect(root: 0, options: options))
        for failures in 1...9 {
            let pause = source.pause(after: failures, .workerDied, secret: workshopSecret) ?? .zero
            let usual = min(1 << (failures - 1), 60)
            #expect(pause >= .seconds(usual) * 0.8 && pause <= .seconds(usual) * 1.2)
        }
        #expect(source.pause(after: 3, .threw, secret: workshopSecret) == nil)
        #expect(job.pause(after: 3, .workerDied, secret: workshopSecret) == nil)
        let once = Self.effect(root: 0, options: RunOptions(retry: .never))
        #expect(once.pause(after: 1, .workerDied, secret: workshopSecret) == .milliseconds(100))
    }

    @Test func `Two effects are equal if all of them is, wherever they are kept`() {
        let retry = RunOptions(retry: .backoff(first: .seconds(1), attempts: 3))
        let effects = [
            Self.effect(), Self.effect(id: EffectID(turn: 2, ordinal: 2)), Self.effect(root: 1), Self.effect(instance: "left"),
            Self.effect(options: retry), Self.effect(payload: [1, 3]), Self.effect(payload: [1]), Self.effect(now: at(6)),
            Self.effect { $0.failures = 1 }, Self.effect { $0.deaths = 1 }, Self.effect { $0.failed = Lease(start: 1, counter: 1) },
            Self.effect { $0.expiry = at(9) }, Self.effect { $0.isCrowded = true },
            Self.effect { $0.place = StreamPlace(index: 1) },
            Self.effect(instance: "left") { $0.failures = 1 }, Self.effect(options: retry) { $0.failures = 1 },
        ]
        for (index, effect) in effects.enumerated() {
            for (other, another) in effects.enumerated() {
                #expect((effect == another) == (index == other), "\(index) and \(other)")
            }
            let copy = OpenEffect(
                id: effect.id, root: effect.root, instance: effect.instance, options: effect.options, payload: effect.payload,
                history: effect.history)
            #expect(copy == effect && effect.with(payload: effect.payload) == effect)
            #expect(effect.with(payload: [9]).payload == [9] && effect.with(payload: [9]) != effect)
        }
    }

    @Test func `Without options an effect is usual, and has no past`() {
        let effect = OpenEffect(id: Self.id, root: 2, payload: [1, 2], now: at(5))
        #expect(effect.isUsual && effect.failures == 0 && effect.deaths == 0 && effect.failed == nil && effect.expiry == nil)
        #expect(
            effect.notBefore == at(5) && effect.payload == [1, 2] && effect.size == 2 && effect.label == nil && !effect.isSource)
        #expect(
            !effect.isCrowded && effect.place == nil && effect.timeout == nil && effect.queue == .default
                && effect.instance == .main)
        #expect(!effect.isOver(under: TypedEngineTests.lease))
        #expect(!Self.effect(instance: "left").isUsual && Self.effect(instance: "left").instance == "left")
        #expect(OpenEffect(id: Self.id, root: 0, payload: [], now: at(5)).isSource)
        #expect(OpenEffect.History(notBefore: at(0)).failures == 0 && OpenEffect.History(notBefore: at(0)).deaths == 0)
        var changed = effect
        changed.history.failures = 2
        #expect(!changed.isUsual && changed.failures == 2 && changed.payload == [1, 2] && changed.notBefore == at(5))
        changed.history = effect.history
        #expect(changed == effect && changed.isUsual)
    }

    @Test func `It begins after its delay, at its time, whichever is later, and ends after its total limit`() {
        func begin(_ options: RunOptions) -> Timestamp { Self.effect(options: options).notBefore }
        #expect(begin(RunOptions(delay: .seconds(3))) == at(8) && begin(RunOptions(at: at(20))) == at(20))
        #expect(
            begin(RunOptions(delay: .seconds(3), at: at(7))) == at(8) && begin(RunOptions(delay: .seconds(3), at: at(9))) == at(9))
        let limited = Self.effect(options: RunOptions(delay: .seconds(3), limits: RunLimits(total: .seconds(10))))
        #expect(limited.expiry == at(18))
    }

    @Test func `An attempt has failed under the lease of the newest failure and all before it`() {
        let effect = Self.effect { $0.failed = Lease(start: 1, counter: 5) }
        #expect([4, 5, 6].map { effect.isOver(under: Lease(start: 1, counter: $0)) } == [true, true, false])
        #expect(!Self.effect { $0.failures = 1 }.isOver(under: Lease(start: 1, counter: 1)))
    }

    @Test func `Where an attempt streams beyond a restart, the others of before are over, and those handed out since are not`() {
        let adopted = Lease(start: 1, counter: 5)
        let effect = Self.effect { $0.adoptedStream = OpenEffect.AdoptedStream(lease: adopted, start: 3) }
        let others = [(1, 4), (1, 6), (2, 1), (3, 1), (4, 1)].map { Lease(start: $0.0, counter: $0.1) }
        #expect(others.map { effect.isOver(under: $0) } == [true, true, true, false, false] && !effect.isOver(under: adopted))
    }

    // MARK: What turns order

    @Test func `A log hands each order over once, and has room for those that follow`() {
        let log = SharedLog(after: 0)
        #expect(!log.hasOrders)
        for round in 1...3 {
            for ordinal in 0..<round {
                log.append(.emit(EmittedOutput(id: EffectID(turn: round, ordinal: ordinal), bytes: [])))
                #expect(log.hasOrders)
            }
            var taken: [LoggedOrder] = []
            log.takeOrders { taken.append($0) }
            #expect(taken.count == round && !log.hasOrders)
            #expect(taken.last == .emit(EmittedOutput(id: EffectID(turn: round, ordinal: round - 1), bytes: [])))
        }
        log.takeOrders { _ in #expect(Bool(false), "nothing is left") }
    }

    @Test func `A replay writes no records`() {
        let record = Record(turn: 1, time: at(1), event: .started(number: 1, build: "", schema: counter, seed: []))
        let (live, replay) = (SharedLog(after: 0), SharedLog(ofReplayAfter: 0))
        live.write(record)
        replay.write(record)
        #expect(live.batch.last == 1 && replay.batch.last == 0 && !live.isTapped)
    }
}
