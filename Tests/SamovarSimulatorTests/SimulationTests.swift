import Testing

@testable import SamovarSimulator

/// Whole worlds. Many more of them run optimised, by `make simulate`.
@Suite struct SimulationTests {
    /// The digests of the worlds of seeds 1, 2, 3 and so on: every event at its time, and every byte on the wire.
    static let courses: [UInt64] = [
        0xa860e047123a91ff, 0x0ba798dcf30c8ab0, 0xf919f5f13692ff34, 0x0bed7b02a87cce98, 0x0719674cc2722214,
        0x4878097f2ec3d052, 0x21f8079ba6dcdf84, 0x77925863b7dbf83b, 0x0e05c2f37cbef36a, 0xfba369625618cf50,
        0x4d1dc9ee8f51ad43, 0x498e110064b84f18, 0xbc6a445d70164875, 0x71744fcbeebe1963, 0x305f7ce020f96a7a,
        0xa4641e4afcfe3de8, 0xdbbf9ee7cfa0c386, 0x0110ef25d61b3bbd, 0x68425412f1428436, 0x9fe934d961e3e6f8,
    ]

    /// No promise is about the course. It holds changes that are to change nothing to their word; after one that is to, record it anew.
    @Test(arguments: zip(1...UInt64(courses.count), courses))
    func `The world of a seed breaks nothing, and takes the course that is recorded`(_ seed: UInt64, _ course: UInt64) {
        let result = Simulation(seed: seed, minutes: 1).run()
        #expect(result.violation == nil, "samovar simulate --seed \(seed) --minutes 1 --trace")
        #expect(result.report.turns > 10, "and it is no empty world")
        let digest = String(result.digest, radix: 16)
        #expect(result.digest == course, "seed \(seed) takes another course: 0x\(digest); if that is meant, record it in `courses`")
    }

    @Test func `The same seed gives the same run, and a trace changes nothing`() {
        let silent = Simulation(seed: 3, minutes: 1).run()
        let told = Simulation(seed: 3, minutes: 1).run(tracing: .everything)
        let other = Simulation(seed: 4, minutes: 1).run()
        #expect(silent.digest == told.digest)
        #expect(silent.digest != other.digest)
        #expect(silent.trace.isEmpty && told.trace.count > 100)
    }

    @Test func `About half of the seeds have each class of faults`() {
        let swarms = (1...400).map { Swarm(seed: $0) }
        for fault in Fault.allCases {
            let share = swarms.count { $0.has(fault) }
            // Those of a harsh network: in a fifth of the seeds at most.
            #expect((fault.isHarsh ? 15...90 : 150...250).contains(share), "\(fault) in \(share) of 400")
        }
    }

    @Test func `About half of the seeds have each trait of the program`() {
        let swarms = (1...400).map { Swarm(seed: $0) }
        for trait in Swarm.Trait.allCases {
            #expect((150...250).contains(swarms.count { $0.traits.contains(trait) }), "\(trait)")
        }
    }

    @Test func `In a few worlds, the program listens, streams, cancels and runs out of time`() {
        var sum = Report()
        for seed in 1...12 as ClosedRange<UInt64> { sum += Simulation(seed: seed, minutes: 1).run().report }
        for event in [
            CoverageEvent.fired, .stoppedListening, .cancelled, .replaced, .streamed, .resumed, .outputRead, .ranOutOfTime,
        ] {
            #expect(sum.count(of: event) > 0, "\(event)")
        }
    }

    @Test func `A small world without faults comes to rest`() throws {
        for (name, swarm) in Swarm.small {
            let world = World(seed: 1, swarm: swarm, duration: 2 * seconds, trace: .none)
            let result = Simulation.finish(world)
            #expect(result.violation == nil, "\(name)")
            #expect(result.report.inputs == 3)
            #expect(result.report.effects >= 3, "one of the program's start, and those of two inputs, or of one and a timer")
            #expect(world.steps.store > 50 && world.steps.worker > 10)
        }
    }
}
