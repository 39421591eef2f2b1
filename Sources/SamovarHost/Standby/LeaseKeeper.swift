import Journal
import SamovarCore
import SamovarStore

/// The lease of a store that serves, as its loop keeps it: machine and thread, and what the store was told of it.
struct LeaseKeeper: ~Copyable {
    private var machine: LeaseMachine
    private let thread: LeaseThread
    private var isInDoubt = false
    /// The last renewal has failed, and that was told.
    private var hasFailed = false

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

    /// There is a reason to renew it at once.
    mutating func hurry(now: Timestamp) { machine.hurry(now: now) }

    /// - Returns: what to do, and what is wrong if that is news.
    mutating func take(_ event: LeaseThread.Event, now: Timestamp) -> (action: LeaseAction?, problem: JournalError?) {
        switch event {
        case .renewed(let found, _):
            hasFailed = false
            return (machine.renewed(found, now: now), nil)
        case .failed(let error):
            machine.failed(now: now)
            let isNews = !hasFailed
            hasFailed = true
            return (nil, isNews ? error : nil)
        case .disconnected:
            machine.hurry(now: now)
            return (nil, nil)
        }
    }

    /// Gives the journal up.
    ///
    /// - Returns: why it could not; then its lease runs out by itself.
    func release() -> String? { thread.release() }
}
