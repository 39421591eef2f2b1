import CZeroMQ

extension Socket {
    /// The longest topic: libzmq 4.3.4 loses subscriptions of 246 to 255 bytes.
    public static let maximumTopicBytes = 200

    /// Lets a subscriber receive the messages whose first frame begins with `topic`.
    ///
    /// - Parameter topic: at most ``maximumTopicBytes`` and ending in `0x00`, so that no topic is the beginning of another.
    /// - Throws: ``ZeroMQError/Code/invalidTopic``, or an error of libzmq if the socket is no subscriber.
    public mutating func subscribe(_ topic: [UInt8]) throws(ZeroMQError) {
        guard topic.count <= Self.maximumTopicBytes else {
            throw ZeroMQError(
                .invalidTopic, operation: "subscribe",
                reason: "the topic has \(topic.count) bytes, the limit is \(Self.maximumTopicBytes)")
        }
        guard topic.last == 0 else {
            throw ZeroMQError(.invalidTopic, operation: "subscribe", reason: "the topic does not end in 0x00")
        }
        let socket = handle.pointer
        try checked("subscribe") { zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, topic.count) }
    }
}
