import Synchronization

/// Lets few in at a time. Clusters of many processes would otherwise stand side by side on a machine of two cores, and tests of
/// time among them fail for want of it.
package final class Turnstile: Sendable {
    /// How many clusters there are at a time.
    package static let clusters = Turnstile(2)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

/// A place inside, given back with its last reference.
package final class TurnstileTicket: Sendable {
    private let turnstile: Turnstile

    package init(_ turnstile: Turnstile) async {
        self.turnstile = turnstile
        await turnstile.enter()
    }

    deinit { turnstile.leave() }
}
