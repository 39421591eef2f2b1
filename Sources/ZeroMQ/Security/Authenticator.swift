import Synchronization

/// Decides who may connect to the sockets that have it in their ``SocketOptions/security``.
///
/// ```swift
/// let authenticator = try Authenticator(context, named: "front") { request in
///     guard case .key(let key) = request.credentials, let name = names[key] else { return .refuse }
///     return .accept(userID: name)
/// } report: { refusal in
///     print("\(refusal.address) is refused")
/// }
/// var options = SocketOptions.front
/// options.security = .curveServer(secretKey, authenticator)
/// ```
///
/// It decides once for each connection, when that begins: who was let in stays, also when its key is taken away. libzmq asks it by its
/// protocol ZAP, and lets nobody in if there is no answer.
///
/// All authenticators of a context have one thread, which begins with the first of them and ends with the last. A socket holds its own.
public final class Authenticator: Sendable {
    /// Somebody was not let in.
    public struct Refusal: Hashable, Sendable {
        /// Where it came from.
        public let address: String
        /// Who it was; nil if what it offered can never be granted.
        public let credentials: ZAPRequest.Credentials?
        /// How many there were from that address that were not reported, since the last one that was.
        public let unreported: Int
    }

    /// How often it has decided, and how.
    public struct Counts: Hashable, Sendable {
        public var accepted = 0
        public var refused = 0
    }

    /// The name of what it decides about, which no other authenticator has.
    public let domain: String
    private let handler: ZAPHandler
    private let desk: AuthenticatorDesk

    /// Begins to answer.
    ///
    /// - Parameters:
    ///   - name: begins the name of the domain.
    ///   - decide: is called on the thread of the authenticators, and answers at once, from memory.
    ///   - report: is called there, too: for each address at most once in ten seconds.
    /// - Throws: ``ZeroMQError`` if the context has no socket left.
    public init(
        _ context: Context, named name: String, decide: @escaping @Sendable (ZAPRequest) -> ZAPVerdict,
        report: @escaping @Sendable (Refusal) -> Void = { _ in }
    ) throws(ZeroMQError) {
        domain = "\(name)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        desk = AuthenticatorDesk(decide: decide, report: report)
        handler = try ZAPHandler.join(context, domain, desk)
    }

    deinit { leave() }

    /// From here on nobody is let in.
    func leave() { handler.leave(domain) }

    /// Begins anew with reports: what comes next is the first of its address.
    public func forgetReports() { desk.forgetReports() }

    /// How often it has decided until now.
    public var counts: Counts { desk.counts }
}

/// What the thread needs of an authenticator, without holding it.
final class AuthenticatorDesk: Sendable {
    private struct State {
        var counts = Authenticator.Counts()
        var reports = RefusalReports()
    }

    private let decide: @Sendable (ZAPRequest) -> ZAPVerdict
    private let report: @Sendable (Authenticator.Refusal) -> Void
    private let state = Mutex(State())

    init(
        decide: @escaping @Sendable (ZAPRequest) -> ZAPVerdict, report: @escaping @Sendable (Authenticator.Refusal) -> Void
    ) {
        self.decide = decide
        self.report = report
    }

    var counts: Authenticator.Counts { state.withLock(\.counts) }

    func forgetReports() { state.withLock { $0.reports = RefusalReports() } }

    /// - Parameter request: nil for one that is never granted.
    func verdict(on request: ZAPRequest?) -> ZAPVerdict {
        let verdict = request.map(decide) ?? .refuse
        let address = request?.address ?? ""
        let refusal = state.withLock { state -> Authenticator.Refusal? in
            if case .accept(let userID) = verdict, !userID.isEmpty {
                state.counts.accepted += 1
                return nil
            }
            state.counts.refused += 1
            return state.reports.refused(address, now: .now).map {
                Authenticator.Refusal(address: address, credentials: request?.credentials, unreported: $0)
            }
        }
        if let refusal { report(refusal) }
        return verdict
    }
}

/// Which refusals are reported: one for each address in ten seconds, so that whoever tries again and again does not fill a log.
struct RefusalReports {
    private struct Address {
        var reported: ContinuousClock.Instant
        var unreported = 0
    }

    static let interval = Duration.seconds(10)
    /// Beyond it, addresses are forgotten that have not been reported for so long that the next time they may be.
    static let maximumAddresses = 1024
    private var addresses: [String: Address] = [:]

    /// Nil if it is not reported; otherwise how many were not, since the one before.
    mutating func refused(_ address: String, now: ContinuousClock.Instant) -> Int? {
        if let known = addresses[address] {
            guard now - known.reported >= Self.interval else {
                addresses[address]?.unreported += 1
                return nil
            }
            addresses[address] = Address(reported: now)
            return known.unreported
        }
        if addresses.count >= Self.maximumAddresses {
            addresses = addresses.filter { now - $0.value.reported < Self.interval }
            // So many addresses at once are one flood, which has been reported a thousand times.
            guard addresses.count < Self.maximumAddresses else { return nil }
        }
        addresses[address] = Address(reported: now)
        return 0
    }
}
