import DequeModule
import Foundation
import Journal
import JournalChain
import SamovarStore
import Synchronization

/// Reads the journal for those who ask the store about it, on a thread of its own and at a low priority, which is there from the first
/// question on.
///
/// It reads through the one connection, a page at a time, and commits go on in between. It does not wait for snapshots and backups.
final class HistoryThread: Sendable {
    private struct Question {
        let after: Int?
        let through: Int
    }

    private struct State {
        var questions: Deque<Question> = []
        var isStarted = false
        var isEnding = false
    }

    /// What one answer holds, unless a single batch is larger.
    private static let answerSize = 512 << 10

    private let state = Mutex(State())
    private let available = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let journal: any StoredJournal
    private let report: @Sendable (HistoryAnswer) -> Void

    /// - Parameter report: gets one answer for each question, in their order.
    init(_ journal: any StoredJournal, report: @escaping @Sendable (HistoryAnswer) -> Void) {
        self.journal = journal
        self.report = report
    }

    func read(after turn: Int?, through last: Int) {
        let isFirst = state.withLock { state in
            state.questions.append(Question(after: turn, through: last))
            defer { state.isStarted = true }
            return !state.isStarted
        }
        do {
            if isFirst { try startThread("samovar-history") { [self] in work() } }
            available.signal()
        } catch {
            // The next question tries it again.
            state.withLock { $0 = State(isEnding: $0.isEnding) }
            report(.damaged("\(error)"))
        }
    }

    /// Answers no more, and blocks until the thread has let go of the journal, or 2 s.
    ///
    /// - Returns: whether it has let go.
    func end() -> Bool {
        let isStarted = state.withLock { state in
            state.isEnding = true
            return state.isStarted
        }
        guard isStarted else { return true }
        available.signal()
        return ended.wait(timeout: .now() + 2) == .success
    }

    private func work() {
        lowerThreadPriority()
        while true {
            available.wait()
            let (question, isEnding) = state.withLock { ($0.questions.popFirst(), $0.isEnding) }
            guard !isEnding else {
                ended.signal()
                return
            }
            if let question { report(answer(question)) }
        }
    }

    private func answer(_ question: Question) -> HistoryAnswer {
        do {
            guard let turn = question.after else { return .beginning(try beginning()) }
            guard turn + 1 >= journal.first else { return .trimmed }
            return .batches(try batches(after: turn, through: question.through))
        } catch let error as JournalError where error.code == .missing {
            return .trimmed
        } catch {
            return .damaged("\(error)")
        }
    }

    private func beginning() throws(JournalError) -> HistoryBeginning {
        let ancestor = try journal.fact(OpenedJournal.Fact.ancestor).map { String(decoding: $0, as: UTF8.self) }
        return HistoryBeginning(
            journal: journal.identity, first: journal.first, snapshots: try journal.snapshots(), ancestor: ancestor,
            anchor: try journal.chain(behind: nil).digest, seed: try journal.fact(OpenedJournal.Fact.seed))
    }

    private func batches(after turn: Int, through last: Int) throws -> [HistoryBatch] {
        struct Enough: Error {}
        var batches: [HistoryBatch] = []
        var size = 0
        do {
            try journal.read(from: turn + 1) { batch in
                size += batch.bytes.count
                guard batch.last <= last, batches.isEmpty || size <= Self.answerSize else { throw Enough() }
                batches.append(HistoryBatch(first: batch.first, last: batch.last, bytes: batch.bytes))
            }
        } catch is Enough {}
        return batches
    }
}
