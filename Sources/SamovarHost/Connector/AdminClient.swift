import Foundation
public import MessagePack
import SamovarCore
import SamovarPeers
import SamovarWire
import Synchronization
import ZeroMQ

/// Asks a running store over its admin socket, or with the key of an operator over the network. Blocks no thread of Swift's pool.
public struct AdminClient: Sendable {
    private let store: StoreAccess

    /// A client of this store. Nothing is sent before `ask`.
    public init(at store: StoreAccess) {
        self.store = store
    }

    /// Whether it needs a key, since it comes over the network.
    package var hasKey: Bool { store.keyFile != nil }

    /// It is asked again after two seconds, and then after twice as many each time up to eight, under one number, so that the store does nothing twice
    /// and gives the same answer. Only a store that was started again meanwhile does not know the number; what it refuses may have been done
    /// before, and the error says so.
    ///
    /// - Parameter patience: how long to wait in all. If nil, three seconds for a store that is away or restarting, and fifteen
    ///   once it has the request, which a slow disk or a large answer may take.
    /// - Returns: the store's answer.
    /// - Throws: `AdminError`; `CancellationError` if this task is cancelled. What was asked for may be done all the same.
    public func ask(_ verb: String, _ arguments: MessagePackValue = .nil, patience: Duration? = nil) async throws
        -> MessagePackValue
    {
        let isWanted = Atomic(true)
        let asking: @Sendable () throws -> MessagePackValue = {
            try Self.ask(store, verb, arguments, patience) { isWanted.load(ordering: .relaxed) }
        }
        return try await withTaskCancellationHandler {
            do {
                return try await onThread("samovar-admin", asking)
            } catch {
                try Task.checkCancellation()
                throw error
            }
        } onCancel: {
            isWanted.store(false, ordering: .relaxed)
        }
    }

    /// What is done once.
    private static let changes = AdminRequest.changes.union(["export"])
    private static let doubt = "asked again, for the first time was not answered: that may have done it"
    private static let pause = 0.05
    /// How long the first answer is waited for before it is asked again.
    private static let firstWait = Duration.seconds(2)
    private static let longestWait = Duration.seconds(8)
    /// How long a store is waited for that is away, unless the asker says it.
    private static let patienceForStore = Duration.seconds(3)
    /// How long in all, once it has the request.
    private static let patienceForAnswer = Duration.seconds(15)

    /// On the thread of the caller, and only as long as that wants an answer.
    static func ask(
        _ store: StoreAccess, _ verb: String, _ arguments: MessagePackValue, _ patience: Duration?, isWanted: () -> Bool = { true }
    ) throws -> MessagePackValue {
        let begin = ContinuousClock.now
        var limit = patience ?? patienceForStore
        var deadline: ContinuousClock.Instant { begin + limit }
        let request = Envelope(
            .request(AdminRequest(id: .random(in: 1 ... .max), verb: verb, arguments: arguments)), timeline: .zero)
        var poller = Poller()
        var socket = PeerSocket(try Context.shared(), options: .client, to: store, at: .admin)
        var wait = firstWait
        var (wasSent, isOpen) = (false, false)
        var difficulty: String?
        var refusal: String?
        var attempts = 0
        while ContinuousClock.now < deadline, isWanted() {
            // A new socket for each connection, because none of ours reconnects by itself.
            if !isOpen { try socket.connect(&poller) }
            try socket.send(request.parts)
            let (reply, end) = try answer(on: &socket, &poller, until: min(deadline, .now + wait), isWanted)
            if let reply {
                if let refusal = reply.refusal {
                    let text = wasSent && changes.contains(verb) ? "\(refusal) (\(doubt))" : refusal
                    throw reply.isTemporary ? AdminError.later(text) : AdminError.refused(text)
                }
                return reply.value
            }
            wasSent = wasSent || socket.isEmpty
            // An answer that takes long comes on the connection on which it was asked for, of whose end the monitor tells, or TCP where the
            // peer is gone without a word. So it is asked again there, and ever more seldom, for each answer may be large. Of several
            // places, this may be one that has lost the journal: the next one is asked, and longer.
            if end == nil, socket.isEmpty {
                wait = min(wait + wait, longestWait)
                if patience == nil { limit = patienceForAnswer }
            }
            isOpen = end == nil && socket.isEmpty && socket.places == 1
            attempts += 1
            switch end {
            case .impossible(let reason): difficulty = reason
            case .keyRefused(let reason): refusal = reason
            case .broken, nil: break
            }
            guard attempts % socket.places == 0 else { continue }
            if let refusal { throw AdminError.keyRefused(refusal) }
            Thread.sleep(forTimeInterval: pause)
        }
        let isUnknown = wasSent && changes.contains(verb)
        throw isUnknown
            ? AdminError.unknown(store, waited: limit, because: difficulty)
            : AdminError.noStore(store, waited: limit, because: difficulty)
    }

    private static func answer(
        on socket: inout PeerSocket, _ poller: inout Poller, until deadline: ContinuousClock.Instant, _ isWanted: () -> Bool
    ) throws -> (AdminReply?, Disconnection?) {
        var reply: AdminReply?
        // Where there are others to try, a place that cannot be reached is not waited for so long.
        let limit = ContinuousClock.now + (socket.places > 1 ? .seconds(1) : firstWait)
        while ContinuousClock.now < (socket.isEmpty ? deadline : min(limit, deadline)), reply == nil, isWanted() {
            socket.prepare(&poller)
            try poller.wait(timeoutMilliseconds: 50)
            let end = try socket.receiveEnvelopes(&poller) { envelope in
                switch envelope.frame {
                case .reply(let answer): reply = answer
                case .error(let error) where error.code == .keyRefused || error.code == .forbidden:
                    throw AdminError.keyRefused(error.text)
                default: break
                }
                return true
            }
            if let end { return (reply, end) }
        }
        return (reply, nil)
    }
}

/// Why an operator has no answer.
public enum AdminError: Error, Sendable, CustomStringConvertible {
    /// Nobody has answered there, for so long; and why, if more is known.
    case noStore(StoreAccess, waited: Duration, because: String? = nil)
    /// The same of a request that would change something and has left: it may be done.
    case unknown(StoreAccess, waited: Duration, because: String? = nil)
    /// The store does not take the key, and says why.
    case keyRefused(String)
    /// The store will not, and says why.
    case refused(String)
    /// The store will not at present, and says why: ask again.
    case later(String)

    /// Who does not answer, or what the store says.
    public var description: String {
        switch self {
        case .noStore(let store, let waited, let reason): Self.silence(of: store, for: waited, reason)
        case .unknown(let store, let waited, let reason):
            Self.silence(of: store, for: waited, reason.map { "\($0); \(Self.doubt)" } ?? Self.doubt)
        case .keyRefused(let reason), .refused(let reason), .later(let reason): reason
        }
    }

    private static let doubt = "the request has left, and may be done"

    private static func silence(of store: StoreAccess, for duration: Duration, _ reason: String?) -> String {
        "no store answers at \(store.named(.admin)), for \(duration.text) now" + (reason.map { ": \($0)" } ?? "")
    }
}
