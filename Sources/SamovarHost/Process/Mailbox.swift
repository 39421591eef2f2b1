import Synchronization
package import ZeroMQ

/// What other threads tell a loop: posted from anywhere, taken by the loop after its wake-up.
///
/// The posters bound it: each of them waits for the loop before it posts more, or counts what it has posted.
package final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    package let wakeup: Wakeup

    package init() throws(ZeroMQError) {
        wakeup = try Wakeup()
    }

    /// False if the loop has ended, and nobody will take it.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let (isTaken, wasEmpty) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            return (true, state.messages.count == 1)
        }
        if wasEmpty { wakeup.signal() }
        return isTaken
    }

    package func takeAll() -> [Message] {
        wakeup.drain()
        return state.withLock { state in
            let taken = state.messages
            state.messages.removeAll(keepingCapacity: true)
            return taken
        }
    }

    /// Gives back the first of such messages; nil if there is none that the loop has not taken.
    package func takeBack(where isMeant: (Message) -> Bool) -> Message? {
        state.withLock { state in
            guard let place = state.messages.firstIndex(where: isMeant) else { return nil }
            return state.messages.remove(at: place)
        }
    }

    /// Takes nothing any more, and returns what was left.
    package func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            let left = state.messages
            state.messages = []
            return left
        }
    }
}
