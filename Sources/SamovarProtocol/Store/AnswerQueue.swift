import DequeModule
import SamovarCore

/// Answers of jobs that wait for their turn, in the order in which they came.
///
/// They stay in the frames that brought them, so that one is copied only once, when its turn comes.
struct AnswerQueue {
    private struct Frame {
        let worker: Dispatcher.WorkerDesk
        /// Never empty.
        let results: JobResults
    }

    /// The frame that is taken from, also when all of it has been, and those that wait behind it.
    private var results: JobResults = []
    private var frames: Deque<Frame> = []
    /// Of the first frame, how many have been taken.
    private var taken = 0
    /// Whose the newest answer was that has been taken.
    private(set) var worker: Dispatcher.WorkerDesk?
    // Both are held by what stands above and need not be counted for each answer.
    private var uncountedWorker: Unmanaged<Dispatcher.WorkerDesk>?
    /// The bytes in which the newest answer stands, as long as what it says can be asked for.
    private(set) var bytes: Unmanaged<JobResults.Bytes>

    init() {
        bytes = .passUnretained(results.bytes)
    }

    var isEmpty: Bool { taken == results.rows.count && frames.isEmpty }

    /// The effect that the next answer is of.
    var first: EffectID? {
        if taken < results.rows.count { return results.rows[taken].effect }
        return frames.first?.results.rows.first?.effect
    }

    /// The answers of one worker.
    func of(_ worker: WorkerID) -> [JobResult] {
        let first = self.worker?.id == worker ? Array(results.dropFirst(taken)) : []
        return first + frames.lazy.filter { $0.worker.id == worker }.flatMap(\.results)
    }

    mutating func append(_ results: JobResults, of worker: Dispatcher.WorkerDesk) {
        if !results.isEmpty { frames.append(Frame(worker: worker, results: results)) }
    }

    /// Lets go of the last frame and its worker, if all has been taken: nobody knows when there will be another.
    mutating func letGo() {
        if worker != nil, isEmpty { self = AnswerQueue() }
    }

    /// Takes an answer. What it says can be asked for until the next one is taken, or the frame is let go.
    mutating func popFirst() -> JobResults.Row? {
        if taken == results.rows.count {
            guard let next = frames.popFirst() else { return nil }
            (results, worker, taken) = (next.results, next.worker, 0)
            uncountedWorker = .passUnretained(next.worker)
            bytes = .passUnretained(next.results.bytes)
        }
        defer { taken += 1 }
        return results.rows[taken]
    }

    /// Notes that the answer that was just taken has to be acknowledged. Its worker, if it is the first in this round.
    func acknowledge(_ lease: Lease) -> Dispatcher.WorkerDesk? {
        let isFirst = uncountedWorker?._withUnsafeGuaranteedRef { worker in
            defer { worker.acknowledged.append(lease) }
            return worker.acknowledged.isEmpty
        }
        return isFirst == true ? worker : nil
    }

    /// What an answer says that was just taken.
    func answer(of row: JobResults.Row) -> JobResult.Answer { results.answer(of: row) }
}
