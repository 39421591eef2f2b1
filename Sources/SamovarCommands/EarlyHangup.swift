import Foundation
import Synchronization

/// A command that may have another use for SIGHUP than to end by it; `run` calls `EarlyHangup.letGo` where its settings say that it has none.
protocol HearingHangup {}

/// SIGHUP between the beginning of a process and the moment at which it is known what the signal means to it.
///
/// To a store with keys, and to its `up`, it means to read them again. One that has come before they were read the first time is no loss.
enum EarlyHangup {
    /// From here on it is noted, and ends nothing.
    static func hold() {
        hasCome.store(false, ordering: .sequentiallyConsistent)
        // Not by `install`: a call that the signal interrupts goes on.
        former = signal(SIGHUP, note)
    }

    /// From here on it means what it meant to this process at first, and so does one that has come.
    static func letGo() {
        signal(SIGHUP, former)
        // Not by `raise`: this thread may be one that blocks it.
        if hasCome.exchange(false, ordering: .sequentiallyConsistent) { kill(getpid(), SIGHUP) }
    }
}

private let hasCome = Atomic<Bool>(false)
/// What the signal did; nil for the end of the process. It is set before there is another thread that asks for it.
nonisolated(unsafe) private var former: (@convention(c) (Int32) -> Void)?

private func note(_ number: Int32) {
    hasCome.store(true, ordering: .sequentiallyConsistent)
}
