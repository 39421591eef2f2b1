import Synchronization

/// Set once, by another thread.
public final class Latch: Sendable {
    private let value = Atomic(false)

    public init() {}

    public func set() { value.store(true, ordering: .releasing) }
    public var isSet: Bool { value.load(ordering: .acquiring) }
}
