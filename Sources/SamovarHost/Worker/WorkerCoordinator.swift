import SamovarCore
import SamovarPeers
import SamovarWire
import SamovarWorker
import ZeroMQ

/// The machine of a worker, entered by its loop and by its slots.
///
/// A slot whose job has ended tells the machine so itself, and the machine's next task is its next job: nothing is handed from
/// thread to thread as long as there is work. The loop hears of the answers when it next looks, and is woken once for all that came
/// together. What the machine says to anybody else is carried out by the loop, in order.
///
/// The loop moderates itself as a network card does. An answer that comes to a loop at rest leaves at once; those that come right
/// after it gather for a moment, unless a slot has nothing else to do.
final class WorkerCoordinator: SlotCoordinator {
    /// What the loop is doing.
    private enum Loop {
        /// It looks before it rests.
        case works
        /// It has sent answers a moment ago and looks again in a moment: only what may not wait wakes it.
        case gathers
        /// Anything wakes it.
        case rests
    }

    private struct SlotState {
        /// The job of the slot.
        var lease: Lease?
        /// The job was told to stop.
        var isInterrupted = false
        /// The slot has a task that runs jobs. One whose job was told to stop runs no other, and the slot is between two tasks then.
        var hasTask = false
        /// The context of the job once it streams.
        var streaming: JobContext?
    }

    private struct State: ~Copyable {
        var machine: WorkerMachine
        /// What the loop has to carry out.
        var actions: [WorkerMachine.Action] = []
        var freeSlots: [Int]
        var slotStates: [SlotState]
        var loop = Loop.works
        /// Something has happened since the loop last looked.
        var hasNews = false
        var hasBegun = false
        /// How the worker has ended.
        var end: Result<Void, any Error>?

        /// Whether the loop must be woken for what has just happened.
        mutating func tellLoop(urgently: Bool = true) -> Bool {
            hasNews = true
            switch loop {
            case .works: return false
            case .gathers where !urgently: return false
            case .gathers, .rests:
                loop = .works
                return true
            }
        }
    }

    private let state: ShortLock<State>
    private let clock = HostClock()
    let wakeup: Wakeup

    init(_ machine: consuming sending WorkerMachine, slots: Int) throws(ZeroMQError) {
        wakeup = try Wakeup()
        let free = Array((0..<slots).reversed())
        state = ShortLock(State(machine: machine, freeSlots: free, slotStates: Array(repeating: SlotState(), count: slots)))
    }

    func now() -> Timestamp { clock.now() }

    // MARK: The loop

    private static let gathering = 100

    /// Waits a moment for more answers, if all slots are at work.
    func gather() {
        let mayWait = state.withLock { state in
            guard state.freeSlots.isEmpty else { return false }
            state.loop = .gathers
            return true
        }
        if mayWait { wakeup.wait(microseconds: Self.gathering) }
    }

    /// How long the loop may rest, in milliseconds; nil for ever. Whatever comes after this wakes it.
    func rest() -> Int? {
        let (hasNews, deadline) = state.withLock { state in
            state.loop = state.hasNews ? .works : .rests
            return (state.hasNews, state.hasNews ? nil : state.machine.deadline)
        }
        return hasNews ? 0 : clock.milliseconds(until: deadline)
    }

    /// A frame came from the store.
    ///
    /// - Returns: whether the machine believes that it is the store.
    func received(_ envelope: Envelope, now: Timestamp) -> Bool {
        state.withLock { state in
            let actions = state.machine.received(envelope, now: now)
            if !actions.isEmpty { state.actions += actions }
            return state.machine.isConnected
        }
    }

    /// The loop has told the machine what has come and looks at everything else: what is to be done now, in order.
    func look(now: Timestamp, places: Int, end: Disconnection?) -> [WorkerMachine.Action] {
        state.withLock { state in
            state.loop = .works
            state.hasNews = false
            var actions = state.actions
            state.actions = []
            state.machine.places = places
            if let end { actions += state.machine.disconnected(now: now, because: end) }
            actions += state.machine.ticked(now: now)
            actions += state.machine.flush(now: now)
            return actions
        }
    }

    /// See ``WorkerMachine/keyShown(_:)``.
    func keyShown(_ key: Fingerprint?) { state.withLock { $0.machine.keyShown(key) } }

    /// See ``WorkerMachine/keyFound(_:now:)``.
    func keyFound(_ key: Fingerprint?) -> [WorkerMachine.Action] {
        state.withLock { $0.machine.keyFound(key, now: clock.now()) }
    }

    /// The worker begins: what comes of that if it has begun before.
    func begin() -> Result<Void, any Error>? {
        state.withLock { state in
            defer { state.hasBegun = true }
            return state.end ?? (state.hasBegun ? .failure(WorkerError(description: "this worker runs already")) : nil)
        }
    }

    /// The loop and the slots have ended.
    func ended(_ end: Result<Void, any Error>) { state.withLock { $0.end = end } }

    /// A free slot for a task that the machine starts.
    func assign(_ task: JobTask) -> Int? {
        state.withLock { state in
            guard let slot = state.freeSlots.popLast() else { return nil }
            state.slotStates[slot].lease = task.lease
            return slot
        }
    }

    func slot(of lease: Lease) -> Int? { state.withLock { $0.slotStates.firstIndex { $0.lease == lease } } }

    /// Under the lock, so before the job can end.
    func cancel(_ lease: Lease, in slot: Int, _ interrupt: () -> Void) {
        let streaming = state.withLock { state -> JobContext? in
            guard state.slotStates[slot].lease == lease else { return nil }
            state.slotStates[slot].isInterrupted = true
            if state.slotStates[slot].hasTask { interrupt() }
            return state.slotStates[slot].streaming
        }
        streaming?.stop()
    }

    /// What a job has streamed is on disk up to a place.
    func acknowledged(_ mark: StreamMark) {
        state.withLock { $0.slotStates.first { $0.lease == mark.lease }?.streaming }?.acknowledged(mark)
    }

    // MARK: Slots

    func began(_ slot: Int, _ interrupt: () -> Void) {
        state.withLock { state in
            state.slotStates[slot].hasTask = true
            if state.slotStates[slot].isInterrupted { interrupt() }
        }
    }

    func finished(_ lease: Lease, _ answer: JobResult.Answer, in slot: Int, next job: RunningJob) -> JobEnd {
        if Task.isCancelled { return stopped(lease, in: slot, next: job) }
        return finished(in: slot, job) { $0.finished(lease, answer, now: { clock.now() }, into: &$1, next: job) }
    }

    func finished(_ lease: Lease, message: UnsafeRawBufferPointer, in slot: Int, next job: RunningJob) -> JobEnd {
        if Task.isCancelled { return stopped(lease, in: slot, next: job) }
        return finished(in: slot, job) { $0.finished(lease, message: message, now: { clock.now() }, into: &$1, next: job) }
    }

    /// A job has ended in a cancelled task, so that nobody knows whether its handler has done all that it had to do. Either the job was told
    /// to stop, and no answer is wanted. Or all slots are cancelled with their host: it is given back, and no other is begun.
    private func stopped(_ lease: Lease, in slot: Int, next job: RunningJob) -> JobEnd {
        let isInterrupted = state.withLock { $0.slotStates[slot].isInterrupted }
        if !isInterrupted { drain() }
        return finished(in: slot, job) { $0.finished(lease, .returned, now: { clock.now() }, into: &$1, next: job) }
    }

    @inline(__always)
    private func finished(
        in slot: Int, _ job: RunningJob, _ finish: (inout WorkerMachine, inout [WorkerMachine.Action]) -> Bool
    ) -> JobEnd {
        let (end, wakesLoop) = state.withLock { state -> (JobEnd, Bool) in
            let hasNext = finish(&state.machine, &state.actions)
            let end = JobEnd(hasNext: hasNext, isInterrupted: state.slotStates[slot].isInterrupted)
            state.slotStates[slot] = SlotState(lease: hasNext ? job.lease : nil, hasTask: !end.isInterrupted)
            if !hasNext { state.freeSlots.append(slot) }
            return (end, state.tellLoop(urgently: !hasNext))
        }
        if wakesLoop { wakeup.signal() }
        return end
    }

    func take(_ event: JobEvent, from slot: Int) {
        let wakesLoop = state.withLock { state in
            switch event {
            case .streamed(let context, let index, let message, let checkpoint):
                state.slotStates[slot].streaming = context
                if state.slotStates[slot].isInterrupted { context.refuseStreams() }
                state.machine.streamed(context.job.lease, index: index, message: message, checkpoint: checkpoint)
            case .progressed(let lease, let progress): state.machine.progressed(lease, progress)
            }
            return state.tellLoop()
        }
        if wakesLoop { wakeup.signal() }
    }

    /// The process is to stop in order.
    func drain() {
        let now = clock.now()
        let wakesLoop = state.withLock { state in
            state.actions += state.machine.drain(now: now)
            return state.tellLoop()
        }
        if wakesLoop { wakeup.signal() }
    }
}
