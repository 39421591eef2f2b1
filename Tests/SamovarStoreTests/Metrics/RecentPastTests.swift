import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Rates and percentiles of the last seconds, for `status`.
@Suite struct RecentPastTests {
    private func sample(_ time: Timestamp, turns: Int) -> RecentPast.Sample {
        RecentPast.Sample(
            time: time, turns: turns, inputs: 0, commits: DurationHistogram(), rounds: DurationHistogram(), journalBytes: 0,
            meters: QueueMeters())
    }

    @Test func `A span begins 10 to 15 seconds ago, or at the start, and few samples are kept`() throws {
        var past = RecentPast()
        #expect(past.span(to: sample(at(0), turns: 0)) == nil)
        for second in 0...3_600 {
            let now = at(Double(second))
            #expect(past.isDue(now: now) == second.isMultiple(of: 5))
            if past.isDue(now: now) { past.take(sample(now, turns: 7 * second)) }
            let span = try #require(past.span(to: sample(now, turns: 7 * second)))
            #expect(second < 10 ? span.seconds == Double(second) : (10..<15).contains(span.seconds))
            #expect(span.perSecond(\.turns) == (second == 0 ? 0 : 7))
        }
        #expect(past.samples.count <= 4)
    }

    @Test(arguments: [1, 2, UInt64.random(in: .min ... .max)])
    func `A percentile lies in the bucket of the duration that it stands for`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = Random(seed: seed)
        for _ in 0..<200 {
            var histogram = DurationHistogram()
            let durations = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                Int64.random(in: 0...(1 << Int64.random(in: 0...28, using: &random)), using: &random)
            }.sorted()
            for duration in durations { histogram.add(.microseconds(duration)) }
            for percent in [1, 50, 90, 99, 100] {
                let rank = max(1, (durations.count * percent + 99) / 100)
                let index = DurationBuckets.index(ofMicroseconds: durations[rank - 1])
                let lower = index == 0 ? 0 : Double(DurationBuckets.bounds[index - 1].microseconds) / 1_000_000
                let upper = index < 11 ? Double(DurationBuckets.bounds[index].microseconds) / 1_000_000 : lower
                let told = try #require(histogram.percentile(percent))
                #expect((lower...upper).contains(told), "\(percent) of \(durations)")
            }
        }
        #expect(DurationHistogram().percentile(50) == nil)
    }

    @Test func `Status tells the rates and times of the last seconds, of no others`() throws {
        let rig = try Rig()
        for _ in 0..<20 { rig.tick(.seconds(1)) }
        let first = rig.machine.head
        let before = try #require(rig.ask("status")?.value)
        #expect(before["rates"]?["turns"] == .double(0) && before["commit"]?["count"] == .int(0))
        let seconds = try #require(before["rates"]?["seconds"]?.double)
        #expect((10..<15).contains(seconds))
        rig.connectClient()
        rig.connectWorker(credit: 99)
        for number in 1...5 {
            rig.order(job("a"), sequence: number)
            rig.now = rig.now + .milliseconds(10)
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.answered("a")], credit: 99), from: worker(1))
        }
        let after = try #require(rig.ask("status")?.value)
        let span = try #require(after["rates"]?["seconds"]?.double)
        #expect(try #require(after["rates"]?["turns"]?.double) == (Double(rig.machine.head - first) * 100 / span).rounded() / 100)
        #expect(try #require(after["rates"]?["inputs"]?.double) == (500 / span).rounded() / 100)
        #expect(after["rates"]?["effectsClosed"] == after["rates"]?["inputs"])
        #expect(try #require(after["rates"]?["journalBytes"]?.double) > 0)
        guard case .array(let queues)? = after["queues"], let queue = queues.first else {
            Issue.record("no queue")
            return
        }
        #expect(queue["attempt"]?["count"] == .int(5) && queue["wait"]?["count"] == .int(5))
        let p99 = try #require(queue["attempt"]?["p99"]?.double)
        #expect((0.004096...0.016384).contains(p99))
        #expect(after["lag"] == ["turns": 0, "seconds": .nil])
    }

    @Test func `The host is asked for what it knows each five seconds, and status tells it`() throws {
        let rig = try Rig()
        for _ in 0..<20 { rig.tick(.seconds(1)) }
        #expect((4...5).contains(rig.processMeasurements))
        #expect(rig.ask("status")?.value["process"] == .nil)
        let process = ProcessSample(processorSeconds: 1.5, residentBytes: 7)
        rig.machine.processMeasured(ProcessFacts(process, journalBytes: nil, freeBytes: 8), now: rig.now)
        rig.round()
        #expect(
            rig.ask("status")?.value["process"]
                == ["processorSeconds": .double(1.5), "residentBytes": 7, "journalBytes": .nil, "freeBytes": 8])
    }

    @Test func `While a commit is under way, status has the lag of what is on disk`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.tick(.seconds(1))
        rig.commits = false
        rig.order(job("a"))
        rig.now = rig.now + .milliseconds(20)
        let status = rig.machine.status(now: rig.now)
        guard case .int(let turns)? = status["lag"]?["turns"] else {
            Issue.record("\(status)")
            return
        }
        #expect(turns >= 1 && status["lag"]?["seconds"] == .double(0.02))
    }
}

extension MessagePackValue {
    fileprivate var double: Double? { if case .double(let number) = self { number } else { nil } }
}
