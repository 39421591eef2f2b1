import Foundation
public import MessagePack
import SamovarCore
import SamovarPeers
import SamovarWire
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

    /// It is asked again every two seconds under one number, so that the store does nothing twice and gives the same answer. Only a
    /// store that was started again meanwhile does not know the number; what it refuses may have been done before, and the error says so.
    ///
    /// - Parameter patience: how long to wait for a store that is away or restarting.
    /// - Returns: the store's answer.
    /// - Throws: `AdminError`.
    public func ask(_ verb: String, _ arguments: MessagePackValue = .nil, patience: Duration = .seconds(3)) async throws
        -> MessagePackValue
    {
        try await onThread("samovar-admin") { try Self.ask(store, verb, arguments, patience) }
    }

    /// What is done once.
    private static let changes = AdminRequest.changes.union(["export"])
    private static let doubt = "asked again, for the first time was not answered: that may have done it"
    private static let pause = 0.05

    /// On the thread of the caller, and only as long as that wants an answer.
    static func ask(
        _ store: StoreAccess, _ verb: String, _ arguments: MessagePackValue, _ patience: Duration, isWanted: () -> Bool = { true }
    ) throws -> MessagePackValue {
        let deadline = ContinuousClock.now + patience
        let request = Envelope(
            .request(AdminRequest(id: .random(in: 1 ... .max), verb: verb, arguments: arguments)), timeline: .zero)
        var poller = Poller()
        var socket = PeerSocket(try Context.shared(), options: .client, to: store, at: .admin)
        var wasSent = false
        var difficulty: String?
        var refusal: String?
        var attempts = 0
        while ContinuousClock.now < deadline, isWanted() {
            // A new socket for each attempt, because none of ours reconnects by itself.
            try socket.connect(&poller)
            try socket.send(request.parts)
            let (reply, end) = try wait(&socket, &poller, until: min(deadline, .now + .seconds(2)), isWanted)
            if let reply {
                if let refusal = reply.refusal {
                    throw AdminError.refused(wasSent && changes.contains(verb) ? "\(refusal) (\(doubt))" : refusal)
                }
                return reply.value
            }
            wasSent = wasSent || socket.isEmpty
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
        throw AdminError.noStore(store, waited: patience, because: difficulty)
    }

    private static func wait(
        _ socket: inout PeerSocket, _ poller: inout Poller, until deadline: ContinuousClock.Instant, _ isWanted: () -> Bool
    ) throws -> (AdminReply?, Disconnection?) {
        var reply: AdminReply?
        // Where there are others to try, a place that cannot be reached is not waited for so long.
        let limit = socket.places > 1 ? ContinuousClock.now + .seconds(1) : deadline
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
    /// The store does not take the key, and says why.
    case keyRefused(String)
    /// The store will not, and says why.
    case refused(String)

    /// Who does not answer, or what the store says.
    public var description: String {
        switch self {
        case .noStore(let store, let waited, let reason):
            "no store answers at \(store.named(.admin)), for \(waited.text) now" + (reason.map { ": \($0)" } ?? "")
        case .keyRefused(let reason), .refused(let reason): reason
        }
    }
}
