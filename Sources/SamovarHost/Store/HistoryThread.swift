import Foundation
import Journal
import JournalChain
import SamovarCore
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

    /// What one answer holds, unless a single batch is larger.
    private static let answerSize = 512 << 10

    private let questions = WorkQueue<Question>()
    private let isStarted = Mutex(false)
    private let stopping = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)
    private let journal: any StoredJournal
    private let schema: Schema
    private let secret: Secret
    private let report: @Sendable (HistoryReply.Content) -> Void

    /// - Parameter report: gets one answer for each question, in their order.
    init(
        _ journal: any StoredJournal, schema: Schema, secret: Secret, report: @escaping @Sendable (HistoryReply.Content) -> Void
    ) {
        (self.journal, self.schema, self.secret) = (journal, schema, secret)
        self.report = report
    }

    func read(after turn: Int?, through last: Int) {
        do {
            try isStarted.withLock { isStarted in
                if !isStarted { try startThread("samovar-history") { [self] in work() } }
                isStarted = true
            }
            questions.post(Question(after: turn, through: last))
        } catch {
            // The next question tries it again.
            report(.damaged("\(error)"))
        }
    }

    /// Answers no more, and blocks until the thread has let go of the journal, or 2 s.
    ///
    /// - Returns: whether it has let go.
    func end() -> Bool {
        stopping.store(true, ordering: .relaxed)
        guard isStarted.withLock(\.self) else { return true }
        // Not answered any more.
        questions.post(Question(after: nil, through: 0))
        return ended.wait(timeout: .now() + 2) == .success
    }

    private func work() {
        lowerThreadPriority()
        while let question = questions.next(), !stopping.load(ordering: .relaxed) { report(answer(question)) }
        ended.signal()
    }

    private func answer(_ question: Question) -> HistoryReply.Content {
        do {
            guard let turn = question.after else { return .beginning(try beginning(), schema: schema, secret: secret) }
            guard turn + 1 >= journal.first else { return .anew(.trimmed) }
            return .batches(try batches(after: turn, through: question.through))
        } catch let error as JournalError where error.code == .missing {
            return .anew(.trimmed)
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
