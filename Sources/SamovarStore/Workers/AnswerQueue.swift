import DequeModule
import SamovarCore
import SamovarWire

/// Answers of jobs that wait for their turn, in the order in which they came.
///
/// They stay in the frames that brought them, so that one is copied only once, when its turn comes.
struct AnswerQueue {
    private struct Frame {
        let worker: Dispatcher.WorkerState
        /// Never empty.
        let results: JobResults
    }

    /// The frame that is taken from, also when all of it has been, and those that wait behind it.
    private var results: JobResults = []
    private var frames: Deque<Frame> = []
    /// Answers in the frames that wait.
    private(set) var waiting = 0
    private(set) var waitingBytes = 0
    /// What was left when those that came twice were taken out last.
    private var kept = (answers: 0, bytes: 0)
    /// Of the first frame, how many have been taken.
    private var taken = 0
    /// Workers whose answers were taken in this round, in the order of their first. Each has the leases.
    private(set) var acknowledged: [Dispatcher.WorkerState] = []
    /// Whose the newest answer was that has been taken.
    private(set) var worker: Dispatcher.WorkerState?

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

    /// Whether the end of an attempt waits that is newer than this one. It looks at all that wait.
    func hasEnd(of effect: EffectID, after lease: Lease) -> Bool {
        func isEnd(_ row: JobResults.Row, in results: JobResults) -> Bool {
            row.effect == effect && row.lease > lease && !results.answer(of: row).isStreamed
        }
        return results.rows[taken...].contains { isEnd($0, in: results) }
            || frames.contains { frame in frame.results.rows.contains { isEnd($0, in: frame.results) } }
    }

    mutating func append(_ results: JobResults, of worker: Dispatcher.WorkerState) {
        guard !results.isEmpty else { return }
        frames.append(Frame(worker: worker, results: results))
        waiting += results.rows.count
        waitingBytes += results.bytes.count
    }

    /// Takes out what came twice, if more answers wait than usual, and twice as many as there were after the last time.
    ///
    /// A worker sends again what is not acknowledged. While turns cannot be taken, that would be the same answers again and again; how many
    /// different ones there are is bounded by what workers were given and by the windows of streams.
    mutating func removeRepeated(beyond answers: Int, bytes: Int) {
        guard waiting > 2 * kept.answers + answers || waitingBytes > 2 * kept.bytes + bytes else { return }
        var known: Set<Answered> = []
        for row in results.rows[taken...] { known.insert(Answered(lease: row.lease, index: results.index(of: row))) }
        let former = frames
        frames = []
        (waiting, waitingBytes) = (0, 0)
        for frame in former {
            let fresh = frame.results.filtered {
                known.insert(Answered(lease: $0.lease, index: frame.results.index(of: $0))).inserted
            }
            append(fresh, of: frame.worker)
        }
        kept = (waiting, waitingBytes)
    }

    /// What an answer is of: the end of an attempt, or one of the messages that it has streamed.
    private struct Answered: Hashable {
        let lease: Lease
        let index: Int
    }

    /// Lets go of the last frame and its worker, if all has been taken: nobody knows when there will be another.
    mutating func letGo() {
        guard worker != nil, isEmpty else { return }
        let acknowledged = acknowledged
        self = AnswerQueue()
        self.acknowledged = acknowledged
    }

    /// Takes an answer. What it says can be asked for until the next one is taken, or the frame is let go.
    mutating func popFirst() -> JobResults.Row? {
        if taken == results.rows.count {
            guard let next = frames.popFirst() else { return nil }
            (results, worker, taken) = (next.results, next.worker, 0)
            waiting -= next.results.rows.count
            waitingBytes -= next.results.bytes.count
        }
        defer { taken += 1 }
        return results.rows[taken]
    }

    /// Notes that the answer that was just taken has to be acknowledged at the end of the round.
    mutating func acknowledge(_ lease: Lease) {
        guard let worker else { return }
        if worker.acknowledged.isEmpty { acknowledged.append(worker) }
        worker.acknowledged.append(lease)
    }

    /// A worker is gone from there: it is told nothing any more.
    func disconnect(_ route: Route) {
        for worker in acknowledged where worker.route == route { worker.acknowledged = [] }
    }

    /// All of `acknowledged` have been told.
    mutating func endRound() {
        acknowledged.removeAll(keepingCapacity: true)
    }

    /// The only message of an answer that was just taken, which stands here in its frame.
    func message(at place: Range<Int>) -> ArraySlice<UInt8> { results.bytes[place] }

    /// What an answer says that was just taken.
    func answer(of row: JobResults.Row) -> JobResult.Answer { results.answer(of: row) }
}
