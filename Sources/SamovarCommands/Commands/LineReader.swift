import Foundation
import Synchronization

/// The inputs of a command: given ones, or the lines of standard input, read on a thread of its own, since that blocks.
///
/// It reads ahead of their receipts by so much and no more, whatever is piped into it.
final class LineReader: Sendable {
    /// With the number in standard input, from 1; nil for a given one.
    typealias Line = (text: String, number: Int?)

    /// Lines that are not blank.
    let lines: AsyncStream<Line>
    private let continuation: AsyncStream<Line>.Continuation
    /// Filled from zero: one that is released below its first value would trap.
    private let room = DispatchSemaphore(value: 0)
    private let costs = Mutex<[Int]>([])

    private static let capacity = 1_024
    /// A line costs one, and one more for each of these bytes.
    private static let bytesOfCost = 8_192

    /// - Parameter given: nil to read standard input.
    init(_ given: [String]?) {
        (lines, continuation) = AsyncStream.makeStream()
        for _ in 0..<Self.capacity { room.signal() }
        if let given {
            for line in given { continuation.yield((line, nil)) }
            continuation.finish()
        } else {
            let thread = Thread { [self] in read() }
            thread.name = "samovar-input"
            thread.start()
        }
    }

    private func read() {
        var number = 0
        while let line = readLine() {
            number += 1
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            let cost = min(1 + line.utf8.count / Self.bytesOfCost, Self.capacity)
            for _ in 0..<cost { room.wait() }
            costs.withLock { $0.append(cost) }
            continuation.yield((line, number))
        }
        continuation.finish()
    }

    /// The oldest line has its receipt.
    func release() {
        let cost = costs.withLock { $0.isEmpty ? 0 : $0.removeFirst() }
        for _ in 0..<cost { room.signal() }
    }
}
