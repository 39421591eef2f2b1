import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire
import ZeroMQ

@testable import SamovarHost

/// A store of which there is only its socket.
struct Listener: ~Copyable {
    var router: Socket
    let port: String

    init(_ context: Context, security: SocketOptions.Security = .none) throws {
        var options = SocketOptions.front
        options.security = security
        var router = try Socket(context, .router, options: options)
        try router.bind("tcp://127.0.0.1:*")
        port = String(try router.lastEndpoint.split(separator: ":").last ?? "")
        self.router = router
    }

    /// What came first, and an answer to it.
    mutating func answer(_ frame: Frame) throws -> Bool {
        guard let message = try router.receive() else { return false }
        return try router.send([message.frames[0]] + Envelope(frame, timeline: .zero).parts) == .sent
    }
}

extension PeerSocket {
    /// Goes round until something is told.
    mutating func turn(
        _ poller: inout Poller, seconds: Double = 20, _ body: () throws -> Bool = { false }
    ) throws -> Disconnection? {
        let end = ContinuousClock.now + .seconds(seconds)
        var isDone = false
        while ContinuousClock.now < end, !isDone {
            prepare(&poller)
            try poller.wait(timeoutMilliseconds: 5)
            var heard = false
            if let end = try receiveEnvelopes(
                &poller,
                { _ in
                    heard = true
                    return true
                })
            {
                return end
            }
            isDone = try body() || heard
        }
        return nil
    }
}
