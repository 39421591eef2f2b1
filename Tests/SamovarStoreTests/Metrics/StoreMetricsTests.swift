import MessagePack
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// What the store counts and measures for `metrics`.
@Suite struct StoreMetricsTests {
    /// The samples by their names and labels, such as `samovar_inputs_total{verdict=applied}`.
    private func metrics(_ rig: Rig) throws -> [String: MessagePackValue] {
        rig.requests += 1
        var frames = rig.exchange(.request(AdminRequest(id: rig.requests, verb: "metrics")), from: admin)
        #expect(frames == [], "the host is asked first")
        let process = ProcessSample(processorSeconds: 1.5, residentBytes: 7)
        rig.machine.processMeasured(ProcessFacts(process, journalBytes: nil), now: rig.now)
        rig.round()
        frames = rig.take(admin)
        guard case .reply(let reply)? = frames.first, case .array(let families)? = reply.value["families"] else { return [:] }
        var samples: [String: MessagePackValue] = [:]
        for family in families {
            guard case .string(let name)? = family["name"], case .array(let rows)? = family["samples"] else { continue }
            for case .array(let row) in rows {
                guard case .string(let suffix) = row[0], case .map(let labels) = row[1] else { continue }
                let texts = labels.map { "\($0.key.plain)=\($0.value.plain)" }.joined(separator: ",")
                samples[name + suffix + (texts.isEmpty ? "" : "{\(texts)}")] = row[2]
            }
        }
        return samples
    }

    @Test func `Inputs are counted by their verdict`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .forbidden]), from: client(1))
        rig.exchange(.send([Submission(sequence: 3, input: [0xc1])], confirmed: 2), from: client(1))
        let metrics = try metrics(rig)
        #expect(metrics["samovar_commits_total"] == .int(Int64(rig.committedBatches.count)))
        let bytes = rig.committedBatches.reduce(0) { $0 + $1.bytes.count }
        #expect(metrics["samovar_journal_bytes_total"] == .int(Int64(bytes)))
        for verdict in ["applied", "refused", "rejected"] {
            #expect(metrics["samovar_inputs_total{verdict=\(verdict)}"] == .int(1))
        }
    }

    @Test func `Attempts, effects and turns are counted by what became of them, and measured`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.order(job("a", attempts: 3))
        rig.now = rig.now + .milliseconds(3)
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([first.failed()], credit: 9), from: worker(1))
        rig.tick(.seconds(2))
        let second = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.milliseconds(500))
        rig.exchange(.result([second.answered("a")], credit: 9), from: worker(1))
        rig.order(job("b"), sequence: 2)
        _ = rig.takeTasks(worker(1))
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        let metrics = try metrics(rig)
        func expect(_ name: String, _ value: Int, _ place: SourceLocation = #_sourceLocation) {
            #expect(metrics["samovar_" + name] == .int(Int64(value)), "\(name)", sourceLocation: place)
        }
        expect("attempts_total{queue=default,outcome=failed}", 1)
        expect("attempts_total{queue=default,outcome=answered}", 1)
        expect("attempts_total{queue=default,outcome=lost}", 1)
        expect("effects_closed_total{queue=default,outcome=done}", 1)
        expect("effects{queue=default,state=waiting}", 1)
        expect("inputs_total{verdict=applied}", 2)
        expect("turns_total{kind=input}", 2)
        expect("turns_total{kind=answer}", 1)
        expect("worker_deaths_total", 1)
        expect("attempt_seconds_count{queue=default}", 3)
        // 3 ms, 500 ms and none.
        expect("attempt_seconds_bucket{queue=default,le=6.4e-05}", 1)
        expect("attempt_seconds_bucket{queue=default,le=0.004096}", 2)
        expect("attempt_seconds_bucket{queue=default,le=1.048576}", 3)
        #expect(metrics["samovar_attempt_seconds_sum{queue=default}"] == .double(0.503))
        expect("effect_wait_seconds_count{queue=default}", 3)
        expect("turn", rig.machine.head)
        let kinds = metrics.filter { $0.key.hasPrefix("samovar_turns_total") }.values.reduce(0) { $0 + ($1.number ?? 0) }
        #expect(kinds == rig.machine.head, "each turn is of one kind")
        #expect(metrics["samovar_process_cpu_seconds_total{role=store}"] == .double(1.5))
        #expect(metrics["samovar_journal_file_bytes"] == nil)
    }

    @Test func `What the host says that rounds and views took is measured`() throws {
        let rig = try Rig()
        for milliseconds in [1, 4] { rig.machine.roundTook(.milliseconds(milliseconds)) }
        rig.machine.viewTook(.milliseconds(2))
        let metrics = try metrics(rig)
        #expect(metrics["samovar_round_seconds_sum"] == .double(0.005) && metrics["samovar_round_seconds_count"] == .int(2))
        #expect(metrics["samovar_view_seconds_sum"] == .double(0.002) && metrics["samovar_view_seconds_count"] == .int(1))
    }

    @Test func `What is handed out, answered and done is told of the queue in which it has waited`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(queues: ["mail"])
        rig.order(job("a", queue: "mail"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1))
        let metrics = try metrics(rig)
        for (queue, count) in [("mail", 1), ("default", 0)] as [(String, Int64)] {
            #expect(metrics["samovar_effect_wait_seconds_count{queue=\(queue)}"] == .int(count))
            #expect(metrics["samovar_attempts_total{queue=\(queue),outcome=answered}"] == .int(count))
            #expect(metrics["samovar_effects_closed_total{queue=\(queue),outcome=done}"] == .int(count))
        }
    }

    @Test func `Turns of former processes are not counted`() throws {
        let former = try StoreWorkerTests.rig(slots: 1, credit: 9)
        former.order(job("a"))
        let rig = try former.restarted()
        rig.connectClient()
        rig.order(job("b"), sequence: 2)
        let metrics = try metrics(rig)
        let (before, head) = (former.machine.head, rig.machine.head)
        #expect(metrics["samovar_turns_total{kind=input}"] == .int(1))
        let kinds = metrics.filter { $0.key.hasPrefix("samovar_turns_total") }.values.reduce(0) { $0 + ($1.number ?? 0) }
        #expect(before > 1 && kinds == head - before)
    }

    @Test func `While the disk is full, only what is on disk is told`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.commits = false
        rig.order(job("a"))
        rig.machine.journalIsFull(true, now: rig.now)
        let metrics = try metrics(rig)
        #expect(metrics["samovar_disk_full"] == .int(1) && metrics["samovar_phase{phase=disk_full}"] == .int(1))
        #expect(metrics["samovar_turn"] == metrics["samovar_durable_turn"])
        #expect(metrics["samovar_inputs_total{verdict=applied}"] == nil)
    }

    @Test func `However many queues there are, there are at most 1,500 series`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        for number in 0..<200 { _ = rig.machine.scheduler.dispatcher.meters.number(of: Queue("queue \(number)")) }
        rig.machine.scheduler.close(EffectID(turn: 1, ordinal: 0), as: .dropped, of: Queue("queue 150"))
        rig.machine.scheduler.close(EffectID(turn: 1, ordinal: 1), as: .dropped, of: Queue("other"))
        let metrics = try metrics(rig)
        #expect(metrics.count > 1_000 && metrics.count <= 1_500, "\(metrics.count)")
        #expect(metrics["samovar_effects_closed_total{queue=other,outcome=dropped}"] == .int(2))
    }

    @Test(
        arguments: [(0, 0), (64, 0), (65, 1), (256, 1), (257, 2), (67_108_864, 10), (67_108_865, 11), (.max, 11)] as [(Int64, Int)])
    func `A bucket ends with its bound`(_ microseconds: Int64, _ index: Int) {
        #expect(DurationBuckets.index(ofMicroseconds: microseconds) == index)
        #expect(DurationBuckets.bounds.firstIndex { $0.microseconds >= microseconds } ?? 11 == index)
    }
}

extension MessagePackValue {
    fileprivate var plain: String { if case .string(let text) = self { text } else { "\(self)" } }
    fileprivate var number: Int? { if case .int(let number) = self { Int(number) } else { nil } }
}
