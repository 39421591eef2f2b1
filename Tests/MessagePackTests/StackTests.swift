import Foundation
import MessagePack
import Testing

/// What the deepest values take of a thread's stack, as `MessagePackLimits.largestDepth` promises it.
@Suite struct StackTests {
    #if DEBUG
    static let stackSize = 1 << 20
    #else
    static let stackSize = 512 << 10
    #endif

    /// One map for each level.
    final class Link: Codable {
        var next: Link?

        static func chain(_ depth: Int) -> Link {
            let link = Link()
            if depth > 1 { link.next = chain(depth - 1) }
            return link
        }

        var depth: Int { 1 + (next?.depth ?? 0) }
    }

    /// Two maps for each level, of which one is nested by hand, and one for the end.
    indirect enum Nest: Codable {
        case egg
        case nest(Nest)

        static func of(_ depth: Int) -> Nest { depth == 0 ? .egg : .nest(of(depth - 1)) }

        var depth: Int { if case .nest(let inner) = self { 1 + inner.depth } else { 0 } }
    }

    static func encodedAndDecoded<Value: Codable>(_ value: Value) throws -> Value {
        let limits = MessagePackLimits(maximumDepth: .max)
        let codec = ValueCodec<Value>(MessagePackEncoder(canonical: true, limits: limits), MessagePackDecoder(limits: limits))
        return try codec.decode(codec.encode(value))
    }

    /// Runs `body` on a thread with such a stack, whose overflow ends the process.
    static func onSmallStack(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            done.signal()
        }
        thread.stackSize = stackSize
        thread.start()
        done.wait()
    }

    @Test func `The deepest chain of objects fits the stack of a secondary thread`() async {
        await #expect(processExitsWith: .success) {
            StackTests.onSmallStack {
                let depth = MessagePackLimits.largestDepth
                let link = try? StackTests.encodedAndDecoded(Link.chain(depth))
                precondition(link?.depth == depth)
            }
        }
    }

    @Test func `The deepest enum fits the stack of a secondary thread`() async {
        await #expect(processExitsWith: .success) {
            StackTests.onSmallStack {
                let depth = MessagePackLimits.largestDepth / 2 - 1
                let nest = try? StackTests.encodedAndDecoded(Nest.of(depth))
                precondition(nest?.depth == depth)
            }
        }
    }
}
