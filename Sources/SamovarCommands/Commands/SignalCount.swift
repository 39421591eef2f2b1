import Synchronization

/// How many signals have come.
final class SignalCount: Sendable {
    private let value = Atomic<Int>(0)

    func increment() -> Int {
        value.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
