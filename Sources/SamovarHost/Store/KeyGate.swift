import Foundation
import SamovarCore
package import SamovarWire
import Synchronization
package import ZeroMQ

/// Decides who comes in at the doors of a store: over `ipc` its own user, over the network whoever has a key of the table. The threads of
/// ZeroMQ ask it; the table is replaced as a whole.
package final class KeyGate: Sendable {
    private struct State {
        var table: KeyTable
        /// A key of the store itself, with which it tries its doors.
        var trial: Fingerprint?
    }

    /// What sockets call the store's own user.
    static let localUserID = "local"

    private let state: Mutex<State>
    private let clock: HostClock
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - clock: the store's own time, by which keys expire.
    ///   - report: hears of those that were not let in, of each address at most once in ten seconds.
    package init(_ table: KeyTable, _ clock: HostClock, report: @escaping @Sendable (String) -> Void) {
        state = Mutex(State(table: table))
        self.clock = clock
        self.report = report
    }

    /// Who came in is looked at again by the store, with each frame; see `StoreMachine`.
    func replace(_ table: KeyTable) { state.withLock { $0.table = table } }

    /// Lets a key in, at every door, as long as `body` takes. Who is turned away meanwhile is not reported.
    func admitting<Result, Failure>(_ key: CurvePublicKey, _ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        state.withLock { $0.trial = Fingerprint(of: key) }
        defer { state.withLock { $0.trial = nil } }
        return try body()
    }

    static func identity(of userID: String) -> Identity? {
        userID == localUserID ? .local : Fingerprint(userID).map { .key($0) }
    }

    // MARK: Authenticators

    /// For sockets in a folder: the user of the store, and nobody else, not even root.
    func local(_ context: Context) throws(ZeroMQError) -> Authenticator {
        try Authenticator(context, named: Self.localUserID) { request in
            request.credentials == .user(geteuid()) ? .accept(userID: Self.localUserID) : .refuse
        } report: { [report] refusal in
            report("\(refusal.address) is not let in over ipc, which is for the user of the store\(Self.more(refusal))")
        }
    }

    /// For ports without keys, which somebody has asked for: everybody.
    func open(_ context: Context) throws(ZeroMQError) -> Authenticator {
        try Authenticator(context, named: "open") { request in
            request.credentials == .none ? .accept(userID: Self.localUserID) : .refuse
        }
    }

    /// For a port: the keys that have business there.
    package func door(_ door: Door, _ context: Context) throws(ZeroMQError) -> Authenticator {
        try Authenticator(context, named: door.rawValue) { [self] request in
            guard case .key(let key) = request.credentials else { return .refuse }
            let fingerprint = Fingerprint(of: key)
            let state = state.withLock(\.self)
            guard fingerprint == state.trial || state.table.admits(fingerprint, at: door, now: clock.now()) else { return .refuse }
            return .accept(userID: "\(fingerprint)")
        } report: { [self] refusal in
            let state = state.withLock(\.self)
            guard state.trial == nil else { return }
            let reason = reason(refusal.credentials, door, state.table)
            report("\(refusal.address) is not let in at \(door): \(reason)\(Self.more(refusal))")
        }
    }

    private func reason(_ credentials: ZAPRequest.Credentials?, _ door: Door, _ table: KeyTable) -> String {
        guard case .key(let publicKey)? = credentials else { return "it has no key" }
        let fingerprint = Fingerprint(of: publicKey)
        guard let key = table[fingerprint] else { return "nobody has the key \(fingerprint)" }
        guard key.isValid(now: clock.now()) else { return "the key \(key.name) (\(fingerprint)) has expired" }
        return "the key \(key.name) (\(fingerprint)) has no business there"
    }

    private static func more(_ refusal: Authenticator.Refusal) -> String {
        refusal.unreported == 0 ? "" : " (and \(refusal.unreported) more from this address before)"
    }
}
