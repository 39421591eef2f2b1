import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// The answers of a worker, which are bytes from the moment in which they are given.
@Suite struct WorkerOutboxTests {
    static func claim(_ number: Int) -> JobClaim { JobClaim(WorkerMachineTests.task(number)) }

    static func outbox(_ numbers: [Int], limit: Int = 1 << 20) -> Outbox {
        var outbox = Outbox(limit: limit)
        for number in numbers { outbox.add(claim(number), answer(number)) }
        return outbox
    }

    static func answer(_ number: Int) -> JobResult.Answer { .done([[UInt8](repeating: UInt8(number), count: number)]) }

    static func result(_ number: Int, _ answer: JobResult.Answer) -> JobResult { WorkerMachineTests.result(number, answer) }

    /// The results of each frame.
    static func frames(_ outbox: inout Outbox) throws -> [[JobResult]] {
        try outbox.takeUnsent().map { body in
            let frame = try Frame(FrameHeader(.result, timeline: home, number: 0), body: body)
            guard case .result(let results, _) = frame else { return [] }
            return Array(results)
        }
    }

    static func leases(_ outbox: inout Outbox) throws -> [[Lease]] { try frames(&outbox).map { $0.map(\.lease) } }

    static func leases(_ numbers: Int...) -> [Lease] { numbers.map { WorkerMachineTests.lease($0) } }

    @Test(arguments: [
        JobResult.Answer.done([]), .done([[1, 2]]), .done([[1], [], [2]]), .failed(.threw, "no", permanent: true), .returned,
        .streamed(index: 1, message: [7], checkpoint: nil), .streamed(index: 2, message: [7], checkpoint: [8]),
    ])
    func `What is sent is what was answered`(_ answer: JobResult.Answer) throws {
        var outbox = Outbox(limit: 1 << 20)
        outbox.add(Self.claim(1), answer)
        #expect(try Self.frames(&outbox) == [[Self.result(1, answer)]])
        outbox.rewind()
        #expect(try Self.frames(&outbox) == [[Self.result(1, answer)]], "and it is the same when it is sent again")
    }

    @Test(arguments: [0, 1, 64, 300, 70_000])
    func `An answer of one message is the same, whether it comes as a value or as bytes`(_ size: Int) throws {
        let message = [UInt8](repeating: 9, count: size)
        var outbox = Outbox(limit: 1 << 20)
        outbox.add(Self.claim(1), .done([message]))
        let bytes = outbox.bytes
        message.withUnsafeBytes { outbox.add(Self.claim(2), message: $0) }
        #expect(outbox.bytes == bytes * 2)
        #expect(try Self.frames(&outbox) == [[Self.result(1, .done([message])), Self.result(2, .done([message]))]])
    }

    @Test func `A message beyond the limit of an answer fails its job, also when it comes as bytes`() {
        var machine = WorkerMachineTests.welcomed { $0.answerBytes = 64 + 3 + 5 }
        _ = machine.received(WorkerMachineTests.tasks([1], number: 1), now: at(0))
        var actions: [WorkerMachine.Action] = []
        let job = RunningJob(WorkerMachineTests.task(1), in: home)
        let hasNext = [1, 2, 3, 4].withUnsafeBytes { bytes in
            machine.finished(
                job.lease, message: UnsafeRawBufferPointer(rebasing: bytes[..<4]), now: { at(0) }, into: &actions, next: job)
        }
        let flushed = machine.flush(now: at(0))
        let failure = JobResult.Answer.failed(.unhandled, "an answer of 73 bytes; 72 at most", permanent: true)
        #expect(!hasNext && actions == [])
        #expect(flushed == [WorkerMachineTests.results([WorkerMachineTests.result(1, failure)], credit: 3)])
    }

    @Test func `Many small messages count with their headers, so that every answer fits into a frame`() {
        let limit = WorkerMachine.Settings.standard.answerBytes
        let most = (limit - 64) / (7 + 5)
        func answer(_ count: Int) -> JobResult.Answer {
            .done(MessageList([[UInt8]](repeating: [UInt8](repeating: 7, count: 7), count: count)))
        }
        #expect(answer(most).replacement(limit: limit) == nil)
        var batch = AnswerBatch()
        _ = batch.append(Self.claim(1), answer(most))
        let bytes = batch.body().count
        #expect(bytes <= limit)
        let failure = answer(599_000).replacement(limit: limit)
        #expect(failure == .failed(.unhandled, "an answer of 7188064 bytes; 4194304 at most", permanent: true))
    }

    @Test func `The text of a failure is bounded, and one within the bound stays as it is`() {
        let long = String(repeating: "no ", count: TextLimit.characters)
        let failed = { JobResult.Answer.failed(.threw, $0, permanent: false) }
        #expect(failed(long).replacement(limit: 1) == failed(long.bounded()))
        #expect(failed("no").replacement(limit: 1) == nil, "it is sent as it was given")
    }

    @Test func `The next task begins in place of the job that has ended`() {
        var machine = WorkerMachineTests.welcomed()
        _ = machine.received(WorkerMachineTests.tasks([1, 2], number: 2), now: at(0))
        var actions: [WorkerMachine.Action] = []
        let job = RunningJob(WorkerMachineTests.task(1), in: .zero)
        #expect(machine.finished(job.lease, .done([]), now: { at(0) }, into: &actions, next: job))
        #expect(job.task == WorkerMachineTests.task(2) && job.timeline == home)
        #expect(!machine.finished(job.lease, .done([]), now: { at(0) }, into: &actions, next: job))
        #expect(machine.jobs == 0 && actions == [])
    }

    @Test func `Nothing is left of answers that were acknowledged in their order`() throws {
        var outbox = Self.outbox([1, 2])
        #expect(try Self.leases(&outbox) == [Self.leases(1, 2)])
        outbox.add(Self.claim(3), Self.answer(3))
        #expect(try Self.leases(&outbox) == [Self.leases(3)])
        outbox.forget(Self.leases(1))
        #expect(outbox.count == 2 && outbox.claims == [Self.claim(2), Self.claim(3)])
        outbox.forget(Self.leases(2, 3))
        #expect(outbox.isEmpty && outbox.bytes == 0 && !outbox.awaitsAcknowledgement && !outbox.hasUnsent)
        outbox.add(Self.claim(4), Self.answer(4))
        #expect(try Self.frames(&outbox) == [[Self.result(4, Self.answer(4))]])
    }

    @Test func `Answers that were not acknowledged are sent again, the oldest lease first, whatever became of those beside them`()
        throws
    {
        var outbox = Self.outbox([5, 1, 4, 2, 3, 6])
        _ = outbox.takeUnsent()
        outbox.forget(Self.leases(5, 2, 6))
        #expect(outbox.count == 3 && !outbox.holds(WorkerMachineTests.lease(2)) && outbox.holds(WorkerMachineTests.lease(3)))
        outbox.rewind()
        #expect(try Self.frames(&outbox) == [[1, 3, 4].map { Self.result($0, Self.answer($0)) }])
        outbox.forget(Self.leases(1, 3, 4))
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func `What waits longest is known, in whatever order others were acknowledged`() {
        var outbox = Outbox(limit: 1 << 20)
        for number in 1...4 {
            outbox.add(Self.claim(number), Self.answer(number))
            _ = outbox.takeUnsent()
        }
        outbox.forget(Self.leases(2))
        outbox.forget(Self.leases(1))
        let oldest = outbox.oldest
        #expect(outbox.holds(anyOf: oldest) && outbox.count == 2)
        outbox.forget(Self.leases(4))
        #expect(outbox.holds(anyOf: oldest), "3 still waits")
        outbox.forget(Self.leases(3))
        #expect(!outbox.holds(anyOf: oldest) && outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func `The oldest answer is waited for also behind what others have streamed`() {
        var outbox = Outbox(limit: 1 << 20)
        outbox.add(Self.claim(1), .streamed(index: 1, message: [1], checkpoint: nil))
        _ = outbox.takeUnsent()
        outbox.add(Self.claim(2), Self.answer(2))
        _ = outbox.takeUnsent()
        let oldest = outbox.oldest
        outbox.forget([StreamMark(lease: Self.claim(1).lease, index: 1)])
        #expect(outbox.holds(anyOf: oldest))
    }

    @Test func `Of each stream the oldest message is waited for, and one that is on disk is not`() {
        var outbox = Self.outbox([1])
        for index in 1...3 { outbox.add(Self.claim(2), .streamed(index: index, message: [1], checkpoint: nil)) }
        #expect(!outbox.awaitsAcknowledgement, "nothing is sent")
        _ = outbox.takeUnsent()
        outbox.forget(Self.leases(1))
        let oldest = outbox.oldest
        #expect(outbox.awaitsAcknowledgement && outbox.holds(anyOf: oldest) && outbox.count == 0 && !outbox.isEmpty)
        outbox.forget([StreamMark(lease: Self.claim(2).lease, index: 1)])
        #expect(!outbox.holds(anyOf: oldest) && outbox.holds(anyOf: outbox.oldest))
        outbox.forget([StreamMark(lease: Self.claim(3).lease, index: 9)])
        #expect(outbox.awaitsAcknowledgement)
        outbox.forget([StreamMark(lease: Self.claim(2).lease, index: 3)])
        #expect(outbox.isEmpty && outbox.bytes == 0 && !outbox.awaitsAcknowledgement)
    }

    @Test func `A streamed message is waited for though nothing was acknowledged before`() {
        var outbox = Outbox(limit: 1 << 20)
        outbox.add(Self.claim(1), .streamed(index: 1, message: [1], checkpoint: nil))
        _ = outbox.takeUnsent()
        let oldest = outbox.oldest
        #expect(outbox.holds(anyOf: oldest))
        outbox.forget([StreamMark(lease: Self.claim(1).lease, index: 1)])
        #expect(!outbox.holds(anyOf: oldest))
    }

    @Test func `A streamed message is waited for also from when it was still to be sent, in a frame that was full`() {
        // Each has a frame of its own.
        var outbox = Outbox(limit: 1)
        outbox.add(Self.claim(1), .streamed(index: 1, message: [1], checkpoint: nil))
        outbox.add(Self.claim(2), Self.answer(2))
        let oldest = outbox.oldest
        _ = outbox.takeUnsent()
        #expect(outbox.holds(anyOf: oldest))
        outbox.forget([StreamMark(lease: Self.claim(1).lease, index: 1)])
        #expect(!outbox.holds(anyOf: oldest))
    }

    @Test func `A streamed message that is on disk before it was sent is not sent, and those beside it are`() throws {
        var outbox = Outbox(limit: 300)
        for index in 1...4 {
            outbox.add(Self.claim(1), .streamed(index: index, message: [UInt8](repeating: 9, count: 100), checkpoint: nil))
        }
        outbox.add(Self.claim(2), .streamed(index: 1, message: [1], checkpoint: nil))
        outbox.add(Self.claim(1), .done([]))
        outbox.forget([StreamMark(lease: Self.claim(1).lease, index: 3)])
        let left = try Self.frames(&outbox).flatMap { $0 }
        #expect(left.map(\.lease) == Self.leases(1, 2, 1) && left.map(\.answer.index) == [4, 1, 0])
        #expect(!outbox.hasUnsent && outbox.count == 1)
        outbox.forget(Self.leases(2, 1))
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func `Messages of several jobs are on disk at once, of each up to its own number`() throws {
        let mark = { StreamMark(lease: Self.claim($0).lease, index: $1) }
        var outbox = Outbox(limit: 1 << 20)
        for index in 1...3 {
            for number in 1...3 { outbox.add(Self.claim(number), .streamed(index: index, message: [1], checkpoint: nil)) }
            if index < 3 { _ = outbox.takeUnsent() }
        }
        outbox.forget([mark(1, 2), mark(3, 9), mark(2, 1)])
        outbox.rewind()
        let left = try Self.frames(&outbox).flatMap { $0 }
        #expect(left.map(\.lease) == Self.leases(1, 2, 2) && left.map(\.answer.index) == [3, 2, 3])
        outbox.forget([mark(1, 3), mark(2, 2), mark(2, 3)])
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func `What was streamed is forgotten with its answer, though others streamed too`() {
        var outbox = Outbox(limit: 1 << 20)
        for number in 1...3 {
            outbox.add(Self.claim(number), .streamed(index: 1, message: [1], checkpoint: [2]))
            outbox.add(Self.claim(number), Self.answer(number))
        }
        _ = outbox.takeUnsent()
        #expect(outbox.count == 3 && outbox.claims == [1, 2, 3].map(Self.claim))
        outbox.forget(Self.leases(1, 3))
        #expect(outbox.claims == [Self.claim(2)] && outbox.awaitsAcknowledgement)
        outbox.forgetAll()
        #expect(outbox.isEmpty && outbox.bytes == 0 && !outbox.awaitsAcknowledgement && !outbox.hasUnsent)
    }

    @Test func `A frame is filled up to its limit, and not beyond it`() throws {
        // About 66 bytes for its one message of one byte, and 40 beside what is written.
        let claim = Self.claim(1)
        let size = JobResult.Answer.done([[1]]).size
        var batch = AnswerBatch()
        let written = batch.append(claim, .done([[1]]))
        for (limit, frames) in [(written + size, [2]), (written + size - 1, [1, 1])] {
            var outbox = Outbox(limit: limit)
            for number in 1...2 { outbox.add(Self.claim(number), .done([[1]])) }
            #expect(try Self.leases(&outbox).map(\.count) == frames)
            outbox.rewind()
            #expect(outbox.count == 2 && outbox.claims.count == 2)
        }
    }

    @Test func `An answer that is forgotten before it was sent is not sent`() throws {
        var outbox = Self.outbox([1, 2, 3])
        outbox.forget(Self.leases(2))
        #expect(try Self.leases(&outbox) == [Self.leases(1, 3)])
        var full = Self.outbox([250, 251, 252], limit: 200)
        full.forget(Self.leases(251, 250))
        #expect(full.hasUnsent && full.claims == [Self.claim(252)])
        full.forget(Self.leases(252))
        #expect(!full.hasUnsent && full.isEmpty && full.bytes == 0 && full.takeUnsent() == [])
    }

    @Test func `A frame has at most its limit, and a larger answer a frame of its own, also when they are sent again`() throws {
        var outbox = Self.outbox([1, 2, 250, 3, 4], limit: 200)
        #expect([1, 2, 250, 3, 4].allSatisfy { outbox.holds(WorkerMachineTests.lease($0)) } && outbox.count == 5)
        let frames = try Self.leases(&outbox)
        #expect(frames == [Self.leases(1, 2), Self.leases(250), Self.leases(3, 4)])
        outbox.rewind()
        #expect(try Self.leases(&outbox) == [Self.leases(1, 2, 3), Self.leases(4), Self.leases(250)])
        outbox.forget(Self.leases(1, 2, 3, 4, 250))
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func `A frame has at most its limit, also if its answers come as bytes`() throws {
        var outbox = Outbox(limit: 200)
        let message = [UInt8](repeating: 9, count: 50)
        for number in 1...4 { message.withUnsafeBytes { outbox.add(Self.claim(number), message: $0) } }
        #expect(try Self.leases(&outbox) == [Self.leases(1), Self.leases(2), Self.leases(3), Self.leases(4)])
    }

    @Test func `What a job has streamed is sent again before its answer, and forgotten with it`() throws {
        var outbox = Self.outbox([1])
        let messages = (1...3).map { JobResult.Answer.streamed(index: $0, message: [UInt8($0)], checkpoint: nil) }
        outbox.add(Self.claim(2), messages[0])
        _ = outbox.takeUnsent()
        outbox.add(Self.claim(2), messages[1])
        #expect(outbox.count == 1 && outbox.awaitsAcknowledgement)
        outbox.forget([StreamMark(lease: Self.claim(2).lease, index: 1)])
        outbox.add(Self.claim(2), messages[2])
        outbox.add(Self.claim(2), Self.answer(2))
        outbox.rewind()
        let results = [Self.result(1, Self.answer(1))] + (messages[1...] + [Self.answer(2)]).map { Self.result(2, $0) }
        #expect(try Self.frames(&outbox) == [results])
        outbox.forget(Self.leases(2))
        #expect(outbox.claims == [Self.claim(1)])
        outbox.forget(Self.leases(1))
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test(arguments: 0..<20)
    func `It says the same as a list of answers, whatever is added, sent, forgotten and sent again`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        var outbox = Outbox(limit: 500)
        var (kept, unsent): ([Int], [Int]) = ([], [])
        var next = 1
        for _ in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                outbox.add(Self.claim(next), .done([[UInt8](repeating: 1, count: next % 120)]))
                kept.append(next)
                unsent.append(next)
                next += 1
            case 5, 6:
                let sent = try Self.leases(&outbox).flatMap { $0 }
                #expect(sent == unsent.map { WorkerMachineTests.lease($0) })
                unsent = []
            case 7:
                let oldest = kept.prefix(Int.random(in: 0...5, using: &random))
                outbox.forget(oldest.map { WorkerMachineTests.lease($0) })
                kept.removeFirst(oldest.count)
                unsent.removeAll { oldest.contains($0) }
            case 8:
                guard let one = kept.randomElement(using: &random) else { continue }
                outbox.forget(Self.leases(one, next + 9))
                kept.removeAll { $0 == one }
                unsent.removeAll { $0 == one }
            default:
                outbox.rewind()
                unsent = kept
            }
            #expect(outbox.count == kept.count && outbox.hasUnsent == !unsent.isEmpty)
            #expect(outbox.awaitsAcknowledgement == (kept.count > unsent.count))
            #expect(outbox.claims.map(\.lease) == kept.map { WorkerMachineTests.lease($0) })
            #expect(outbox.isEmpty == kept.isEmpty && (outbox.bytes == 0) == kept.isEmpty)
        }
    }
}
