import Foundation
import SamovarConformance
import ZeroMQ

/// The four sockets of a store, in a folder.
struct Listeners: ~Copyable {
    private var front: Socket
    private var work: Socket
    private var admin: Socket
    private var view: Socket

    /// From one socket. As many as a client's window: what a peer that keeps the rules has said in time is not left for later.
    private static let messagesPerRound = 4_096

    init(in folder: String, _ poller: inout Poller) throws {
        let context = try Context.shared()
        let front = try Self.bound(context, .router, .front, folder, "front")
        let work = try Self.bound(context, .router, .work, folder, "work")
        let admin = try Self.bound(context, .router, .admin, folder, "admin")
        var options = SocketOptions.view
        options.passesEverySubscription = true
        // Noise is published at once, and all of it shall come.
        options.sendHighWaterMark = 1_000
        let view = try Self.bound(context, .extendedPublisher, options, folder, "view")
        _ = poller.add(front)
        _ = poller.add(work)
        _ = poller.add(admin)
        _ = poller.add(view)
        self.front = front
        self.work = work
        self.admin = admin
        self.view = view
    }

    private static func bound(
        _ context: Context, _ kind: Socket.Kind, _ options: SocketOptions, _ folder: String, _ name: String
    ) throws -> Socket {
        var socket = try Socket(context, kind, options: options)
        try socket.bind("ipc://\(folder)/\(name)")
        return socket
    }

    /// Hands over what has arrived, within a limit: a peer may send faster than it is read. The next wait finds what is left.
    ///
    /// - Parameter body: says whether it wants more.
    mutating func receive(_ body: (_ parts: [[UInt8]], Route) -> Bool) throws {
        try Self.receive(&front) { body(Array($0.dropFirst()), Route(.front, $0[0])) }
        try Self.receive(&work) { body(Array($0.dropFirst()), Route(.work, $0[0])) }
        try Self.receive(&admin) { body(Array($0.dropFirst()), Route(.admin, $0[0])) }
    }

    /// Likewise the topics that were asked for.
    mutating func receiveTopics(_ body: (_ topic: [UInt8]) -> Bool) throws {
        try Self.receive(&view) { $0[0].first == 1 ? body(Array($0[0].dropFirst())) : true }
    }

    private static func receive(_ socket: inout Socket, _ body: (_ frames: [[UInt8]]) -> Bool) throws {
        for _ in 0..<messagesPerRound {
            guard let message = try socket.receive(), body(message.frames) else { return }
        }
    }

    /// A peer that is gone loses it, and what it does then is what the scenario looks at.
    mutating func send(_ parts: [[UInt8]], to route: Route) throws {
        let frames = [route.id] + parts
        switch route.listener {
        case .front: _ = try front.send(frames)
        case .work: _ = try work.send(frames)
        case .admin: _ = try admin.send(frames)
        }
    }

    mutating func publish(_ parts: [[UInt8]]) throws { _ = try view.send(parts) }
}
