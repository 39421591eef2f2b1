import DequeModule
import SamovarCore

/// Answers of jobs that wait for their turn, in the order in which they came.
///
/// They stay in the frames that brought them, so that one is copied only once, when its turn comes.
struct AnswerQueue {
    private struct Frame {
        let worker: Dispatcher.WorkerDesk
        /// Never empty.
        let results: [JobResult]
    }

    private var frames: Deque<Frame> = []
    /// Of the first frame, how many have been taken.
    private var taken = 0

    var isEmpty: Bool { frames.isEmpty }

    /// The effect that the next answer is of.
    var first: EffectID? { frames.isEmpty ? nil : frames[0].results[taken].effect }

    /// The answers of one worker.
    func of(_ worker: WorkerID) -> some Sequence<JobResult> {
        frames.enumerated().lazy.filter { $0.element.worker.id == worker }
            .flatMap { [taken] in $0.element.results.dropFirst($0.offset == 0 ? taken : 0) }
    }

    mutating func append(_ results: [JobResult], of worker: Dispatcher.WorkerDesk) {
        if !results.isEmpty { frames.append(Frame(worker: worker, results: results)) }
    }

    mutating func popFirst() -> (JobResult, of: Dispatcher.WorkerDesk)? {
        guard !frames.isEmpty else { return nil }
        let next = (frames[0].results[taken], of: frames[0].worker)
        taken += 1
        if taken == frames[0].results.count {
            frames.removeFirst()
            taken = 0
        }
        return next
    }
}
