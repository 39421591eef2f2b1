import Foundation
import SamovarHost
import Synchronization

/// Writes views to standard output on a thread of its own, in order. Whoever waits for a print is let go when cancelled: a reader may stand
/// still for ever.
final class ViewThread: Sendable {
    private let prints = WorkQueue<@Sendable (LiveScreen) -> Void>()
    private let unfinished = Atomic<Int>(0)

    init() throws {
        try startThread("samovar-views") { [prints] in
            let screen = LiveScreen()
            while let print = prints.next() { print(screen) }
        }
    }

    /// In several lines; on a terminal in the place of the view before it.
    func draw(_ text: String) async {
        await print { screen -> Void in
            if LiveScreen.isTerminal { screen.draw(text) } else { printData(text) }
        }
    }

    /// In a line that may be left out.
    ///
    /// - Returns: false if there was no space for it, as `printDataIfThereIsSpace` does; nil if this task was cancelled before.
    func add(_ line: String) async -> Bool? {
        await print { _ in printDataIfThereIsSpace(line) }
    }

    @discardableResult
    private func print<Value: Sendable>(_ body: @escaping @Sendable (LiveScreen) -> Value) async -> Value? {
        let (values, value) = AsyncStream<Value>.makeStream()
        unfinished.wrappingAdd(1, ordering: .sequentiallyConsistent)
        prints.post { [self] screen in
            value.yield(body(screen))
            value.finish()
            unfinished.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        }
        for await value in values { return value }
        return nil
    }

    /// Waits until all is written, but for a reader who stands still no longer than a second.
    func finish() async {
        let end = ContinuousClock.now + .seconds(1)
        while unfinished.load(ordering: .sequentiallyConsistent) > 0, ContinuousClock.now < end {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
    }
}
