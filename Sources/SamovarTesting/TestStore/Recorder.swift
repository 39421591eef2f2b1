import Synchronization

/// Notes what is to be looked at later. The store calls it on the test's own thread; the lock is for the type system.
final class Recorder<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func update(_ body: (inout [Element]) -> Void) { elements.withLock { body(&$0) } }

    func takeAll() -> [Element] {
        elements.withLock { elements in
            defer { elements.removeAll() }
            return elements
        }
    }
}
