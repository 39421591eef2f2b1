import MessagePack
import SamovarCore
import SamovarPeers
import SamovarWire

@testable import SamovarConformance

/// Our worker machine, and the handlers of the program `Conform`.
final class VirtualWorker: VirtualPeer {
    private struct Running {
        let task: JobTask
        let effect: Value
        var end: Timestamp
        var window: StreamWindow
        var isCancelled = false
        /// How often it has told of its progress.
        var reports: Int64 = 0
    }

    var deeds: [Deed] = []
    private var machine: WorkerMachine
    private var running: [Lease: Running] = [:]
    /// How long a handler goes on when it is told to stop.
    private let lag: Duration

    init(
        settings: WorkerMachine.Settings = .standard, slots: Int = 2, readAhead: Int = 2, lag: Duration = .zero, seed: UInt64 = 1
    ) {
        let offer = WorkerOffer(id: WorkerID(high: 1, low: 2), slots: slots, queues: [.default])
        machine = WorkerMachine(
            offer, schema: Schema(name: "Conform", version: 1), readAhead: readAhead, settings: settings,
            random: Random(seed: seed))
        self.lag = lag
    }

    var deadline: Timestamp? { ([machine.deadline] + running.values.map { $0.end }).compactMap { $0 }.min() }

    func received(_ parts: [[UInt8]], now: Timestamp) {
        // What is no frame is dropped.
        if let envelope = try? Envelope(parts: parts) { perform(machine.received(envelope, now: now), now) }
        finish(now)
    }

    func ticked(now: Timestamp) {
        perform(machine.ticked(now: now), now)
        finish(now)
    }

    func read(_ line: String?, now: Timestamp) {}

    func terminate(now: Timestamp) {
        perform(machine.drain(now: now), now)
        finish(now)
    }

    private func perform(_ actions: [WorkerMachine.Action], _ now: Timestamp) {
        for action in actions {
            switch action {
            case .connect: deeds.append(.connect)
            case .disconnect: deeds.append(.disconnect)
            case .send(let envelope): deeds.append(.send(envelope.parts))
            case .start(let task, _): start(task, now)
            case .cancel(let lease):
                running[lease]?.isCancelled = true
                running[lease]?.end = now + lag
            case .acknowledged(let mark): running[mark.lease]?.window.acknowledged(through: mark.index)
            case .checkKey: perform(machine.keyFound(nil, now: now), now)
            case .keyRefused: break
            case .refused: deeds.append(.exit(78))
            case .stop: deeds.append(.exit(0))
            case .note: break
            }
        }
    }

    private func start(_ task: JobTask, _ now: Timestamp) {
        let effect = Value.binary(Array(task.payload)).unpacked ?? .nil
        let milliseconds = effect["sleep"]?["milliseconds"]?.integer ?? 0
        running[task.lease] = Running(
            task: task, effect: effect, end: now + .milliseconds(milliseconds), window: StreamWindow(after: task.resume))
    }

    /// Lets handlers go on, and sends what has gathered.
    private func finish(_ now: Timestamp) {
        while let (lease, answer) = nextAnswer(now) {
            running[lease] = nil
            perform(machine.finished(lease, answer, now: now), now)
        }
        perform(machine.flush(now: now), now)
    }

    private func nextAnswer(_ now: Timestamp) -> (Lease, JobResult.Answer)? {
        for lease in running.keys.sorted() {
            guard var job = running[lease] else { continue }
            if job.isCancelled {
                guard now >= job.end else { continue }
                return (lease, .failed(.threw, "cancelled", permanent: false))
            }
            if let count = job.effect["stream"]?["count"]?.integer {
                while job.window.last < count, let index = job.window.next(size: 20) {
                    let message = packed([Stage.counted(Int64(index))])
                    machine.streamed(lease, index: index, message: message, checkpoint: [1])
                }
                running[lease] = job
                // A handler that waits for room looks again when there is some.
                running[lease]?.end = job.window.last < count ? .init(microseconds: .max) : now
                if job.window.last < count { continue }
            }
            if let count = job.effect["report"]?["count"]?.integer, job.reports < count, now >= job.end {
                job.reports += 1
                job.end = now + .milliseconds(100)
                running[lease] = job
                machine.progressed(lease, JobProgress(fraction: Double(job.reports) / Double(count)))
            }
            if let end = running[lease]?.end, now >= end { return (lease, answer(job.effect)) }
        }
        return nil
    }

    private func answer(_ effect: Value) -> JobResult.Answer {
        if let text = effect["echo"]?["text"]?.string { return .done(MessageList([packed([Stage.echoed(text)])])) }
        if let text = effect["fail"]?["text"]?.string {
            return .failed(.threw, text, permanent: effect["fail"]?["permanent"] == true)
        }
        if let count = effect["send"]?["count"]?.integer {
            return .done(MessageList((1...count).map { packed([Stage.counted($0)]) }))
        }
        if effect["sleep"] != nil || effect["report"] != nil { return .done(MessageList([packed([["slept": [:]]])])) }
        return effect["stream"] != nil ? .done(MessageList([])) : .failed(.unhandled, "unknown", permanent: true)
    }
}
