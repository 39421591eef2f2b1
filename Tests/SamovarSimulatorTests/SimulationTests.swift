import Testing

@testable import SamovarSimulator

/// Whole worlds. Many more of them run optimised, by `make simulate`.
@Suite struct SimulationTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `nothing is broken in the world of a seed`(_ seed: UInt64) {
        let result = Simulation(seed: seed, minutes: 1).run()
        #expect(result.violation == nil, "samovar simulate --seed \(seed) --minutes 1 --trace")
        #expect(result.report.turns > 10, "and it is no empty world")
    }

    @Test func `the same seed gives the same run, and a trace changes nothing`() {
        let silent = Simulation(seed: 3, minutes: 1).run()
        let told = Simulation(seed: 3, minutes: 1).run(tracing: .everything)
        let other = Simulation(seed: 4, minutes: 1).run()
        #expect(silent.digest == told.digest)
        #expect(silent.digest != other.digest)
        #expect(silent.trace.isEmpty && told.trace.count > 100)
    }

    @Test func `about half of the seeds have each class of faults`() {
        let swarms = (1...400).map { Swarm(seed: $0) }
        for fault in Fault.allCases {
            let share = swarms.count { $0.has(fault) }
            // Those of a harsh network: in a fifth of the seeds at most.
            #expect((fault.isHarsh ? 15...90 : 150...250).contains(share), "\(fault) in \(share) of 400")
        }
    }

    @Test func `about half of the seeds have each trait of the program`() {
        let swarms = (1...400).map { Swarm(seed: $0) }
        for trait in Swarm.Trait.allCases {
            #expect((150...250).contains(swarms.count { $0.traits.contains(trait) }), "\(trait)")
        }
    }

    @Test func `in a few worlds, the program listens, streams and cancels`() {
        var sum = Report()
        for seed in 1...12 as ClosedRange<UInt64> { sum += Simulation(seed: seed, minutes: 1).run().report }
        for deed in [Deed.rang, .stoppedListening, .cancelled, .replaced, .poured, .resumed, .outputRead] {
            #expect(sum.count(of: deed) > 0, "\(deed)")
        }
    }

    @Test func `a small world without faults comes to rest`() throws {
        for (name, swarm) in Swarm.small {
            let world = World(seed: 1, swarm: swarm, duration: 2 * seconds, trace: .nothing)
            let result = Simulation.finish(world)
            #expect(result.violation == nil, "\(name)")
            #expect(result.report.inputs == 3)
            #expect(result.report.effects >= 3, "one of the program's start, and those of two inputs, or of one and a bell")
            #expect(world.steps.store > 50 && world.steps.worker > 10)
        }
    }
}
