public import SamovarCore
public import SamovarProtocol
import ZeroMQ

/// The machine of a worker, entered by its loop and by its slots.
///
/// A slot whose job has ended tells the machine so itself, and the machine's next task is its next job: nothing is handed from
/// thread to thread as long as there is work. The loop hears of the answers when it next looks, and is woken once for all that came
/// together. What the machine says to anybody else is carried out by the loop, in order.
///
/// The loop moderates itself as a network card does. An answer that comes to a loop at rest leaves at once; those that come right
/// after it gather for a moment, unless a slot has nothing else to do.
@usableFromInline
final class WorkerDesk: Sendable {
    /// A job for a slot.
    @usableFromInline
    struct Assignment: Sendable {
        @usableFromInline let task: JobTask
        @usableFromInline let timeline: Timeline
    }

    /// What the loop is doing.
    private enum Loop {
        /// It looks before it rests.
        case works
        /// It has sent answers a moment ago and looks again in a moment: only what may not wait wakes it.
        case gathers
        /// Anything wakes it.
        case rests
    }

    private struct State: ~Copyable {
        var machine: WorkerMachine
        /// What the loop has to carry out.
        var actions: [WorkerMachine.Action] = []
        var freeSlots: [Int]
        /// The job of each slot.
        var leases: [Lease?]
        var loop = Loop.works
        /// Something has happened since the loop last looked.
        var hasNews = false

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
        state = ShortLock(State(machine: machine, freeSlots: free, leases: Array(repeating: nil, count: slots)))
    }

    func now() -> Timestamp { clock.now() }

    // MARK: The loop

    /// How long answers gather.
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

    /// The loop tells the machine something.
    func enter(_ body: (inout WorkerMachine) -> [WorkerMachine.Action]) {
        state.withLock { state in
            let actions = body(&state.machine)
            if !actions.isEmpty { state.actions += actions }
        }
    }

    /// The loop has told the machine what has come and looks at everything else: what is to be done now, in order.
    func look(now: Timestamp, isBroken: Bool) -> [WorkerMachine.Action] {
        state.withLock { state in
            state.loop = .works
            state.hasNews = false
            var actions = state.actions
            state.actions = []
            if isBroken { actions += state.machine.disconnected(now: now) }
            actions += state.machine.ticked(now: now)
            actions += state.machine.flush(now: now)
            return actions
        }
    }

    var timeline: Timeline { state.withLock { $0.machine.timeline } }

    /// A free slot for a task that the machine starts.
    func assign(_ task: JobTask) -> (slot: Int, Assignment)? {
        state.withLock { state in
            guard let slot = state.freeSlots.popLast() else { return nil }
            state.leases[slot] = task.lease
            return (slot, Assignment(task: task, timeline: state.machine.timeline))
        }
    }

    func slot(of lease: Lease) -> Int? { state.withLock { $0.leases.firstIndex(of: lease) } }

    // MARK: Slots

    /// The handler of a job has ended. The slot's next job, if there is one; else the slot is free.
    func finished(_ lease: Lease, _ answer: JobResult.Answer, in slot: Int) -> Assignment? {
        finished(in: slot) { $0.finished(lease, answer, now: clock.now, into: &$1) }
    }

    /// The same for an answer of one message.
    func finished(_ lease: Lease, message: UnsafeRawBufferPointer, in slot: Int) -> Assignment? {
        finished(in: slot) { $0.finished(lease, message: message, now: clock.now, into: &$1) }
    }

    @inline(__always)
    private func finished(
        in slot: Int, _ finish: (inout WorkerMachine, inout [WorkerMachine.Action]) -> JobTask?
    ) -> Assignment? {
        let (next, wakesLoop) = state.withLock { state -> (Assignment?, Bool) in
            let next = finish(&state.machine, &state.actions)
            state.leases[slot] = next?.lease
            guard let next else {
                state.freeSlots.append(slot)
                return (nil, state.tellLoop())
            }
            return (Assignment(task: next, timeline: state.machine.timeline), state.tellLoop(urgently: false))
        }
        if wakesLoop { wakeup.signal() }
        return next
    }

    /// What a running job says before its end.
    func take(_ news: JobNews) {
        let wakesLoop = state.withLock { state in
            switch news {
            case .streamed(let lease, let index, let message, let checkpoint):
                state.machine.streamed(lease, index: index, message: message, checkpoint: checkpoint)
            case .progressed(let lease, let cell):
                if let progress = cell.take() { state.machine.progressed(lease, progress) }
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
