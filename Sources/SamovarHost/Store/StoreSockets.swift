import Foundation
import SamovarCore
import SamovarProtocol
import ZeroMQ

/// The four bound sockets of a store. Made and used on the loop's thread.
struct StoreSockets: ~Copyable {
    private var front: Socket
    private var work: Socket
    private var admin: Socket
    /// Nil after there were too many topics, until its address is free again.
    private var view: Socket?
    private let frontSlot: Poller.Slot
    private let workSlot: Poller.Slot
    private let adminSlot: Poller.Slot
    private let endpoint: Endpoint
    private let context: Context
    private var listeners = DescriptorPolicy.Listeners.open
    private var hasPublished = false
    /// To whom GOODBYE was said, as far as they may still be there.
    private var goodbyes: [(Envelope, Route)] = []
    private var viewClosed = ContinuousClock.now

    /// Messages taken from one socket before the others are looked at again.
    private static let messagesPerTurn = 256

    init(_ context: Context, at endpoint: Endpoint, poller: inout Poller) throws {
        try SocketFolder.make(endpoint.folder)
        let front = try Self.bound(context, .router, .front, endpoint.front)
        let work = try Self.bound(context, .router, .work, endpoint.work)
        let admin = try Self.bound(context, .router, .admin, endpoint.admin)
        let view = try Self.bound(context, .extendedPublisher, .view, endpoint.view)
        frontSlot = poller.add(front)
        workSlot = poller.add(work)
        adminSlot = poller.add(admin)
        self.front = front
        self.work = work
        self.admin = admin
        self.view = consume view
        self.endpoint = endpoint
        self.context = context
    }

    /// Takes connections at these listeners only. libzmq ends those that came in at an address that is given up.
    mutating func open(_ listeners: DescriptorPolicy.Listeners) throws(ZeroMQError) {
        defer { self.listeners = listeners }
        if listeners == .open, self.listeners != .open {
            try front.bind(endpoint.front)
            try view?.bind(endpoint.view)
        } else if listeners != .open, self.listeners == .open {
            try front.unbind(endpoint.front)
            try view?.unbind(endpoint.view)
        }
        if listeners != .closed, self.listeners == .closed { try work.bind(endpoint.work) }
        if listeners == .closed, self.listeners != .closed { try work.unbind(endpoint.work) }
    }

    private static func bound(
        _ context: Context, _ kind: Socket.Kind, _ options: SocketOptions, _ address: String
    ) throws(ZeroMQError) -> Socket {
        var socket = try Socket(context, kind, options: options)
        try socket.bind(address)
        return socket
    }

    /// Hands over what has arrived, if the last wait found something: to ask a socket that has nothing costs two calls of the system,
    /// and an input that is alone has the store go round four times. True if there may be more.
    mutating func receive(
        _ poller: borrowing Poller, _ body: (Route, [[UInt8]], _ isTruncated: Bool) -> Void
    ) throws(ZeroMQError) -> Bool {
        var hasMore = false
        if poller.isReadable(workSlot), try Self.receive(from: &work, .work, body) { hasMore = true }
        if poller.isReadable(adminSlot), try Self.receive(from: &admin, .admin, body) { hasMore = true }
        if poller.isReadable(frontSlot), try Self.receive(from: &front, .front, body) { hasMore = true }
        return hasMore
    }

    private static func receive(
        from socket: inout Socket, _ listener: Listener, _ body: (Route, [[UInt8]], Bool) -> Void
    ) throws(ZeroMQError) -> Bool {
        for _ in 0..<messagesPerTurn {
            guard let message = try socket.receive() else { return false }
            let frames = message.frames
            body(Route(listener: listener, id: frames[0]), Array(frames.dropFirst()), message.isTruncated)
        }
        return true
    }

    /// A peer that is gone or too slow loses the frame; its own resending or the next view repairs that.
    mutating func send(_ envelope: Envelope, to route: Route) throws(ZeroMQError) {
        if envelope.kind == .goodbye { goodbyes.append((envelope, route)) }
        _ = try deliver(envelope, to: route)
    }

    private mutating func deliver(_ envelope: Envelope, to route: Route) throws(ZeroMQError) -> SendResult {
        let frames = [route.id] + envelope.parts
        return switch route.listener {
        case .front: try front.send(frames)
        case .work: try work.send(frames)
        case .admin: try admin.send(frames)
        }
    }

    /// Says GOODBYE again to those who were told it and are still there; there is no other way to see whether they are.
    ///
    /// - Returns: whether nobody is there any more, subscribers included.
    mutating func part(_ topics: inout ViewTopics) throws(ZeroMQError) -> Bool {
        var left: [(Envelope, Route)] = []
        for (goodbye, route) in goodbyes where try deliver(goodbye, to: route) != .unreachable { left.append((goodbye, route)) }
        goodbyes = left
        hasPublished = true
        _ = try count(&topics)
        return goodbyes.isEmpty && topics.count == 0
    }

    mutating func publish(_ envelope: Envelope, of instance: Instance) throws(ZeroMQError) {
        _ = try view?.send([viewTopic(of: instance)] + envelope.parts)
        hasPublished = true
    }

    // MARK: Topics

    /// Hears what subscribers ask for, as often as something is published, and closes the view socket if that is too much.
    ///
    /// - Returns: whether it was closed.
    mutating func count(_ topics: inout ViewTopics) throws(ZeroMQError) -> Bool {
        guard hasPublished else { return false }
        hasPublished = false
        for _ in 0..<Self.messagesPerTurn {
            guard let report = try view?.receive() else { return false }
            guard topics.received(report.frames[0]) else { continue }
            if listeners == .open { try view?.unbind(endpoint.view) }
            view = nil
            viewClosed = .now
            return true
        }
        return false
    }

    /// Views go nowhere; `openView` has to be called every now and then.
    var isViewClosed: Bool { view == nil }

    /// libzmq closes an address on a thread of its own, and removes the file of an `ipc` one, whosever it is. So nothing is bound before.
    private static let maximumClosing = Duration.seconds(5)

    private var isViewFileThere: Bool {
        guard case .local(let folder) = endpoint else { return false }
        return access("\(folder)/view", F_OK) == 0
    }

    /// Opens the view socket again once its address is free.
    mutating func openView() throws(ZeroMQError) {
        let mayWait = .now - viewClosed < Self.maximumClosing
        guard view == nil, !(listeners == .open && isViewFileThere && mayWait) else { return }
        var socket = try Socket(context, .extendedPublisher, options: .view)
        if listeners == .open {
            do throws(ZeroMQError) {
                try socket.bind(endpoint.view)
            } catch {
                guard error.code == .addressInUse, mayWait else { throw error }
                return
            }
        }
        view = consume socket
    }
}
