import DequeModule
import SamovarWire

/// The socket of a peer, as `PeerSocket`: one link, replaced by a new one after every break. Frames that the link cannot take yet
/// wait in order, until it can or until it is closed.
struct Port {
    private(set) var link: Link?
    private var waiting: Deque<Envelope> = []
    private var arrived: Deque<[[UInt8]]> = []
    /// The link broke, or could not be made, since it was last asked.
    private var broke = false

    mutating func connect(_ link: Link, _ network: Network) {
        disconnect(network)
        self.link = link
    }

    mutating func disconnect(_ network: Network, gracefully: Bool = false) {
        if let link { network.close(link, gracefully: gracefully) }
        self = Port()
    }

    mutating func send(_ envelope: Envelope, _ network: Network) {
        waiting.append(envelope)
        sendWaiting(network)
    }

    mutating func sendWaiting(_ network: Network) {
        guard let link, link.state == .open else { return }
        while let envelope = waiting.popFirst() { network.send(envelope.parts, on: link, .toStore) }
    }

    mutating func arrive(_ parts: [[UInt8]]) { arrived.append(parts) }

    mutating func breakOff() { broke = true }

    mutating func takeBroke() -> Bool {
        defer { broke = false }
        return broke
    }

    /// At most so many as the host takes in one round; true if there may be more.
    mutating func receive(limit: Int = 256) -> (messages: [[[UInt8]]], mayHaveMore: Bool) {
        let count = min(limit, arrived.count)
        let messages = Array(arrived.prefix(count))
        arrived.removeFirst(count)
        return (messages, count == limit)
    }
}
