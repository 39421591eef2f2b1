import SamovarCore
import SamovarProtocol
import Synchronization
import Testing

@testable import SamovarHost

@Suite struct SlotTests {
    static func slot() throws -> Slot {
        let offer = WorkerOffer(id: WorkerID(high: 7, low: 7), slots: 1, queues: [.default])
        let machine = WorkerMachine(offer, schema: nil, random: Random(seed: 1))
        return Slot(0, of: try WorkerDesk(machine, slots: 1))
    }

    static func task(_ number: Int) -> JobTask {
        JobTask(
            effect: EffectID(turn: number, ordinal: 0), lease: Lease(start: 1, counter: number), token: 0, attempt: 1, payload: [])
    }

    @Test(.timeLimit(.minutes(1)))
    func `A job that is cancelled before it begins is told to stop, and the next one is not`() async throws {
        let slot = try Self.slot()
        let cancellations = Mutex<[Bool]>([])
        slot.cancel(Self.task(1).lease)
        slot.give(WorkerDesk.Assignment(task: Self.task(1), timeline: .zero))
        await slot.run(on: SlotExecutor(0)) { slot, first in
            guard let job = await slot.nextJob(), slot.begin(job.task) != nil else { return nil }
            if job.task.lease == Self.task(1).lease {
                // A job that waits ends when it is told to.
                while (try? await Task.sleep(for: .milliseconds(1))) != nil {}
                slot.give(WorkerDesk.Assignment(task: Self.task(2), timeline: .zero))
            } else {
                slot.close()
            }
            cancellations.withLock { $0.append(Task.isCancelled) }
            // Another task runs the next job.
            return nil
        }
        #expect(cancellations.withLock { $0 } == [true, false])
    }

    @Test func `A job is not told to stop because one of another timeline with its lease was`() throws {
        let slot = try Self.slot()
        _ = slot.begin(Self.task(1))
        slot.cancel(Self.task(1).lease)
        #expect(slot.begin(Self.task(2)) == nil, "the first one was told to stop, and so no other runs in its task")
        #expect(slot.begin(Self.task(2)) != nil)
        slot.cancel(Self.task(1).lease)
        _ = slot.begin(Self.task(3))
        _ = slot.begin(Self.task(1))
        #expect(slot.begin(Self.task(4)) != nil, "this other job with the lease of the first one was not told to stop")
    }

    @Test func `A desk is used again only if nothing has kept it`() throws {
        let slot = try Self.slot()
        var desk = slot.begin(Self.task(1))
        let first = desk.map(ObjectIdentifier.init)
        desk?.collect([1])
        _ = desk?.close()
        desk = nil
        desk = slot.begin(Self.task(2))
        #expect(desk.map(ObjectIdentifier.init) == first)
        #expect(desk?.close() == [])
        let kept = desk
        let other = slot.begin(Self.task(3))
        kept?.collect([2])
        #expect(other !== kept)
        #expect(other?.close() == [])
    }

    @Test func `What a short lock guards is changed by one thread at a time`() async {
        let lock = ShortLock([0])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 { lock.withLock { $0.append($0.removeLast() + 1) } }
                }
            }
        }
        #expect(lock.withLock { $0 } == [80_000])
    }
}
