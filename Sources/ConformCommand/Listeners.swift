import Foundation
import SamovarConformance
import ZeroMQ

/// The four sockets of a store, in a folder.
struct Listeners: ~Copyable {
    private var front: Socket
    private var work: Socket
    private var admin: Socket
    private var view: Socket

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

    /// Hands over all that has arrived.
    mutating func receive(_ body: (_ parts: [[UInt8]], Route) -> Void) throws {
        while let message = try front.receive() { body(Array(message.frames.dropFirst()), Route(.front, message.frames[0])) }
        while let message = try work.receive() { body(Array(message.frames.dropFirst()), Route(.work, message.frames[0])) }
        while let message = try admin.receive() { body(Array(message.frames.dropFirst()), Route(.admin, message.frames[0])) }
    }

    /// Hands over the topics that were asked for.
    mutating func receiveTopics(_ body: (_ topic: [UInt8]) -> Void) throws {
        while let message = try view.receive() {
            if message.frames[0].first == 1 { body(Array(message.frames[0].dropFirst())) }
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
