import CrashPoints
import Logging
import SamovarCore
import SamovarPeers
import SamovarWire
import SamovarWorker
import ZeroMQ

/// The loop of a worker: hands frames and time to the machine, and carries out what it says.
struct WorkerLoop: ~Copyable {
    let store: StoreAccess
    let coordinator: WorkerCoordinator
    let slots: [JobRunner]
    let logger: Logger
    var isStopping = false

    mutating func run() throws {
        let context = try Context.shared()
        var socket = PeerSocket(context, options: .worker, to: store, at: .work)
        var poller = Poller()
        let wakeup = poller.add(coordinator.wakeup)
        while !isStopping {
            socket.prepare(&poller)
            try poller.wait(timeoutMilliseconds: coordinator.rest())
            if poller.isReadable(wakeup) { coordinator.wakeup.drain() }
            let now = coordinator.now()
            let end = try socket.receiveEnvelopes(&poller) { envelope in
                CrashPoint.pass(.workerBeforeAcknowledge, if: envelope.kind == .acknowledge)
                return coordinator.received(envelope, now: now)
            }
            var hasAnswered = false
            for action in coordinator.look(now: now, places: socket.places, end: end) {
                if case .send(let envelope) = action, envelope.kind == .result { hasAnswered = true }
                try perform(action, &socket, &poller)
            }
            if hasAnswered { coordinator.gather() }
        }
    }

    private mutating func perform(
        _ action: WorkerMachine.Action, _ socket: inout PeerSocket, _ poller: inout Poller
    ) throws {
        switch action {
        case .connect:
            try socket.connect(&poller)
            coordinator.keyShown(socket.shownKey)
        case .disconnect: socket.disconnect(&poller)
        case .send(let envelope):
            CrashPoint.pass(.workerBeforeResult, if: envelope.kind == .result)
            try socket.send(envelope.parts)
        case .start(let task, let timeline):
            guard let slot = coordinator.assign(task) else { return logger.error("no slot is free for job \(task.effect)") }
            slots[slot].give(task, in: timeline)
        case .cancel(let lease):
            if let slot = coordinator.slot(of: lease) { slots[slot].cancel(lease) }
        case .acknowledged(let mark): coordinator.acknowledged(mark)
        case .checkKey:
            for action in coordinator.keyFound(socket.readKey()) { try perform(action, &socket, &poller) }
        case .keyRefused(let reason):
            logger.warning("the store does not let this worker in, which is tried again: \(reason)")
        case .refused(let error):
            throw WorkerError(isForbidden: error.code == .forbidden, description: "the store refuses this worker: \(error)")
        case .stop:
            // LINGER is 0: what was sent a moment ago still has to leave.
            try poller.wait(timeoutMilliseconds: 20)
            isStopping = true
        case .note(let text): logger.info("\(text)")
        }
    }
}
