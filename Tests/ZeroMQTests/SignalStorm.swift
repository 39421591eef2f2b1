import Foundation
import Synchronization

private let signalsHandled = Atomic<Int>(0)

/// Runs `body` while its thread gets a SIGUSR1 five thousand times a second.
///
/// - Returns: how many of them interrupted the thread.
func underSignalStorm(_ body: () throws -> Void) throws -> Int {
    let before = signalsHandled.load(ordering: .relaxed)
    handleSignals()
    // The threads of Swift's pool block signals, unlike those that own sockets.
    var signals = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGUSR1)
    pthread_sigmask(SIG_UNBLOCK, &signals, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

    let storm = Storm(on: pthread_self())
    defer { storm.stop() }
    try body()
    return signalsHandled.load(ordering: .relaxed) - before
}

private func handleSignals() {
    // Without SA_RESTART every system call that waits is interrupted.
    var action = sigaction()
    #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = { _ in signalsHandled.add(1, ordering: .relaxed) }
    #else
    action.__sigaction_handler.sa_handler = { _ in signalsHandled.add(1, ordering: .relaxed) }
    #endif
    sigaction(SIGUSR1, &action, nil)
}

private final class Storm: Sendable {
    /// Unchecked because the identifier of a thread is a pointer on Darwin; it exists to be used by other threads.
    private struct Target: @unchecked Sendable {
        let thread: pthread_t
    }

    private let isOver = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)

    init(on thread: pthread_t) {
        let target = Target(thread: thread)
        // Ends by itself, so that a wait which never ends under signals fails its test instead of hanging it.
        let deadline = ContinuousClock.now + .milliseconds(2 * patience)
        Thread.detachNewThread { [self] in
            while !isOver.load(ordering: .relaxed), ContinuousClock.now < deadline {
                pthread_kill(target.thread, SIGUSR1)
                usleep(200)
            }
            ended.signal()
        }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
    }
}
