import Foundation
import SamovarWire
import ZeroMQ

/// The socket of a door, which is bound to one address, and can be closed and opened again there. Made and used on the loop's thread.
final class BoundSocket {
    let door: Door
    let address: String
    let authenticator: Authenticator
    /// The address as libzmq spells it, which stands for a number where the other stands for all.
    private let boundAddress: String
    private let context: Context
    private let kind: Socket.Kind
    private var options: SocketOptions
    /// Nil from ``close()`` until its address is free again.
    private var socket: Socket?
    private var slot: Poller.Slot?
    private var isListening = true
    private var closed = ContinuousClock.now
    /// What the socket calls the sender of the last message, and what that means: to read it takes longer than to see that it is the same.
    private var lastSender: (userID: String, identity: Identity) = (KeyGate.localUserID, .local)

    /// Messages taken before the others are looked at again.
    private static let messagesPerTurn = 256
    /// libzmq closes an address on a thread of its own, and removes the file of an `ipc` one, whosever it is. So nothing is bound before.
    private static let maximumClosing = Duration.seconds(5)

    /// - Parameter secret: the key of the store; nil for a socket without keys.
    init(
        _ context: Context, _ door: Door, at address: String, _ secret: CurveSecretKey?, _ authenticator: Authenticator
    ) throws(ZeroMQError) {
        let (kind, options): (Socket.Kind, SocketOptions) =
            switch door {
            case .front: (.router, .front)
            case .work: (.router, .work)
            case .view: (.extendedPublisher, .view)
            case .admin: (.router, .admin)
            }
        self.kind = kind
        self.options = options
        self.options.security = Self.security(secret, authenticator)
        var socket = try Socket(context, kind, options: self.options)
        try socket.bind(address)
        boundAddress = try socket.lastEndpoint
        self.socket = consume socket
        self.door = door
        self.address = address
        self.authenticator = authenticator
        self.context = context
    }

    private static func security(_ secret: CurveSecretKey?, _ authenticator: Authenticator) -> SocketOptions.Security {
        secret.map { .curveServer($0, authenticator) } ?? .authenticated(authenticator)
    }

    var isClosed: Bool { socket == nil }

    /// Has the poller wait for what comes in. What subscribers ask for is looked at as often as something is published.
    func register(_ poller: inout Poller) {
        guard door != .view else { return }
        if let slot = slot.take() { poller.remove(slot) }
        switch socket {
        case .some(let socket): slot = poller.add(socket)
        case .none: break
        }
    }

    /// Takes connections or not. libzmq ends those that came in at an address that is given up.
    func listen(_ isListening: Bool) throws(ZeroMQError) {
        guard isListening != self.isListening else { return }
        self.isListening = isListening
        if isListening { try socket?.bind(address) } else { try socket?.unbind(boundAddress) }
    }

    /// Ends all connections; ``reopen()`` has to be called every now and then.
    func close() throws(ZeroMQError) {
        guard socket != nil else { return }
        if isListening { try socket?.unbind(boundAddress) }
        socket = nil
        closed = .now
    }

    /// Has another key from the next ``reopen()`` on.
    func secure(_ secret: CurveSecretKey) { options.security = Self.security(secret, authenticator) }

    /// Opens the socket again once its address is free; true if it was.
    func reopen() throws(ZeroMQError) -> Bool {
        let mayWait = .now - closed < Self.maximumClosing
        guard isClosed, !(isListening && isFileThere && mayWait) else { return false }
        var socket = try Socket(context, kind, options: options)
        if isListening {
            do throws(ZeroMQError) {
                try socket.bind(address)
            } catch {
                guard error.code == .addressInUse, mayWait else { throw error }
                return false
            }
        }
        self.socket = consume socket
        return true
    }

    private var isFileThere: Bool {
        address.hasPrefix("ipc://") && access(String(address.dropFirst("ipc://".count)), F_OK) == 0
    }

    // MARK: Messages

    func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> SendResult { try socket?.send(frames) ?? .unreachable }

    /// The next message of the socket, whoever has sent it.
    func receive() throws(ZeroMQError) -> MultipartMessage? { try socket?.receive() }

    /// Hands over what has arrived, if the last wait found something: to ask a socket that has nothing costs two calls of the system.
    ///
    /// - Parameter body: gets nil for a sender that has no name, which the authenticator would not have let in.
    /// - Returns: whether there may be more.
    func receive(
        _ poller: borrowing Poller, _ body: (MultipartMessage, Identity?) -> Void
    ) throws(ZeroMQError) -> Bool {
        guard let slot, poller.isReadable(slot) else { return false }
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try receive() else { return false }
            body(message, identity(of: message.userID))
        }
        return true
    }

    private func identity(of userID: String?) -> Identity? {
        guard let userID else { return nil }
        if userID != lastSender.userID {
            guard let identity = KeyGate.identity(of: userID) else { return nil }
            lastSender = (userID, identity)
        }
        return lastSender.identity
    }
}
