import MachineSupport
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A part of the store with what the machine would hand to it: turns of a shop, the way out, and the effects.
struct PartBench: ~Copyable {
    var turns: Turns
    var out: Outlet
    var scheduler: EffectScheduler
    private var sequence = 0

    init(
        _ settings: StoreSettings = StoreSettings(), observers: [TurnObserver<Shop>] = [], marker: TrapMarker = TrapMarker()
    ) throws {
        let quarantine = Quarantine(marker, timeline: home, build: "test", settings: settings)
        turns = Turns(settings, TypedEngine(Shop.self, secret: workshopSecret, observers: observers), quarantine)
        out = Outlet(StoreIdentity(timeline: home, secret: workshopSecret, build: "test", durability: "none", isFenced: false))
        scheduler = EffectScheduler(settings, start: 1)
        turns.write(.started(number: 1, build: "test", schema: shop, seed: packed(NoSeed())), now: at(0))
        try turns.begin(seed: packed(NoSeed()), now: at(0), &out)
        scheduler.enterOrders(now: at(0), &turns)
    }

    /// Orders jobs by an input, and returns the newest that is open.
    @discardableResult
    mutating func order(_ jobs: Shop.Job..., now: Timestamp = at(0)) throws -> EffectID? {
        sequence += 1
        let origin = Origin.client(session: session(1), sequence: sequence)
        let call = ProgramCall.input(session(1), sequence: sequence)
        _ = try turns.take(call, .input(packed(Shop.Input.order(jobs)), origin), origin, root: nil, now: now, &out)
        scheduler.enterOrders(now: now, &turns)
        return turns.state.ledger.open.keys.max()
    }

    /// The turns so far are on disk.
    mutating func commit() {
        guard let batch = turns.takeBatch(now: at(0)) else { return }
        turns.committed(through: batch.last, now: at(0))
        out.committed(through: batch.last)
        scheduler.dispatcher.left(through: batch.last, now: at(0))
    }

    /// The frames that have left, in order.
    mutating func takeFrames() -> [Frame] {
        out.takeActions().compactMap { action in
            switch action {
            case .send(let envelope, _), .publish(let envelope, _): envelope.frame
            default: nil
            }
        }
    }
}
