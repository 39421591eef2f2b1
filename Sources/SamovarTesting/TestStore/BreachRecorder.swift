import Synchronization

/// Notes the first turn that broke each invariant. The store calls it on the test's own thread; the lock is for the type system.
final class BreachRecorder: Sendable {
    private let breaches = Mutex<[(name: String, turn: String)]>([])

    func append(_ name: String, _ turn: String) {
        breaches.withLock { breaches in
            guard !breaches.contains(where: { $0.name == name }) else { return }
            breaches.append((name, turn))
        }
    }

    func takeAll() -> [(name: String, turn: String)] {
        breaches.withLock { breaches in
            defer { breaches.removeAll() }
            return breaches
        }
    }
}
