import MachineSupport
import SamovarCore
import Testing

@testable import SamovarWire

/// Tasks that were read are rows of their frame.
@Suite struct TaskFrameTests {
    static func task(
        _ number: Int, instance: Instance = .main, queue: Queue = .default, timeout: Duration? = nil, resume: StreamPlace? = nil
    ) -> JobTask {
        JobTask(
            effect: EffectID(turn: number, ordinal: 1), lease: Lease(start: 2, counter: number), token: UInt64(number),
            attempt: number,
            instance: instance, queue: queue, timeout: timeout, resume: resume, payload: [UInt8](repeating: 3, count: number)[...])
    }

    static func read(_ tasks: [JobTask]) throws -> [JobTask] {
        let envelope = Envelope(.task(tasks, number: tasks.count), timeline: home)
        guard case .task(let read, let number) = try Envelope(parts: envelope.parts).frame, number == tasks.count else { return [] }
        return read
    }

    @Test func `Each task has its own terms, those of its neighbours or others`() throws {
        let place = StreamPlace(index: 3, checkpoint: [1])
        let tasks = [
            Self.task(1), Self.task(2), Self.task(3, queue: "mail"), Self.task(4, queue: "mail"),
            Self.task(5, queue: "mail", timeout: .seconds(1)), Self.task(6, queue: "mail", timeout: .seconds(1)),
            Self.task(7, timeout: .seconds(2)), Self.task(8, resume: place), Self.task(9, resume: place), Self.task(10),
            Self.task(11, instance: Instance("other")), Self.task(12, instance: Instance("other")), Self.task(13),
        ]
        let read = try Self.read(tasks)
        #expect(read == tasks)
        #expect(read.map(\.queue) == tasks.map(\.queue) && read.map(\.instance) == tasks.map(\.instance))
        #expect(read.map(\.timeout) == tasks.map(\.timeout) && read.map(\.resume) == tasks.map(\.resume))
        #expect(read.map(\.description) == tasks.map(\.description))
    }

    @Test func `A task that is read is equal to the one that was written, and to no other`() throws {
        let read = try Self.read([Self.task(1), Self.task(2)])
        #expect(read[0] == Self.task(1) && read[0] != read[1])
        #expect(read[0] != Self.task(1, queue: "mail") && read[0] != Self.task(1, timeout: .zero))
    }

    @Test(
        arguments: [
            (.zero, .zero), (.nanoseconds(1), .milliseconds(1)), (.microseconds(1), .milliseconds(1)),
            (.microseconds(999), .milliseconds(1)), (.milliseconds(1), .milliseconds(1)), (.microseconds(1_001), .milliseconds(2)),
            (.seconds(Int64.max), .milliseconds(Int64.max / 1_000)), (.microseconds(-1_500), .milliseconds(-1)),
        ] as [(Duration, Duration)])
    func `A timeout is told in whole milliseconds, rounded up, so that a short one is not none`(
        _ timeout: Duration, _ told: Duration
    ) throws {
        #expect(try Self.read([Self.task(1, timeout: timeout)]).map(\.timeout) == [told])
    }

    @Test func `A frame without tasks is read`() throws {
        #expect(try Self.read([]).isEmpty)
    }

    @Test func `An envelope that was written already is the one that is read from it`() throws {
        func result(_ number: Int, _ answer: JobResult.Answer) -> JobResult {
            JobResult(
                effect: EffectID(turn: number, ordinal: 0), lease: Lease(start: 1, counter: number), token: UInt64(number),
                answer: answer)
        }
        let results: JobResults = [result(1, .done([[1]])), result(2, .returned)]
        let envelope = Envelope(.result(results, credit: 7), timeline: home)
        let written = Envelope(written: .result, number: 7, body: try #require(envelope.parts.last), timeline: home)
        #expect(
            written == envelope && written.parts == envelope.parts && written.kind == .result && written.frame == envelope.frame)
        #expect(written != Envelope(.result(results, credit: 8), timeline: home))
        #expect(written != Envelope(.result(results, credit: 7), timeline: abroad))
    }
}
