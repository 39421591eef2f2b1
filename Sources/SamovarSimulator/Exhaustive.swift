import SamovarCore
import SamovarPeers
import SamovarStore

/// A small world, and every way to kill one of its processes once: the store before each of its steps, with each fate of the
/// write that is under way, and the worker before each of its steps.
public enum Exhaustive {
    public struct Result: Sendable {
        public internal(set) var runs = 0
        public internal(set) var violation: (plan: String, violation: Violation)?
    }

    public static func run() -> Result {
        var result = Result()
        for (name, swarm) in Swarm.small {
            // Without a crash, to count the steps.
            var steps = World.Steps()
            attempt(name, swarm, nil, &result) { steps = $0.steps }
            for step in 1...max(1, steps.store) {
                for fate in CrashPlan.Fate.allCases {
                    attempt(name, swarm, CrashPlan(victim: .store, step: step, fate: fate), &result)
                }
            }
            for step in 1...max(1, steps.worker) { attempt(name, swarm, CrashPlan(victim: .worker, step: step), &result) }
        }
        return result
    }

    private static func attempt(
        _ name: String, _ swarm: Swarm, _ crash: CrashPlan?, _ result: inout Result, _ look: (World) -> Void = { _ in }
    ) {
        guard result.violation == nil else { return }
        let world = World(seed: 1, swarm: swarm, duration: 2 * seconds, crash: crash, trace: .none)
        let end = Simulation.finish(world)
        result.runs += 1
        look(world)
        guard let violation = end.violation else { return }
        result.violation = ("\(name), \(crash.map { "\($0)" } ?? "no crash")", violation)
    }
}

extension Swarm {
    /// One client that sends three inputs, one worker, one store; batches and snapshots as small as they can be, or as usual.
    static var small: [(name: String, swarm: Swarm)] {
        var usual = Swarm(seed: 1)
        usual.clients = 1
        usual.workers = 1
        usual.faults = []
        usual.isHarsh = false
        usual.hasStandby = false
        usual.delay = milliseconds
        usual.syncTime = 2 * milliseconds
        usual.roundCost = 50
        usual.slots = 1
        usual.readAhead = 0
        usual.pause = 100 * milliseconds
        usual.inputs = 3
        usual.traits = []
        usual.works = [.quick]
        usual.deadly = []
        usual.viewBytes = 10
        usual.store = .init()
        usual.client = .standard
        usual.worker = .standard
        var tiny = usual
        tiny.store.batchTurns = 1
        tiny.store.turnsPerRound = 1
        tiny.store.snapshotBytes = 1
        var retaining = usual
        retaining.store.snapshotBytes = 100
        retaining.store.window = 1
        var clockwork = usual
        let timer = TimerSpec(place: 0, kind: .every, missed: .all, milliseconds: 700, isWorking: true)
        let label = LabelSpec(number: 0, rule: 0)
        clockwork.script = [{ .armed($0, timer) }, { .labelled($0, .streaming, label) }, { .labelled($0, .streaming, label) }]
        clockwork.store.snapshotBytes = 300
        var parting = usual
        parting.lastEnds = true
        parting.store.snapshotBytes = 100
        var stopping = usual
        let lane = LabelSpec(number: 5, rule: 4)
        stopping.traits = [.controls]
        stopping.script = [
            { .labelled($0, .cursed, lane) }, { .labelled($0, .quick, lane) }, { .controlled($0, ControlSpec(.requeue, label: 5)) },
        ]
        stopping.store.snapshotBytes = 300
        var keyed = usual
        keyed.traits = [.keys]
        keyed.store.snapshotBytes = 300
        return [
            ("usual", usual), ("tiny", tiny), ("retaining", retaining), ("clockwork", clockwork), ("parting", parting),
            ("stopping", stopping), ("keyed", keyed),
        ]
    }
}
