import CZeroMQ

extension Socket {
    /// Takes the next message without waiting, `nil` if there is none.
    ///
    /// Frames beyond ``SocketOptions/maximumFrames`` are read and thrown away one by one; see
    /// ``MultipartMessage/isTruncated``. A message comes complete or not at all.
    ///
    /// - Throws: ``ZeroMQError`` if the context was closed or the socket cannot receive.
    public mutating func receive() throws(ZeroMQError) -> MultipartMessage? {
        guard let first = try Message(receivingFrom: handle.pointer) else { return nil }
        var hasMore = first.hasMore
        var message = MultipartMessage(first: first, capacity: options.maximumFrames)
        while hasMore {
            guard let next = try Message(receivingFrom: handle.pointer) else {
                // libzmq hands messages over whole.
                throw ZeroMQError(errno: EPROTO, operation: "receive")
            }
            hasMore = next.hasMore
            message.append(next)
        }
        return message
    }
}
