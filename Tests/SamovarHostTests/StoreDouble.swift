import Foundation
import SamovarCore
import SamovarWire
import ZeroMQ

@testable import SamovarHost

/// The sockets of a store, which welcomes whoever says HELLO, publishes a view and ticks, and says what its test has it say.
final class StoreDouble {
    let folder: String
    var timeline: Timeline
    var start: Int
    /// Of the view that it shows.
    var turn: Int
    /// What it says to a frame that is neither HELLO nor PING.
    var answers: (Frame) -> [Frame] = { _ in [] }
    var greetings: Int { hellos.count }
    private(set) var hellos: [Hello] = []
    /// What came of peers beside HELLO and PING.
    private(set) var heard: [Frame] = []
    /// Somebody has a subscription to its views.
    private(set) var isWatched = false
    private var front: Socket
    private var work: Socket
    private var view: Socket
    private var peers: Set<[UInt8]> = []

    init(_ context: Context, start: Int = 1, turn: Int = 1, timeline: Timeline = Timeline(high: 7, low: 7)) throws {
        folder = "/tmp/samovar-test-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        var front = try Socket(context, .router, options: .front)
        try front.bind("ipc://\(folder)/front")
        var work = try Socket(context, .router, options: .work)
        try work.bind("ipc://\(folder)/work")
        var view = try Socket(context, .extendedPublisher, options: .view)
        try view.bind("ipc://\(folder)/view")
        self.front = front
        self.work = work
        self.view = view
        (self.start, self.turn, self.timeline) = (start, turn, timeline)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }  // What is left is in a folder for such things.

    /// Answers all that has come, and publishes.
    func work(publishes: Bool = true) throws {
        while let message = try front.receive() { try answer(message.frames, &front) }
        while let message = try work.receive() { try answer(message.frames, &work) }
        while let message = try view.receive() { isWatched = message.frames.first?.first == 1 }
        guard publishes else { return }
        let topic = viewTopic(of: .main)
        for frame in [
            Frame.view(instance: .main, turn: turn, bytes: [UInt8(truncatingIfNeeded: turn)]),
            .tick(instance: .main, head: turn, view: turn, idle: false),
        ] {
            _ = try view.send([topic] + Envelope(frame, timeline: timeline).parts)
        }
    }

    private func answer(_ frames: [[UInt8]], _ socket: inout Socket) throws {
        let envelope = try Envelope(parts: Array(frames.dropFirst()))
        let told: [Frame]
        switch envelope.frame {
        case .hello(let hello):
            hellos.append(hello)
            peers.insert(frames[0])
            let schema = Schema(name: "Lamp", version: 1)
            told = [.welcome(Welcome(schema: schema, start: start, credit: 9, head: turn, silence: .seconds(6)))]
        case .ping: told = [.pong(0)]
        case let frame:
            heard.append(frame)
            told = answers(frame)
        }
        for frame in told { _ = try socket.send([frames[0]] + Envelope(frame, timeline: timeline).parts) }
    }

    /// Says this to all its peers.
    func tell(_ frame: Frame) throws {
        for peer in peers {
            let parts = Envelope(frame, timeline: timeline).parts
            _ = try front.send([peer] + parts)
            _ = try work.send([peer] + parts)
        }
    }

    /// Sends its peers away; it goes on listening.
    func goodbye() throws {
        try tell(.goodbye)
        peers = []
    }
}
