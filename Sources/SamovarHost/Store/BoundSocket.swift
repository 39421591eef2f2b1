import Foundation
import SamovarWire
import ZeroMQ

/// A socket that is bound to one address, and can be closed and opened again there. Made and used on the loop's thread.
struct BoundSocket: ~Copyable {
    private let address: String
    /// The address as libzmq spells it, which stands for a number where the other stands for all.
    private var boundAddress: String
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

    init(_ context: Context, _ kind: Socket.Kind, _ options: SocketOptions, at address: String) throws(ZeroMQError) {
        var socket = try Socket(context, kind, options: options)
        try socket.bind(address)
        boundAddress = try socket.lastEndpoint
        self.socket = consume socket
        self.context = context
        self.kind = kind
        self.options = options
        self.address = address
    }

    var isClosed: Bool { socket == nil }

    /// Has the poller wait for what comes in.
    mutating func register(_ poller: inout Poller) {
        if let slot = slot.take() { poller.remove(slot) }
        switch socket {
        case .some(let socket): slot = poller.add(socket)
        case .none: break
        }
    }

    /// Takes connections or not. libzmq ends those that came in at an address that is given up.
    mutating func listen(_ isListening: Bool) throws(ZeroMQError) {
        guard isListening != self.isListening else { return }
        self.isListening = isListening
        if isListening { try socket?.bind(address) } else { try socket?.unbind(boundAddress) }
    }

    /// Ends all connections; ``reopen()`` has to be called every now and then.
    mutating func close() throws(ZeroMQError) {
        guard socket != nil else { return }
        if isListening { try socket?.unbind(boundAddress) }
        socket = nil
        closed = .now
    }

    /// Has other options from the next ``reopen()`` on.
    mutating func secure(_ security: SocketOptions.Security) { options.security = security }

    /// Opens the socket again once its address is free; true if it was.
    mutating func reopen() throws(ZeroMQError) -> Bool {
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

    mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> SendResult { try socket?.send(frames) ?? .unreachable }

    /// The next message of the socket, whoever has sent it.
    mutating func receive() throws(ZeroMQError) -> MultipartMessage? { try socket?.receive() }

    /// Hands over what has arrived, if the last wait found something: to ask a socket that has nothing costs two calls of the system.
    ///
    /// - Parameter body: gets nil for a sender that has no name, which the authenticator would not have let in.
    /// - Returns: whether there may be more.
    mutating func receive(
        _ poller: borrowing Poller, _ body: (MultipartMessage, Identity?) -> Void
    ) throws(ZeroMQError) -> Bool {
        guard let slot, poller.isReadable(slot) else { return false }
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try receive() else { return false }
            body(message, identity(of: message.userID))
        }
        return true
    }

    private mutating func identity(of userID: String?) -> Identity? {
        guard let userID else { return nil }
        if userID != lastSender.userID {
            guard let identity = KeyGate.identity(of: userID) else { return nil }
            lastSender = (userID, identity)
        }
        return lastSender.identity
    }
}
