/// One received message: its frames, the first of which is the peer's routing id if a router received it.
///
/// ```swift
/// while let message = try router.receive() {
///     guard !message.isTruncated, message.count == 3 else { continue }
///     handle(peer: message[0], header: message[1], body: message[2])
/// }
/// ```
public struct MultipartMessage: ~Copyable {
    /// How many frames were kept, at most ``SocketOptions/maximumFrames``.
    public private(set) var count = 0
    /// How many further frames were thrown away.
    public private(set) var droppedFrames = 0

    private let capacity: Int
    private let messages: UnsafeMutablePointer<Message>

    init(first: consuming Message, capacity: Int) {
        self.capacity = capacity
        messages = .allocate(capacity: capacity)
        append(first)
    }

    deinit {
        messages.deinitialize(count: count)
        messages.deallocate()
    }

    mutating func append(_ message: consuming Message) {
        guard count < capacity else { return droppedFrames += 1 }
        (messages + count).initialize(to: message)
        count += 1
    }

    /// Whether the message had more frames than its socket accepts. It is not one of ours: count it and let it go.
    public var isTruncated: Bool { droppedFrames > 0 }

    /// A copy of the frame at `index`, which must be less than ``count``.
    public subscript(index: Int) -> [UInt8] {
        withUnsafeBytes(at: index) { [UInt8]($0) }
    }

    /// Copies of all frames.
    public var frames: [[UInt8]] { (0..<count).map { self[$0] } }

    /// Calls `body` with the bytes of the frame at `index` in place; the buffer is valid only during the call.
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        at index: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition((0..<count).contains(index), "the message has no frame \(index)")
        return try messages[index].withUnsafeBytes(body)
    }
}
