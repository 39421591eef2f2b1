import CrashPoints
import Logging
import SamovarCore
import SamovarProtocol
import ZeroMQ

/// The loop of a worker: hands frames, time and finished jobs to the machine, and carries out what it says.
struct WorkerLoop: ~Copyable {
    enum News: Sendable {
        case job(JobNews)
        case drain
    }

    enum SlotOrder {
        case run(JobTask, timeline: Timeline)
        case cancel(Lease)
        case acknowledged(StreamMark)
    }

    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let mailbox: Mailbox<News>
    private let order: (Int, SlotOrder) -> Void
    private var machine: WorkerMachine
    private var freeSlots: [Int]
    private var slotOf: [Lease: Int] = [:]
    private let clock = HostClock()
    private var isStopping = false
    /// What is left of the 5 s that a supervisor gives is for giving jobs back and saying goodbye.
    private static let drain = Duration.seconds(3)

    init(
        _ configuration: WorkerConfiguration, schema: Schema, logger: Logger, mailbox: Mailbox<News>, slots: Int,
        order: @escaping (Int, SlotOrder) -> Void
    ) {
        self.configuration = configuration
        self.logger = logger
        self.mailbox = mailbox
        self.order = order
        let offer = WorkerOffer(
            id: configuration.id, slots: slots, queues: configuration.queues, limits: configuration.limits)
        machine = WorkerMachine(
            offer, schema: schema, readAhead: configuration.readAhead, settings: WorkerMachine.Settings(drain: Self.drain),
            random: Random(seed: .random(in: .min ... .max)))
        freeSlots = Array((0..<slots).reversed())
    }

    mutating func run() throws {
        let context = try Context()
        var socket = PeerSocket(context, options: .worker, address: configuration.endpoint.work)
        var poller = Poller()
        let wakeup = poller.add(mailbox.wakeup)
        while !isStopping {
            socket.prepare(&poller)
            try poller.wait(timeoutMilliseconds: clock.milliseconds(until: machine.deadline))
            let now = clock.now()
            var actions: [WorkerMachine.Action] = []
            if poller.isReadable(wakeup) {
                for news in mailbox.takeAll() { actions += take(news, now) }
            }
            try socket.sendWaiting()
            _ = try socket.receive { envelope in
                CrashPoint.pass(.workerBeforeAcknowledge, if: envelope.frame.kind == .acknowledge)
                actions += machine.received(envelope, now: now)
            }
            if try socket.connectionBroke() { actions += machine.disconnected(now: now) }
            actions += machine.ticked(now: now)
            actions += machine.flush(now: now)
            for action in actions { try perform(action, &socket, &poller) }
        }
    }

    private mutating func take(_ news: News, _ now: Timestamp) -> [WorkerMachine.Action] {
        switch news {
        case .job(.streamed(let lease, let index, let message, let checkpoint)):
            machine.streamed(lease, index: index, message: message, checkpoint: checkpoint)
            return []
        case .job(.progressed(let lease, let cell)):
            if let progress = cell.take() { machine.progressed(lease, progress) }
            return []
        case .job(.finished(let lease, let answer)):
            if let slot = slotOf.removeValue(forKey: lease) { freeSlots.append(slot) }
            return machine.finished(lease, answer, now: now)
        case .drain: return machine.drain(now: now)
        }
    }

    private mutating func perform(
        _ action: WorkerMachine.Action, _ socket: inout PeerSocket, _ poller: inout Poller
    ) throws {
        switch action {
        case .connect: try socket.connect(&poller)
        case .disconnect: socket.disconnect(&poller)
        case .send(let envelope):
            CrashPoint.pass(.workerBeforeResult, if: envelope.frame.kind == .result)
            try socket.send(envelope)
        case .start(let task):
            guard let slot = freeSlots.popLast() else { return logger.error("no slot is free for job \(task.effect)") }
            slotOf[task.lease] = slot
            order(slot, .run(task, timeline: machine.timeline))
        case .cancel(let lease):
            if let slot = slotOf[lease] { order(slot, .cancel(lease)) }
        case .acknowledged(let mark):
            if let slot = slotOf[mark.lease] { order(slot, .acknowledged(mark)) }
        case .refused(let error): throw WorkerError(description: "the store refuses this worker: \(error)")
        case .stop:
            // LINGER is 0: what was sent a moment ago still has to leave.
            try poller.wait(timeoutMilliseconds: 20)
            isStopping = true
        case .note(let text):
            // Until the store has answered for the first time, its absence is no news: it may only be starting.
            logger.log(level: machine.timeline == .zero ? .debug : .info, "\(text)")
        }
    }
}
