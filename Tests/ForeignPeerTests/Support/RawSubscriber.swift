import MessagePack
import ProcessSupport
import ZeroMQ

/// A SUB socket at the view listener.
final class RawSubscriber {
    struct Publication {
        let topic: [UInt8]
        let frame: RawFrame
    }

    private let context: Context
    private var socket: Socket

    init(_ address: String, topic: [UInt8] = Array("view/main".utf8) + [0]) throws {
        let context = try Context()
        var socket = try Socket(context, .subscriber, options: .subscriber)
        try socket.subscribe(topic)
        try socket.connect(address)
        self.context = context
        self.socket = socket
    }

    func receive() throws -> Publication? {
        guard let parts = try socket.receive()?.frames else { return nil }
        return Publication(topic: parts[0], frame: try RawFrame(parts: Array(parts.dropFirst())))
    }

    /// The next publication of this kind.
    func next(_ kind: Kind) async throws -> Publication { try await first(kind) { _ in true } }

    /// The next publication of this kind that is wanted; those before it are passed over.
    func first(_ kind: Kind, where isWanted: (RawFrame) -> Bool) async throws -> Publication {
        try await eventually("a \(kind) comes") {
            while let publication = try receive() {
                if publication.frame.kind == kind.rawValue, isWanted(publication.frame) { return publication }
            }
            return nil
        }
    }
}
