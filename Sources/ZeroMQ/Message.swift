import CZeroMQ

/// One received frame, in the memory of libzmq until its value ends.
public struct Message: ~Copyable {
    // libzmq moves messages by copying these bytes, and so may Swift.
    private var raw = zmq_msg_t()

    /// Takes the next frame from `socket`, `nil` if there is none yet.
    init?(receivingFrom socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        // Cannot fail: it only clears the structure.
        zmq_msg_init(&raw)
        guard retryingInterrupts({ zmq_msg_recv(&raw, socket, ZMQ_DONTWAIT) }) == -1 else { return }
        guard zmq_errno() == EAGAIN else { throw .last("receive") }
        return nil
    }

    deinit {
        withUnsafePointer(to: raw) { raw in _ = zmq_msg_close(UnsafeMutablePointer(mutating: raw)) }
    }

    /// The number of bytes.
    public var count: Int {
        withUnsafePointer(to: raw) { zmq_msg_size($0) }
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] {
        withUnsafeBytes { [UInt8]($0) }
    }

    /// Whether another frame of the same message follows.
    var hasMore: Bool {
        withUnsafePointer(to: raw) { zmq_msg_more($0) != 0 }
    }

    /// Calls `body` with the bytes in place; the buffer is valid only during the call.
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafePointer(to: raw) { raw throws(Failure) in
            // `zmq_msg_data` asks for a mutable pointer but changes nothing. Short messages lie inside the structure.
            let raw = UnsafeMutablePointer(mutating: raw)
            return try body(UnsafeRawBufferPointer(start: zmq_msg_data(raw), count: zmq_msg_size(raw)))
        }
    }
}
