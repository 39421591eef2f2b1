/// The pointer of a socket, which knows whether the socket is closed.
///
/// A ``Poller`` holds the handle, so a socket that is closed while in a poll set is never touched again.
final class SocketHandle {
    /// Valid until ``close()``.
    let pointer: UnsafeMutableRawPointer
    private(set) var isClosed = false
    private let context: Context

    init(_ context: Context, _ kind: Socket.Kind, options: SocketOptions? = nil) throws(ZeroMQError) {
        self.context = context
        pointer = try context.openSocket(kind)
        do throws(ZeroMQError) {
            try options?.apply(to: pointer, of: kind)
        } catch {
            close()
            throw error
        }
    }

    func close() {
        isClosed = true
        context.closeSocket(pointer)
    }
}
