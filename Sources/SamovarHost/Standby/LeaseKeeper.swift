import Journal
import SamovarCore
import SamovarStore

/// The lease of a store that serves, as its loop keeps it: machine and thread, and what the store was told of it.
struct LeaseKeeper: ~Copyable {
    private var machine: LeaseMachine
    private let thread: LeaseThread
    private var isInDoubt = false
    /// The last renewal has failed in this way, and that was told.
    private var failure: JournalError.Code?
    private var isHandingOver = false
    private var isToldToEnd = false
    private var isReleased = false

    /// Whether this store ends only because another one wants the journal. It may have gone meanwhile: then somebody has to take the journal
    /// back.
    var shallFollow: Bool { isHandingOver && !isToldToEnd }

    /// - Parameter taken: when the journal was asked for.
    init(_ thread: LeaseThread, _ settings: LeaseSettings, epoch: Int, taken: Timestamp) {
        machine = LeaseMachine(settings, epoch: epoch, now: taken)
        self.thread = thread
    }

    func deadline(now: Timestamp) -> Timestamp? { machine.deadline(now: now) }

    /// Renews the lease when it is time, and tells the store whether that is in doubt.
    mutating func tend(_ store: inout StoreMachine, now: Timestamp) {
        if case .renew = machine.ticked(durable: store.durable, now: now) {
            store.leaseIsAsked()
            thread.renew()
        }
        let former = isInDoubt
        isInDoubt = machine.isInDoubt(now: now)
        if isInDoubt != former { store.leaseIsInDoubt(isInDoubt, now: now) }
    }

    /// The process is told to end, whoever wants the journal.
    mutating func end() { isToldToEnd = true }

    /// There is a reason to renew it at once.
    mutating func hurry(now: Timestamp) { machine.hurry(now: now) }

    /// - Returns: what to do, and what is wrong if that is news.
    mutating func take(_ event: LeaseThread.Event, now: Timestamp) -> (action: LeaseAction?, problem: JournalError?) {
        switch event {
        case .renewed(let found, _):
            failure = nil
            let action = machine.renewed(found, now: now)
            if action == .handOver { isHandingOver = true }
            return (action, nil)
        case .failed(let error):
            machine.failed(now: now)
            let isNews = failure != error.code
            failure = error.code
            return (nil, isNews ? error : nil)
        case .disconnected:
            machine.hurry(now: now)
            return (nil, nil)
        }
    }

    /// Gives the journal up, unless it has done so.
    ///
    /// - Returns: why it could not; then its lease runs out by itself.
    mutating func release() -> String? {
        guard !isReleased else { return nil }
        isReleased = true
        return thread.release()
    }
}
