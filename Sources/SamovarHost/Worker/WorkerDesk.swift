import SamovarCore
import SamovarProtocol
import Synchronization
import ZeroMQ

/// The machine of a worker, entered by its loop and by its slots.
///
/// A slot whose job has ended tells the machine so itself, and the machine's next task is its next job: nothing is handed from
/// thread to thread as long as there is work. The loop hears of the answers when it next looks, and is woken once for all that came
/// together. What the machine says to anybody else is carried out by the loop, in order.
final class WorkerDesk: Sendable {
    /// A job for a slot.
    struct Assignment: Sendable {
        let task: JobTask
        let timeline: Timeline
    }

    private struct State: ~Copyable {
        var machine: WorkerMachine
        /// What the loop has to carry out.
        var actions: [WorkerMachine.Action] = []
        /// What the end of a job gave; kept for its memory.
        var atEnd: [WorkerMachine.Action] = []
        var freeSlots: [Int]
        var slotOf: [Lease: Int] = [:]
        /// The loop was woken and has not looked yet.
        var isLoopTold = false
    }

    private let state: Mutex<State>
    private let clock = HostClock()
    let wakeup: Wakeup

    init(_ machine: consuming sending WorkerMachine, slots: Int) throws(ZeroMQError) {
        wakeup = try Wakeup()
        state = Mutex(State(machine: machine, freeSlots: Array((0..<slots).reversed())))
    }

    func now() -> Timestamp { clock.now() }

    func milliseconds(until time: Timestamp?) -> Int? { clock.milliseconds(until: time) }

    // MARK: The loop

    /// When the loop has to look at the latest.
    var deadline: Timestamp? { state.withLock { $0.machine.deadline } }

    var timeline: Timeline { state.withLock { $0.machine.timeline } }

    /// The loop tells the machine something.
    func enter(_ body: (inout WorkerMachine) -> [WorkerMachine.Action]) {
        state.withLock { state in
            let actions = body(&state.machine)
            if !actions.isEmpty { state.actions += actions }
        }
    }

    /// The loop looks at everything now: whatever comes after this wakes it again.
    func beginRound() {
        wakeup.drain()
        state.withLock { $0.isLoopTold = false }
    }

    /// What is to be done now, in order.
    func takeActions() -> [WorkerMachine.Action] {
        state.withLock { state in
            let actions = state.actions
            state.actions.removeAll(keepingCapacity: true)
            return actions
        }
    }

    /// A free slot for a task that the machine starts.
    func assign(_ task: JobTask) -> (slot: Int, Assignment)? {
        state.withLock { state in
            guard let slot = state.freeSlots.popLast() else { return nil }
            state.slotOf[task.lease] = slot
            return (slot, Assignment(task: task, timeline: state.machine.timeline))
        }
    }

    func slot(of lease: Lease) -> Int? { state.withLock { $0.slotOf[lease] } }

    // MARK: Slots

    /// The handler of a job has ended. The slot's next job, if there is one; else the slot is free.
    func finished(_ lease: Lease, _ answer: JobResult.Answer, in slot: Int) -> Assignment? {
        let now = clock.now()
        let (next, isNews) = state.withLock { state in
            state.slotOf[lease] = nil
            var next: Assignment?
            state.machine.finished(lease, answer, now: now, into: &state.atEnd)
            for action in state.atEnd {
                if next == nil, case .start(let task) = action {
                    state.slotOf[task.lease] = slot
                    next = Assignment(task: task, timeline: state.machine.timeline)
                } else {
                    state.actions.append(action)
                }
            }
            state.atEnd.removeAll(keepingCapacity: true)
            if next == nil { state.freeSlots.append(slot) }
            defer { state.isLoopTold = true }
            return (next, !state.isLoopTold)
        }
        if isNews { wakeup.signal() }
        return next
    }

    /// What a running job says before its end.
    func take(_ news: JobNews) {
        let isNews = state.withLock { state in
            switch news {
            case .streamed(let lease, let index, let message, let checkpoint):
                state.machine.streamed(lease, index: index, message: message, checkpoint: checkpoint)
            case .progressed(let lease, let cell):
                if let progress = cell.take() { state.machine.progressed(lease, progress) }
            }
            defer { state.isLoopTold = true }
            return !state.isLoopTold
        }
        if isNews { wakeup.signal() }
    }

    /// The process is to stop in order.
    func drain() {
        enter { $0.drain(now: clock.now()) }
        wakeup.signal()
    }
}
