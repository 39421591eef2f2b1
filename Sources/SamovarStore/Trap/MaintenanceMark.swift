import Synchronization

/// The mark of the thread that makes snapshots beside the service. It calls the program while the loop does, too.
///
/// So it has two words of the marker's page for itself, and neither thread waits for the other. A mark is the thread's own number, so
/// that a signal handler can tell whose signal it is. What a process leaves here, the next one's `TrapMarker` takes.
///
/// `@unchecked Sendable`, because all that is shared is two atomic words; the page has to outlive the thread.
public struct MaintenanceMark: @unchecked Sendable {
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// The last words of the page, behind those of the suspects.
    static let place = TrapMarker.byteCount / 8 - 2

    /// - Parameter memory: the page of a `TrapMarker`.
    public init(_ memory: UnsafeMutableRawPointer) {
        words = (memory + Self.place * MemoryLayout<UInt64>.stride).bindMemory(to: Atomic<UInt64>.self, capacity: 2)
    }

    /// Calls the program on this thread.
    ///
    /// - Parameter thread: its number, not zero.
    public func during<Result>(thread: UInt64, _ body: () throws -> Result) rethrows -> Result {
        begin(thread: thread)
        defer { set(0, to: 0) }
        return try body()
    }

    func begin(thread: UInt64) {
        set(1, to: 0)
        set(0, to: thread)
    }

    /// Notes a signal if this thread has raised it in such a call. A few stores: it may be called by a signal handler.
    public func note(signal: Int32, thread: UInt64) {
        guard thread != 0, word(0) == thread else { return }
        set(1, to: UInt64(truncatingIfNeeded: signal))
    }

    /// How the process before died if it was in such a call; and the mark is taken back.
    func take() -> DeathEvidence? {
        guard word(0) != 0 else { return nil }
        let signal = word(1)
        set(0, to: 0)
        return signal == 0 ? DeathEvidence.none : .signal(Int(truncatingIfNeeded: signal))
    }

    private func word(_ index: Int) -> UInt64 { words[index].load(ordering: .sequentiallyConsistent) }

    private func set(_ index: Int, to value: UInt64) { words[index].store(value, ordering: .sequentiallyConsistent) }
}
