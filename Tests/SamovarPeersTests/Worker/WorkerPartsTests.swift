import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// The parts of a worker that count: tasks, streamed messages, and how often progress is told.
@Suite struct WorkerPartsTests {
    private static func lease(_ number: Int) -> Lease { WorkerMachineTests.lease(number) }

    // MARK: Tasks

    @Test func `Tasks are taken up to the credit, and each once`() {
        var count = TaskCount()
        let verdicts = [(2, 2, 4), (1, 1, 4), (2, 2, 4), (2, 5, 4), (3, 2, 4), (1, 4, 4), (2, 4, 4), (1, 4, 4)].map {
            count.take($0, number: $1, credit: $2)
        }
        #expect(verdicts == [.taken, .repeated, .repeated, .overdrawn, .overdrawn, .incomplete, .taken, .repeated])
        #expect(count.taken == 4)
        #expect(count.take(2, number: 5, credit: 9) == .taken, "one of them came before")
    }

    @Test func `Tasks that were sent are lost when they stay away for as long as the patience`() {
        var count = TaskCount()
        func isLost(_ sent: Int, _ second: Double) -> Bool {
            count.isIncomplete(sent: sent, now: at(second), patience: .seconds(3))
        }
        #expect([isLost(0, 0), isLost(1, 1), isLost(2, 3), isLost(2, 4)] == [false, false, false, true])
        #expect(count.take(1, number: 1, credit: 9) == .taken)
        // 1 has come, and 2 is missing since now.
        #expect([isLost(2, 5), isLost(2, 7.9), isLost(2, 8)] == [false, false, true])
        #expect(count.take(1, number: 2, credit: 9) == .taken)
        #expect([isLost(2, 20), isLost(3, 21), isLost(3, 23.9)] == [false, false, false])
        #expect(count.take(1, number: 3, credit: 9) == .taken && !isLost(3, 30))
        #expect(!isLost(4, 31) && isLost(4, 34))
    }

    @Test func `The first CANCEL may be lost, too: the second or a count shows it`() {
        var counts = [TaskCount(), TaskCount(), TaskCount()]
        let isComplete = [
            counts[0].takeCancel(number: 1, isCount: false), counts[1].takeCancel(number: 2, isCount: false),
            counts[2].takeCancel(number: 1, isCount: true),
        ]
        #expect(isComplete == [true, false, false])
    }

    @Test func `An object that takes one task after the other has the timeout of the newest`() {
        let job = RunningJob(WorkerMachineTests.task(1), in: home)
        #expect(job.timeout == nil)
        job.begin(WorkerMachineTests.task(2, timeout: .seconds(3)), hasTimeout: true, in: home)
        #expect(job.timeout == .seconds(3) && job.lease == Self.lease(2) && job.takePayload() == [0xc0])
        job.begin(WorkerMachineTests.task(3), hasTimeout: false, in: home)
        #expect(job.timeout == nil)
    }

    // MARK: Streams

    @Test func `A window is empty once all is on disk, however late that is told`() {
        var window = StreamWindow(after: nil)
        #expect([window.next(size: 1), window.next(size: 2)] == [1, 2])
        window.acknowledged(through: 9)
        #expect(window.hasRoom(for: StreamWindow.byteLimit + 1), "nothing is without acknowledgement")
        #expect(window.next(size: StreamWindow.byteLimit) == 3 && !window.hasRoom(for: 1) && window.hasRoom(for: 0))
        window.acknowledged(through: 2)
        #expect(!window.hasRoom(for: 1), "3 is not on disk")
        window.acknowledged(through: 3)
        #expect(window.next(size: StreamWindow.byteLimit - 1) == 4 && window.hasRoom(for: 1) && !window.hasRoom(for: 2))
    }

    @Test func `The limits of a stream are those that the protocol names`() {
        #expect(StreamWindow.limit == 64 && StreamWindow.byteLimit == 4_194_304)
        #expect(StreamWindow.messageLimit == 1_048_576 && StreamWindow.checkpointLimit == 65_536)
    }

    // MARK: Progress

    @Test func `Progress is told once in each interval, the newest of each job that runs`() {
        var box = ProgressBox()
        func note(_ number: Int, _ fraction: Double) {
            box.note(JobProgress(fraction: fraction), of: JobClaim(WorkerMachineTests.task(number)))
        }
        func take(_ second: Double) -> [Int] {
            box.take(now: at(second), interval: .seconds(1)) { $0 != Self.lease(9) }.map(\.lease.counter)
        }
        #expect(box.due == nil && take(0) == [])
        for number in [3, 1, 9, 2] { note(number, 0.5) }
        #expect(take(0) == [1, 2, 3] && box.due == nil)
        note(1, 0.6)
        #expect(box.due == at(1) && take(0.9) == [] && take(1) == [1] && take(2) == [])
        note(1, 0.7)
        box.forgetAll()
        #expect(box.due == nil && take(9) == [])
    }

    // MARK: The job of a slot

    @Test func `A slot's job has the payload, the timeline and the timeout of its task, whichever came before`() {
        let first = WorkerMachineTests.task(1, timeout: .seconds(2))
        let job = RunningJob(first, in: home)
        #expect(job.lease == Self.lease(1) && job.timeout == .seconds(2) && job.timeline == home)
        #expect(job.takePayload() == [0xc0] && job.takePayload() == [0xc0], "also when it is asked for again")
        let second = JobTask(
            effect: EffectID(turn: 2, ordinal: 0), lease: Self.lease(2), token: 2, attempt: 1, timeout: nil, payload: [0x07])
        job.begin(second, hasTimeout: false, in: abroad)
        #expect(job.lease == Self.lease(2) && job.timeout == nil && job.timeline == abroad && job.takePayload() == [0x07])
        job.begin(first, hasTimeout: true, in: home)
        #expect(job.timeout == .seconds(2) && RunningJob(second, in: home).timeout == nil)
    }
}
