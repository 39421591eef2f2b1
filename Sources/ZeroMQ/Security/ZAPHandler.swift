import Dispatch
import Synchronization

/// The thread that answers libzmq for all authenticators of a context.
final class ZAPHandler: Sendable {
    /// By the context, since libzmq asks each at an address within it.
    private static let running = Mutex<[Context.ID: ZAPHandler]>([:])
    private static let address = "inproc://zeromq.zap.01"

    private let id: Context.ID
    private let desks: Mutex<[String: AuthenticatorDesk]>
    private let stop: Wakeup
    private let ended = DispatchSemaphore(value: 0)
    /// Why the thread could not begin.
    private let failure = Mutex<ZeroMQError?>(nil)

    /// Has the thread answer for a domain, and begins it if it is the first.
    static func join(_ context: Context, _ domain: String, _ desk: AuthenticatorDesk) throws(ZeroMQError) -> ZAPHandler {
        try running.withLock { running throws(ZeroMQError) in
            if let handler = running[context.id] {
                handler.desks.withLock { $0[domain] = desk }
                return handler
            }
            let handler = try ZAPHandler(context, domain, desk)
            running[context.id] = handler
            return handler
        }
    }

    /// Answers no more for a domain, and ends the thread after the last. Within the lock, so that no other begins before this one has ended.
    func leave(_ domain: String) {
        Self.running.withLock { running in
            let isLast = desks.withLock { $0.removeValue(forKey: domain) != nil && $0.isEmpty }
            guard isLast else { return }
            running[id] = nil
            stop.signal()
            ended.wait()
        }
    }

    private init(_ context: Context, _ domain: String, _ desk: AuthenticatorDesk) throws(ZeroMQError) {
        id = context.id
        desks = Mutex([domain: desk])
        stop = try Wakeup()
        let begun = DispatchSemaphore(value: 0)
        try SystemThread.start("samovar-keys") { [self] in
            defer { ended.signal() }
            do throws(ZeroMQError) {
                var socket = try Self.bound(context)
                begun.signal()
                // libzmq does it some time after the close, when the next one may have been bound.
                defer { try? socket.unbind(Self.address) }
                try serve(&socket)
            } catch {
                // Only a socket that is not one fails while it serves. Then nobody is let in any more.
                failure.withLock { $0 = error }
                begun.signal()
            }
        }
        begun.wait()
        if let error = failure.withLock(\.self) { throw error }
    }

    private static func bound(_ context: Context) throws(ZeroMQError) -> Socket {
        var options = SocketOptions(maximumFrameBytes: 1 << 16)
        // Two of the envelope, six of the request, and what was claimed.
        options.maximumFrames = 12
        var socket = try Socket(context, .router, options: options)
        try socket.bind(address)
        return socket
    }

    private func serve(_ socket: inout Socket) throws(ZeroMQError) {
        var poller = Poller()
        let stopSlot = poller.add(stop)
        let requests = poller.add(socket)
        while true {
            try poller.wait(timeoutMilliseconds: nil)
            if poller.isReadable(stopSlot) { return }
            guard poller.isReadable(requests) else { continue }
            while let message = try socket.receive() {
                guard let envelope = ZAPEnvelope(message.frames) else { continue }
                // A connection that is gone needs no answer.
                _ = try socket.send(envelope.answer(verdict(on: envelope)))
            }
        }
    }

    private func verdict(on envelope: ZAPEnvelope) -> ZAPVerdict {
        // A socket holds its authenticator, so this is one that is being closed.
        guard let desk = desks.withLock({ $0[envelope.domain] }) else { return .refuse }
        return desk.verdict(on: envelope.request)
    }
}
