import SamovarCore
import SamovarWire

/// Which of the peers of one kind, sessions or workers, is at which route, and which connection of a peer is its newest.
struct Connections {
    private struct Peer {
        let id: UniqueID
        let identity: Identity
    }

    private var peers: [Route: Peer] = [:]
    /// The newest connection of each, by the epoch in its HELLO.
    private var epochs: [UniqueID: Int] = [:]

    /// In a fixed order.
    var routes: [Route] { peers.keys.sorted() }
    var count: Int { peers.count }
    /// Peers of which an epoch is known.
    var known: Set<UniqueID> { Set(epochs.keys) }

    subscript(route: Route) -> UniqueID? { peers[route]?.id }

    /// With which key the peer there has said HELLO.
    func identity(at route: Route) -> Identity? { peers[route]?.identity }

    /// Whether a HELLO may be taken. After a pause, that of a peer's newest socket may be read before that of an older one, which then
    /// must not win.
    ///
    /// - Parameter current: where the peer is now.
    mutating func isNewest(_ epoch: Int, of peer: UniqueID, at route: Route, current: Route?) -> Bool {
        if let current, current != route, let newest = epochs[peer], epoch < newest { return false }
        epochs[peer] = epoch
        return true
    }

    /// A HELLO that the network brought twice says nothing. To take it would begin the numbers of tasks anew, and at one end only.
    func isRepeated(_ epoch: Int, of peer: UniqueID, at route: Route, current: Route?) -> Bool {
        current == route && epochs[peer] == epoch
    }

    mutating func connect(_ peer: UniqueID, _ identity: Identity, at route: Route) {
        peers[route] = Peer(id: peer, identity: identity)
    }

    /// Who was there.
    @discardableResult
    mutating func disconnect(_ route: Route) -> UniqueID? { peers.removeValue(forKey: route)?.id }

    /// A peer has ended, and its epochs begin anew.
    mutating func forget(_ peer: UniqueID) {
        epochs[peer] = nil
    }
}
