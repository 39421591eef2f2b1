import Foundation
import Synchronization

/// Does something with each element on so many threads, and hands out what came of it in the order of the elements, as soon as it is there.
public func inParallel<Element: Sendable, Result: Sendable>(
    _ elements: [Element], jobs: Int, _ work: @escaping @Sendable (Element) throws -> Result,
    each: @escaping @Sendable (Element, Result) -> Void
) throws {
    let state = Mutex(Progress<Result>())
    DispatchQueue.concurrentPerform(iterations: min(jobs, elements.count)) { _ in
        while let index = state.withLock({ progress -> Int? in
            guard progress.failure == nil, progress.next < elements.count else { return nil }
            progress.next += 1
            return progress.next - 1
        }) {
            do {
                let result = try work(elements[index])
                state.withLock { progress in
                    progress.results[index] = result
                    while let ready = progress.results.removeValue(forKey: progress.told) {
                        each(elements[progress.told], ready)
                        progress.told += 1
                    }
                }
            } catch {
                state.withLock { $0.failure = error }
            }
        }
    }
    if let failure = state.withLock({ $0.failure }) { throw failure }
}

private struct Progress<Result> {
    var next = 0
    var results: [Int: Result] = [:]
    var told = 0
    var failure: (any Error)?
}
