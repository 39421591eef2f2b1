import Foundation
public import MessagePack
import SamovarCore
import SamovarProtocol
import ZeroMQ

/// Asks a running store over its admin socket. Blocks no thread of Swift's pool.
public struct AdminClient: Sendable {
    private let endpoint: Endpoint

    /// A client of the store at this endpoint. Nothing is sent before `ask`.
    public init(at endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    /// It is asked again every two seconds under one number, so that the store does nothing twice and gives the same answer. Only a
    /// store that was started again meanwhile does not know the number; what it refuses may have been done before, and the error says so.
    ///
    /// - Parameter patience: how long to wait for a store that is away or restarting.
    /// - Returns: the store's answer.
    /// - Throws: `AdminError`.
    public func ask(_ verb: String, _ arguments: MessagePackValue = .nil, patience: Duration = .seconds(3)) async throws
        -> MessagePackValue
    {
        try await onThread("samovar-admin") { try Self.ask(endpoint, verb, arguments, patience) }
    }

    /// What is done once.
    private static let changes: Set<String> = ["requeue", "drop", "pause", "resume", "rule"]
    private static let doubt = "asked again, for the first time was not answered: that may have done it"

    private static func ask(
        _ endpoint: Endpoint, _ verb: String, _ arguments: MessagePackValue, _ patience: Duration
    ) throws -> MessagePackValue {
        let context = try Context.shared()
        let deadline = ContinuousClock.now + patience
        let request = Envelope(
            .request(AdminRequest(id: .random(in: 1 ... .max), verb: verb, arguments: arguments)), timeline: .zero)
        var wasSent = false
        while ContinuousClock.now < deadline {
            // A new socket for each attempt, because none of ours reconnects by itself.
            var poller = Poller()
            var socket = PeerSocket(context, options: .client, address: endpoint.admin)
            try socket.connect(&poller)
            try socket.send(request.parts)
            let end = min(deadline, ContinuousClock.now + .seconds(2))
            var reply: AdminReply?
            while ContinuousClock.now < end, reply == nil {
                socket.prepare(&poller)
                try poller.wait(timeoutMilliseconds: 50)
                let isBroken = try socket.receiveEnvelopes(poller) {
                    if case .reply(let answer) = $0.frame { reply = answer }
                }
                if isBroken { break }
            }
            if let reply {
                if let refusal = reply.refusal {
                    throw AdminError.refused(wasSent && changes.contains(verb) ? "\(refusal) (\(doubt))" : refusal)
                }
                return reply.value
            }
            wasSent = wasSent || socket.isEmpty
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw AdminError.noStore(endpoint, waited: patience)
    }
}

/// Why an operator has no answer.
public enum AdminError: Error, Sendable, CustomStringConvertible {
    /// Nobody has answered at this endpoint, for so long.
    case noStore(Endpoint, waited: Duration)
    /// The store will not, and says why.
    case refused(String)

    /// Who does not answer, or what the store says.
    public var description: String {
        switch self {
        case .noStore(let endpoint, let waited): "no store answers at \(endpoint.admin), for \(waited.text) now"
        case .refused(let reason): reason
        }
    }
}
