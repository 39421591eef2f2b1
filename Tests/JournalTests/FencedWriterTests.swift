import Journal
import Testing

/// What a process makes of the answers of a database. Each course says what is answered, and what was asked for that.
@Suite struct FencedWriterTests {
    struct End: JournalEnd {
        var last: Int
        var digest = 0

        func behind(_ batch: Batch) throws(JournalError) -> End {
            try batch.requireFollowing(last)
            return End(last: batch.last, digest: 1 + batch.bytes.count)
        }
    }

    typealias Row = Fence<End>

    enum Reply: Sendable {
        case row(Row)
        case answer(FencedAnswer)
        case error(JournalError)

        static let done = Reply.answer(.done)
        static let refused = Reply.answer(.refused)
        static let lost = Reply.answer(.lost(FencedWriterTests.silent))
    }

    /// Answers as it is told, and notes what it is asked.
    struct Scripted: FencedWriter {
        var row: Row
        var hasBegun: Bool
        var unsettled: End?
        var replies: [Reply] = []
        var calls: [String] = []

        mutating func readRow() throws(JournalError) -> Row {
            guard case .row(let row) = try reply(to: "read") else { throw unforeseen }
            return row
        }

        mutating func take(_ known: Row, as claim: Row) throws(JournalError) -> FencedAnswer {
            try answer(to: "take \(known.epoch) to \(known.end.last) as \(claim.epoch)")
        }

        mutating func insert(_ batch: Batch, from known: Row, to next: End) throws(JournalError) -> FencedAnswer {
            try answer(to: "insert \(known.end.last) to \(next.last) as \(known.epoch)")
        }

        mutating func rewrite(_ known: Row, confirming batch: Batch?) throws(JournalError) -> FencedAnswer {
            try answer(to: "rewrite \(known.epoch) for \(batch?.turns ?? "the take")")
        }

        func error(of problem: FenceProblem) -> JournalError { JournalError(.fenced, "\(problem)") }

        private mutating func answer(to call: String) throws(JournalError) -> FencedAnswer {
            guard case .answer(let answer) = try reply(to: call) else { throw unforeseen }
            return answer
        }

        private mutating func reply(to call: String) throws(JournalError) -> Reply {
            calls.append(call)
            guard !replies.isEmpty else { throw unforeseen }
            let reply = replies.removeFirst()
            if case .error(let error) = reply { throw error }
            return reply
        }

        private var unforeseen: JournalError { JournalError(.misuse, "It was not told what to answer.") }
    }

    /// Tries, and what each comes to: nothing, if it does not fail.
    struct Course: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let replies: [Reply]
        let calls: [String]
        let errors: [JournalError?]

        init(_ name: String, _ replies: [Reply], asking calls: [String], _ errors: JournalError?...) {
            (testDescription, self.replies, self.calls, self.errors) = (name, replies, calls, errors)
        }

        /// Whether the last try does not fail.
        var isDone: Bool { errors.last.map { $0 == nil } ?? false }

        /// Runs it, and returns the writer as it is then.
        func run(_ row: Row, hasBegun: Bool, _ attempt: (inout Scripted) throws(JournalError) -> Void) -> Scripted {
            var writer = Scripted(row: row, hasBegun: hasBegun, replies: replies)
            for expected in errors {
                var found: JournalError?
                do throws(JournalError) { try attempt(&writer) } catch { found = error }
                #expect(found == expected)
            }
            #expect(writer.calls == calls)
            #expect(writer.replies.isEmpty)
            return writer
        }
    }

    static let silent = JournalError(.unavailable, "The server does not answer.")
    static let full = JournalError(.full, "No space is left.")
    static func problem(_ problem: FenceProblem) -> JournalError { JournalError(.fenced, "\(problem)") }

    /// Another's, as it was read.
    static let seen = Row(epoch: 3, nonce: [7], end: End(last: 10))
    /// This process's.
    static let own = Row(epoch: 4, nonce: [1], end: End(last: 10))
    static let batch = Batch(first: 11, last: 12, bytes: [5])
    static let next = End(last: 12, digest: 2)
    static let moved = Row(epoch: 4, nonce: [1], end: next)

    // MARK: Taking

    static let takes: [Course] = [
        Course("it is taken", [.done, .row(own)], asking: [take, "read"], nil),
        Course(
            "another has taken it", [.refused, .row(Row(epoch: 4, nonce: [9], end: End(last: 10)))], asking: [take, "read"],
            problem(.hasChanged(epoch: 4, last: 10))),
        Course(
            "who has it has written", [.refused, .row(Row(epoch: 3, nonce: [7], end: End(last: 12)))], asking: [take, "read"],
            problem(.hasChanged(epoch: 3, last: 12))),
        Course(
            "what is refused is not tried on", [.error(full), .done, .row(own)], asking: [take, take, "read"],
            full, nil),
        Course(
            "its answer is lost, and it has not happened", [.lost, .row(seen), .done, .row(own)],
            asking: [take, "read", take, "read"], problem(.isNotTaken), nil),
        Course("its answer is lost, and it has happened", [.lost, .row(own), .done], asking: [take, "read", confirm], nil),
        Course(
            "it has happened late", [.lost, .row(seen), .refused, .row(own), .done],
            asking: [take, "read", take, "read", confirm], problem(.isNotTaken), nil),
        Course(
            "it is not confirmed at first", [.lost, .row(own), .lost, .refused, .row(own), .done],
            asking: [take, "read", confirm, take, "read", confirm], silent, nil),
        Course(
            "another has taken it before it is confirmed",
            [.lost, .row(own), .refused, .row(Row(epoch: 5, nonce: [9], end: End(last: 10)))],
            asking: [take, "read", confirm, "read"], problem(.isFenced(epoch: 5))),
        Course(
            "it is forgotten before it is confirmed", [.lost, .row(own), .refused, .row(seen)],
            asking: [take, "read", confirm, "read"], problem(.hasLostEpoch(3, taken: 4))),
        Course(
            "nobody can be asked what has become of it", [.lost, .error(silent), .refused, .row(own), .done],
            asking: [take, "read", take, "read", confirm], silent, nil),
    ]
    private static let take = "take 3 to 10 as 4"
    private static let confirm = "rewrite 4 for the take"

    @Test(arguments: takes) func `A take is found out and not guessed`(_ course: Course) {
        let end = course.run(Self.seen, hasBegun: false) { writer throws(JournalError) in
            try writer.begin([1], beyond: 0)
        }
        #expect(end.hasBegun == course.isDone)
        #expect(end.row == (course.isDone ? Self.own : Self.seen))
    }

    @Test func `What was taken is not taken again, and the epoch rises beyond what is asked for`() throws {
        let claim = Row(epoch: 9, nonce: [1], end: End(last: 10))
        var writer = Scripted(row: Self.seen, hasBegun: false, replies: [.done, .row(claim)])
        try writer.begin([1], beyond: 8)
        try writer.begin([1], beyond: 20)
        #expect(writer.row == claim)
        #expect(writer.calls == ["take 3 to 10 as 9", "read"])
    }

    // MARK: Appending

    static let appends: [Course] = [
        Course("it is done", [.done], asking: [insert], nil),
        Course("what is refused has not happened", [.error(full), .done], asking: [insert, insert], full, nil),
        Course(
            "its answer is lost, and it has happened", [.lost, .refused, .row(moved), .done],
            asking: [insert, insert, "read", confirmBatch], silent, nil),
        Course(
            "its answer is lost, and it happens at the second try", [.lost, .done], asking: [insert, insert], silent, nil),
        Course(
            "it is not confirmed at first", [.lost, .refused, .row(moved), .lost, .refused, .row(moved), .done],
            asking: [insert, insert, "read", confirmBatch, insert, "read", confirmBatch], silent, silent, nil),
        Course(
            "it is refused, and has not happened", [.refused, .row(own), .done],
            asking: [insert, "read", insert], JournalError(.unavailable, "It is unknown whether turns 11 to 12 are durable."), nil),
        Course(
            "nobody can be asked what has become of it", [.refused, .error(silent), .refused, .row(moved), .done],
            asking: [insert, "read", insert, "read", confirmBatch], silent, nil),
        Course(
            "another has taken it before it is confirmed",
            [.lost, .refused, .row(moved), .refused, .row(Row(epoch: 5, nonce: [9], end: next))],
            asking: [insert, insert, "read", confirmBatch, "read"], silent, problem(.isFenced(epoch: 5))),
    ]
    private static let insert = "insert 10 to 12 as 4"
    private static let confirmBatch = "rewrite 4 for turns 11 to 12"

    @Test(arguments: appends) func `An append is found out and not guessed`(_ course: Course) {
        let end = course.run(Self.own, hasBegun: true) { writer throws(JournalError) in try writer.append(Self.batch) }
        #expect(end.row == (course.isDone ? Self.moved : Self.own))
        #expect(end.unsettled == (course.isDone ? nil : Self.next))
    }

    static let verdicts: [(row: Row, problem: FenceProblem)] = [
        // Another epoch or nonce is another store, whatever the end is.
        (Row(epoch: 5, nonce: [9], end: next), .isFenced(epoch: 5)),
        (Row(epoch: 5, nonce: [1], end: own.end), .isFenced(epoch: 5)),
        (Row(epoch: 5, nonce: [9], end: End(last: 99)), .isFenced(epoch: 5)),
        (Row(epoch: 4, nonce: [9], end: next), .isFenced(epoch: 4)),
        (Row(epoch: 4, nonce: [9], end: own.end), .isFenced(epoch: 4)),
        // An earlier epoch is a server that has lost what it confirmed.
        (Row(epoch: 3, nonce: [7], end: next), .hasLostEnd(last: 12)),
        (Row(epoch: 3, nonce: [1], end: own.end), .hasLostEnd(last: 10)),
        // An earlier end is a lost one, and any other is foreign.
        (Row(epoch: 4, nonce: [1], end: End(last: 9)), .hasLostEnd(last: 9)),
        (Row(epoch: 4, nonce: [1], end: End(last: 10, digest: 8)), .isForeign(last: 10)),
        (Row(epoch: 4, nonce: [1], end: End(last: 12, digest: 8)), .isForeign(last: 12)),
        (Row(epoch: 4, nonce: [1], end: End(last: 13, digest: 2)), .isForeign(last: 13)),
    ]

    @Test(arguments: verdicts)
    func `A row that is neither as before nor as behind the append says why`(_ row: Row, _ problem: FenceProblem) {
        let course = Course("", [.refused, .row(row)], asking: [Self.insert, "read"], Self.problem(problem))
        let end = course.run(Self.own, hasBegun: true) { writer throws(JournalError) in try writer.append(Self.batch) }
        #expect(end.row == Self.own)
    }

    @Test func `As long as it is unknown whether a batch is durable, no other one is tried`() throws {
        let other = Batch(first: 11, last: 11, bytes: [])
        var writer = Scripted(row: Self.own, hasBegun: true, replies: [.lost, .refused, .row(Self.own), .done])
        #expect(throws: Self.silent) { try writer.append(Self.batch) }
        #expect(throws: Self.problem(.isUnsettled(other))) { try writer.append(other) }
        #expect(throws: JournalError(.unavailable, Self.batch.doubt)) { try writer.append(Self.batch) }
        // It is known now that it has not happened.
        try writer.append(other)
        #expect(writer.calls == [Self.insert, Self.insert, "read", "insert 10 to 11 as 4"])
    }

    @Test func `A batch that does not follow is sent to nobody`() {
        var writer = Scripted(row: Self.own, hasBegun: true)
        let error = #expect(throws: JournalError.self) { try writer.append(Batch(first: 12, last: 12, bytes: [])) }
        #expect(error?.code == .misuse && writer.calls.isEmpty && writer.unsettled == nil)
    }

    // MARK: Other statements

    static let refusals: [(epoch: Int, problem: FenceProblem)] = [
        (5, .isFenced(epoch: 5)), (4, .isFenced(epoch: 4)), (3, .hasLostEpoch(3, taken: 4)),
    ]

    @Test(arguments: refusals)
    func `Whose statement is refused hears who has the journal, or that it is forgotten`(_ epoch: Int, _ problem: FenceProblem) {
        var writer = Scripted(row: Self.own, hasBegun: true, replies: [.row(Row(epoch: epoch, nonce: [9], end: Self.next))])
        #expect(throws: Self.problem(problem)) { try writer.requireDone(.refused) }
        #expect(writer.calls == ["read"])
    }

    @Test func `Nobody is asked what has become of a statement that is done or lost`() throws {
        var writer = Scripted(row: Self.own, hasBegun: true)
        #expect(throws: Self.silent) { try writer.requireDone(.lost(Self.silent)) }
        try writer.requireDone(.done)
        #expect(writer.calls.isEmpty)
    }
}
