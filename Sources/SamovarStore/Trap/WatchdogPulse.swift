import SamovarCore
import Synchronization

/// Which call into the program is under way, for another thread to look at.
///
/// The thread that calls writes a few words before and one after each call, and waits for nobody. Each call has a number, so two looks
/// that find the same number have found the same call.
public final class WatchdogPulse: Sendable {
    /// A call that is under way.
    public struct Call: Equatable, Sendable {
        /// Of this call among all.
        public var number: UInt64
        /// What it is.
        public var call: ProgramCall
        /// The newest turn when it began.
        public var turn: Int
    }

    /// Odd while a call is under way.
    private let count = Atomic<UInt64>(0)
    private let turn = Atomic<Int>(0)
    private let first = Atomic<UInt64>(0)
    private let second = Atomic<UInt64>(0)
    private let third = Atomic<UInt64>(0)
    private let fourth = Atomic<UInt64>(0)

    /// Nothing is under way.
    public init() {}

    // MARK: On the thread of the calls

    /// A call begins, or one goes on after another that it contained: `words` are those of a `ProgramCall`.
    func begin(_ words: (UInt64, UInt64, UInt64, UInt64), after head: Int?) {
        end()
        // What follows must not be seen before the end of the call before.
        atomicMemoryFence(ordering: .releasing)
        first.store(words.0, ordering: .relaxed)
        second.store(words.1, ordering: .relaxed)
        third.store(words.2, ordering: .relaxed)
        fourth.store(words.3, ordering: .relaxed)
        if let head { turn.store(head, ordering: .relaxed) }
        advance()
    }

    func end() {
        if count.load(ordering: .relaxed) % 2 == 1 { advance() }
    }

    /// Only one thread writes, so this needs no atomic addition.
    private func advance() {
        count.store(count.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    // MARK: On any other

    /// The call that is under way; nil if there is none, or if it has ended during the look.
    public func look() -> Call? {
        let number = count.load(ordering: .acquiring)
        guard number % 2 == 1 else { return nil }
        let words = (
            first.load(ordering: .relaxed), second.load(ordering: .relaxed), third.load(ordering: .relaxed),
            fourth.load(ordering: .relaxed)
        )
        let turn = turn.load(ordering: .relaxed)
        atomicMemoryFence(ordering: .acquiring)
        guard count.load(ordering: .relaxed) == number, let call = ProgramCall(words: words) else { return nil }
        return Call(number: number, call: call, turn: turn)
    }
}
