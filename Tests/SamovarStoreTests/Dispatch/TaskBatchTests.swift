import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The tasks of one round.
@Suite struct TaskBatchTests {
    private func append(_ number: Int, bytes: Int, to batch: inout TaskBatch) {
        let effect = OpenEffect(
            id: EffectID(turn: number, ordinal: 0), root: number, payload: [UInt8](repeating: 7, count: bytes), now: at(0))
        batch.append(effect, lease: Lease(start: 1, counter: number), token: 0, number: number, limit: 1 << 20)
    }

    @Test(arguments: [1, 300_000]) func `Nothing of a round is left in the next, however large it was`(bytes: Int) {
        var (batch, fresh) = (TaskBatch(), TaskBatch())
        append(1, bytes: bytes, to: &batch)
        let first = batch.takeFrames()
        #expect(first.map(\.number) == [1])
        for number in [2, 3] {
            append(number, bytes: 1, to: &batch)
            append(number, bytes: 1, to: &fresh)
        }
        let (frames, expected) = (batch.takeFrames(), fresh.takeFrames())
        #expect(frames.map(\.body) == expected.map(\.body) && frames.map(\.number) == [3])
        let rest = batch.takeFrames()
        #expect(rest.isEmpty)
    }
}
