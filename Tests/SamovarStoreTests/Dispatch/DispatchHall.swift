import MachineSupport
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A dispatcher with its ledger and virtual time.
struct DispatchHall {
    var dispatcher: Dispatcher
    var ledger = EffectLedger()
    var now = at(0)
    private(set) var lastTurn = 0

    init(_ settings: StoreSettings = StoreSettings(), start: Int = 1) {
        dispatcher = Dispatcher(settings, start: start)
    }

    @discardableResult
    mutating func order(_ options: RunOptions = .default, deaths: Int = 0, isOfSource: Bool = false) -> EffectID {
        lastTurn += 1
        let id = EffectID(turn: lastTurn, ordinal: isOfSource ? SubscriptionTable.firstSource : 0)
        var effect = OpenEffect(id: id, root: lastTurn, options: options, payload: [0], now: now)
        if deaths > 0 { effect.history.deaths = deaths }
        ledger.order(effect)
        if ledger.open[id] != nil, !ledger.isBehindAnother(effect) { dispatcher.enqueue(effect, now: now) }
        ledger.forgetChanges()
        return id
    }

    mutating func join(
        _ number: UInt8, slots: Int = 1, credit: Int = 1 << 40, _ queues: [Queue] = [.default], limits: [Queue: Int] = [:],
        can capabilities: Set<String> = []
    ) {
        let offer = WorkerOffer(id: workerID(number), slots: slots, queues: queues, limits: limits, capabilities: capabilities)
        dispatcher.join(offer, route: worker(number), now: now)
        dispatcher.heard(workerID(number), credit: credit, now: now)
    }

    mutating func rule(_ queue: Queue = .default, _ rules: QueueRules, isNew: Bool = true) {
        dispatcher.rule(queue, rules, isNew: isNew, from: ledger, now: now)
    }

    /// Goes on to a time, as the store does: what is due is offered first. Returns how many were handed out.
    @discardableResult
    mutating func assign(at time: Timestamp? = nil) -> Int {
        now = time ?? now
        while let id = dispatcher.popDue(now: now) {
            if let effect = ledger.open[id] { dispatcher.enqueue(effect, now: now) }
        }
        let before = dispatcher.running
        _ = dispatcher.assign(from: ledger, floor: 0, JobProof(home, workshopSecret), now: now)
        return dispatcher.running - before
    }

    func jobs(of number: UInt8) -> [EffectID] { dispatcher.jobs(of: workerID(number)) }

    func isRunning(_ id: EffectID) -> Bool { dispatcher.assignment(of: id) != nil }

    /// An effect is answered; those that were behind it with its label come.
    mutating func end(_ id: EffectID) {
        ledger.close(id)
        dispatcher.forget(id)
        for opened in ledger.changes.opened {
            if let effect = ledger.open[opened.id], dispatcher.waits(opened.id) == nil { dispatcher.enqueue(effect, now: now) }
        }
        ledger.forgetChanges()
    }

    /// A worker is gone, and what it had is offered again.
    mutating func leave(_ number: UInt8) {
        for id in dispatcher.leave(workerID(number)) {
            if let effect = ledger.open[id] { dispatcher.enqueue(effect, now: now) }
        }
    }

    /// Ends the jobs of a worker with one slot one by one, and counts by label what it gets.
    mutating func work(_ number: UInt8 = 1, jobs count: Int, _ next: (inout DispatchHall, Label?) -> Void = { _, _ in }) -> [Label?:
        Int]
    {
        var counts: [Label?: Int] = [:]
        for _ in 0..<count {
            assign()
            guard let job = jobs(of: number).first else { break }
            let label = ledger.open[job]?.label
            counts[label, default: 0] += 1
            end(job)
            next(&self, label)
        }
        return counts
    }
}

extension WaitingLines {
    /// What stands in them, stale or not.
    var entries: Int { all.reduce(0) { $0 + $1.count } }
}
