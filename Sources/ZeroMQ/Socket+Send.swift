import CZeroMQ

/// What became of a message given to ``Socket/send(_:)``.
public enum SendResult: Sendable {
    /// libzmq has the whole message. Whether it arrives only an answer can tell.
    case sent
    /// Nobody is connected or the peer's queue is full; nothing was sent.
    case wouldBlock
    /// A router knows no peer with this routing id; nothing was sent.
    case unreachable
}

extension Socket {
    /// Sends one message of several frames without waiting; a router's message begins with the routing id of the peer.
    ///
    /// ```swift
    /// if try router.send([routingID, header, body]) == .unreachable { forget(routingID) }
    /// ```
    ///
    /// The bytes are copied once, into libzmq. Peers see all frames of a message or none. A publisher never blocks: it
    /// drops the message for each subscriber whose queue is full.
    ///
    /// - Parameter frames: at least one; frames may be empty.
    /// - Throws: ``ZeroMQError`` if the context was closed or the socket cannot send.
    public mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> SendResult {
        precondition(!frames.isEmpty, "a message has at least one frame")
        let socket = handle.pointer
        for (index, frame) in frames.enumerated() {
            let flags = ZMQ_DONTWAIT | (index == frames.count - 1 ? 0 : ZMQ_SNDMORE)
            let sent = retryingInterrupts { zmq_send(socket, frame, frame.count, flags) }
            guard sent == -1 else { continue }
            // If the peer goes away between two frames, libzmq discards the message and expects a new one: the
            // frames that are left must not be sent.
            switch zmq_errno() {
            case EAGAIN: return .wouldBlock
            case EHOSTUNREACH: return .unreachable
            default: throw .last("send")
            }
        }
        return .sent
    }

    /// Sends one message of the given frames; see ``send(_:)-([[UInt8]])``.
    public mutating func send(_ frames: [UInt8]...) throws(ZeroMQError) -> SendResult {
        try send(frames)
    }
}
