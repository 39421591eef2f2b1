import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Neighbouring answers, as bytes: what is counted, and what is kept of what was forgotten.
@Suite struct AnswerBatchTests {
    private static func claim(_ number: Int) -> JobClaim { WorkerOutboxTests.claim(number) }

    private static func lease(_ number: Int) -> Lease { WorkerMachineTests.lease(number) }

    private static func batch(_ sizes: [Int]) -> AnswerBatch {
        var batch = AnswerBatch()
        for (index, size) in sizes.enumerated() {
            _ = batch.append(claim(index + 1), .done([[UInt8](repeating: 7, count: size)]))
        }
        return batch
    }

    private static func leases(_ batch: inout AnswerBatch) throws -> [Lease] {
        let frame = try Frame(FrameHeader(.result, timeline: home, number: 0), body: batch.body())
        guard case .result(let results, _) = frame else { return [] }
        return results.map(\.lease)
    }

    @Test func `It counts answers and streamed messages, and the bytes of both`() throws {
        var batch = AnswerBatch()
        #expect(batch.isEmpty && batch.oldest == nil && batch.bytes == 0)
        let streamed = batch.append(Self.claim(1), .streamed(index: 4, message: [1], checkpoint: nil))
        let answer = batch.append(Self.claim(2), .done([[1]]))
        #expect(batch.count == 2 && batch.streamed == 1 && batch.answers == 1 && batch.bytes == streamed + answer)
        #expect(batch.oldest == Self.lease(2) && batch.answers(Self.lease(2)) && !batch.answers(Self.lease(1)))
        var freed = batch.forget { $0.isStreamed && $0.index == 4 }
        #expect(freed == streamed && batch.count == 1 && batch.streamed == 0 && batch.bytes == answer)
        freed = batch.forget { $0.claim.lease == Self.lease(2) }
        #expect(freed == answer && batch.isEmpty && batch.bytes == 0 && batch.oldest == nil && !batch.answers(Self.lease(2)))
        freed = batch.forget { _ in true }
        #expect(freed == 0, "each is forgotten once")
    }

    @Test func `The first are forgotten as long as they are the next, past those that are forgotten already`() throws {
        var batch = Self.batch([1, 2, 3, 4])
        var (count, freed) = batch.forgetFirst([2].map(Self.lease)[...])
        #expect((count, freed) == (0, 0))
        freed = batch.forget { $0.claim.lease == Self.lease(2) }
        #expect(freed == batch.size(at: 1))
        (count, freed) = batch.forgetFirst([1, 3, 2].map(Self.lease)[...])
        #expect(count == 2 && freed == batch.size(at: 0) + batch.size(at: 2) && batch.bytes == batch.size(at: 3))
        let left = try Self.leases(&batch)
        #expect(left == [Self.lease(4)] && batch.oldest == Self.lease(4))
        count = batch.forgetFirst([4, 5].map(Self.lease)[...]).count
        #expect(count == 1 && batch.isEmpty)
    }

    @Test(arguments: [[500, 500, 500, 500, 100, 100], [500, 500, 100], [500, 100, 100]])
    func `What is kept takes at most twice its size`(_ sizes: [Int]) throws {
        var batch = Self.batch(sizes)
        _ = batch.forget { $0.claim.lease <= Self.lease(sizes.filter { $0 == 500 }.count) }
        #expect(batch.written <= batch.bytes * 2)
        let kept = sizes.indices.filter { sizes[$0] == 100 }.map { Self.lease($0 + 1) }
        let left = try Self.leases(&batch)
        #expect(left == kept && batch.count == kept.count)
        #expect(batch.bytes == kept.indices.reduce(0) { $0 + batch.size(at: $1) })
    }

    @Test func `What was sent in part is written without the rest, and a batch begins anew with nothing`() throws {
        var batch = Self.batch([5, 6, 7])
        _ = batch.append(Self.claim(4), .streamed(index: 1, message: [1], checkpoint: nil))
        _ = batch.forgetFirst([Self.lease(1)][...])
        var left = try Self.leases(&batch)
        #expect(left == [2, 3, 4].map(Self.lease))
        batch.removeAll()
        #expect(batch.isEmpty && batch.bytes == 0 && batch.streamed == 0 && batch.written == 0 && batch.oldest == nil)
        _ = batch.append(Self.claim(9), .returned)
        left = try Self.leases(&batch)
        #expect(left == [Self.lease(9)] && batch.answers == 1)
    }
}
