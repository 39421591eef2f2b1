import Foundation
import Journal
import JournalChain
import SamovarCore
import SamovarStore
import Synchronization

/// The lease's own thread: renews when it is told to, so that the loop waits for no answer of the database, and notices when the session
/// of the lease has ended.
final class LeaseThread: Sendable {
    enum Event: Sendable {
        /// - Parameter durability: what the journal outlives by now.
        case renewed(JournalOwnership, durability: Durability)
        case failed(JournalError)
        /// The session has ended, and with it the lock that shows that this store lives.
        case disconnected
    }

    private enum Work: Sendable {
        case renew
        case release
    }

    /// How often the session is looked at: well within the time for which a standby must have seen its lock free.
    private static let look = DispatchTimeInterval.milliseconds(200)

    private let queue = WorkQueue<Work>()
    private let ended = DispatchSemaphore(value: 0)
    private let lease: any JournalLease
    private let duration: Duration
    private let report: @Sendable (Event) -> Void
    /// Why the journal could not be given up.
    private let problem = Mutex<JournalError?>(nil)

    init(_ lease: any JournalLease, _ settings: LeaseSettings, report: @escaping @Sendable (Event) -> Void) throws {
        self.lease = lease
        duration = settings.lease
        self.report = report
        try startThread("samovar-lease") { [self] in work() }
    }

    func renew() { queue.post(.renew) }

    /// Gives the journal up, and blocks until the database has heard of it, or 3 s.
    ///
    /// - Returns: why it has not; then the lease runs out by itself.
    func release() -> String? {
        queue.post(.release)
        guard ended.wait(timeout: .now() + 3) == .success else { return "the database does not answer" }
        return problem.withLock { $0?.description }
    }

    private func work() {
        var isTold = false
        while true {
            switch queue.next(until: .now() + Self.look) {
            case .renew: renewNow(&isTold)
            case .release: return releaseNow()
            case nil where lease.hasEnded && !isTold:
                isTold = true
                report(.disconnected)
            case nil: continue
            }
        }
    }

    private func renewNow(_ isTold: inout Bool) {
        do throws(JournalError) {
            report(.renewed(try lease.renew(for: duration), durability: try lease.durability()))
            isTold = false
        } catch {
            report(.failed(error))
        }
    }

    private func releaseNow() {
        do throws(JournalError) {
            try lease.release()
        } catch {
            problem.withLock { $0 = error }
        }
        ended.signal()
    }
}
