import Journal
import Testing

/// Which errors of an append are waited out.
struct JournalWriterTests {
    private let batch = Batch(first: 1, last: 1, bytes: [1])

    private func words(of events: [JournalWriter.Event]) -> [String] {
        events.map { event in
            switch event {
            case .committed(let turn): "committed \(turn)"
            case .full(let error): "\(error.code)"
            case .freed: "freed"
            case .failed(let error): "failed: \(error.code)"
            }
        }
    }

    @Test(arguments: [JournalError.Code.full, .unavailable, .denied])
    func `A journal without space, or that is not reached, is waited for, and told of once`(_ code: JournalError.Code) {
        let journal = MemoryJournal()
        var writer = JournalWriter(journal)
        var events: [JournalWriter.Event] = []
        for _ in 1...2 {
            journal.failNextAppend(with: JournalError(code, "not now"), keepingBatch: false)
            let isDone = writer.append(batch, waiting: true) { events.append($0) }
            #expect(!isDone)
        }
        #expect(words(of: events) == ["\(code)"])
        let isDone = writer.append(batch, waiting: true) { events.append($0) }
        #expect(isDone)
        #expect(words(of: events) == ["\(code)", "freed", "committed 1"])
    }

    @Test func `That it waits for something else now is told, too`() {
        let journal = MemoryJournal()
        var writer = JournalWriter(journal)
        var events: [JournalWriter.Event] = []
        for code in [JournalError.Code.unavailable, .denied, .denied, .full, .full, .unavailable] {
            journal.failNextAppend(with: JournalError(code, "not now"), keepingBatch: false)
            let isDone = writer.append(batch, waiting: true) { events.append($0) }
            #expect(!isDone)
        }
        #expect(words(of: events) == ["unavailable", "denied", "full", "unavailable"])
    }

    @Test(arguments: [JournalError.Code.fenced, .inputOutput, .damaged])
    func `Any other error is the end, and nothing is written after it`(_ code: JournalError.Code) {
        let journal = MemoryJournal()
        var writer = JournalWriter(journal)
        var events: [JournalWriter.Event] = []
        journal.failNextAppend(with: JournalError(code, "not any more"), keepingBatch: false)
        for _ in 1...2 {
            let isDone = writer.append(batch, waiting: true) { events.append($0) }
            #expect(isDone)
        }
        #expect(words(of: events) == ["failed: \(code)"])
        #expect(journal.last == 0)
    }
}
