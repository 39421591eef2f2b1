import Synchronization
import ZeroMQ

/// What other threads tell a loop: posted from anywhere, taken by the loop after its wake-up.
///
/// The posters bound it: each of them waits for the loop before it posts more.
final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Mutex<[Message]>([])
    let wakeup: Wakeup

    init() throws(ZeroMQError) {
        wakeup = try Wakeup()
    }

    func post(_ message: Message) {
        let wasEmpty = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        if wasEmpty { wakeup.signal() }
    }

    func takeAll() -> [Message] {
        wakeup.drain()
        return messages.withLock { messages in
            let taken = messages
            messages.removeAll(keepingCapacity: true)
            return taken
        }
    }
}
