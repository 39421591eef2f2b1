import Foundation
import MessagePack
import SamovarHost
import SamovarText
import Synchronization

/// The inputs of a command: given ones, or the lines of standard input, read on a thread of its own, since that blocks.
///
/// It reads ahead of their receipts by so much and no more, whatever is piped into it.
final class LineReader: Sendable {
    /// Without its end; nil if it is not UTF-8. With the number in standard input, from 1; nil for a given one.
    typealias Line = (text: String?, number: Int?)

    /// Lines that are not blank.
    let lines: AsyncStream<Line>
    private let continuation: AsyncStream<Line>.Continuation
    /// Filled from zero: one that is released below its first value would trap.
    private let room = DispatchSemaphore(value: 0)
    private let costs = Mutex<[Int]>([])
    private let failure = Mutex<Int32?>(nil)
    /// Why standard input could not be read to its end; known when there are no more lines.
    var error: Int32? { failure.withLock { $0 } }

    private static let capacity = 1_024
    /// A line costs one, and one more for each of these bytes.
    private static let bytesOfCost = 8_192

    /// - Parameter given: nil to read standard input.
    init(_ given: [String]?) throws {
        (lines, continuation) = AsyncStream.makeStream()
        for _ in 0..<Self.capacity { room.signal() }
        if let given {
            for line in given { continuation.yield((line, nil)) }
            continuation.finish()
        } else {
            try startThread("samovar-input") { [self] in
                var number = 0
                let error = readLines { line in
                    number += 1
                    take(line, number)
                }
                failure.withLock { $0 = error }
                continuation.finish()
            }
        }
    }

    private func take(_ line: [UInt8], _ number: Int) {
        // One that is too long was cut off, if need be in a character: it is handed on to be refused for its length.
        let isTooLong = line.count > JSONTranscoder.inputLimits.maximumBytes
        let text = isTooLong ? String(decoding: line, as: UTF8.self) : String(validating: line, as: UTF8.self)
        guard isTooLong || text?.allSatisfy(\.isWhitespace) != true else { return }
        let cost = min(1 + line.count / Self.bytesOfCost, Self.capacity)
        for _ in 0..<cost { room.wait() }
        costs.withLock { $0.append(cost) }
        continuation.yield((text, number))
    }

    /// The oldest line has its receipt.
    func release() {
        let cost = costs.withLock { $0.isEmpty ? 0 : $0.removeFirst() }
        for _ in 0..<cost { room.signal() }
    }
}
