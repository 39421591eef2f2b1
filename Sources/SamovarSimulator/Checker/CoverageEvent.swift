/// What a program can do beside taking inputs. A run of many seeds in which one of them never happened proves nothing of it.
public enum CoverageEvent: Int, CaseIterable, Sendable {
    /// A timer was served.
    case fired
    /// A timer was served once for several of its times.
    case firedForSeveral
    /// The program heard of a moment in the life of the store.
    case heardOfLifecycle
    /// A subscription ended, or began anew.
    case stoppedListening
    /// A source began.
    case sourceBegan
    /// A source was cancelled while it went on, since it was not wanted any more.
    case sourceCancelled
    /// The program requeued a dead source that was not wanted any more, and the store dropped it.
    case sourceDropped
    /// An effect was cancelled by a newer one with its label.
    case replaced
    /// An effect was cancelled by `cancel`.
    case cancelled
    /// An effect was not opened, because another had its label.
    case passedOver
    /// An effect failed, because too many had its label.
    case overLimit
    /// An effect waited for another with its label.
    case queued
    /// A streamed message was applied.
    case streamed
    /// An attempt went on with what others had streamed.
    case resumed
    /// A client read an output.
    case outputRead
    /// A client came back to a session that it had ended.
    case cameBack
    /// A session ended with an input.
    case endedByInput
    /// A client that had sent such an input came back to hear its outcome.
    case welcomedToEnd
    /// An effect failed, because all its attempts together took too long.
    case ranOutOfTime
    /// The program had a notice of an effect that is dead.
    case noticed
    /// A dead effect was opened again, behind the others with its label.
    case requeued
    /// A dead effect was opened again in the place that it had kept in its lane.
    case requeuedInPlace
    /// An effect that was dead was done in the end.
    case doneAfterAll
    /// A dead effect was dropped.
    case droppedDead
    /// A cancellation, or a newer effect, took a dead one.
    case cancelledDead
    /// An effect waited in a lane behind a dead one.
    case stoppedBehindDead
    /// Effects with one label ran side by side in a lane.
    case ranAbreast
    case pausedQueue
    case pausedLabel
    /// An effect was handed out that had waited for its queue or its label to be resumed.
    case waitedForResume
    /// A queue had other rules.
    case ruled
    /// An effect had to wait for the rate of its queue.
    case heldByRate
    /// Labels with effects that waited were held against their shares.
    case sharesCompared
    /// The program heard what an operator did.
    case heardOfOperator
    /// An operator asked again, and was told what was done before.
    case toldAgain
    /// Something came with a key, and the journal says so.
    case signed
    case operatorSigned
    /// A peer was told that its key is not or no longer good, or not for what it did.
    case keyRefused
    case forbidden
    /// An input was rejected, because its case is not for the key.
    case rejectedForKey
    /// A session ended, because its name had no key any more.
    case endedByRevocation
    /// A worker came back with another key of its name.
    case workerRenewed
    /// A table of keys came into force, or could not be read.
    case tableRead
    case tableUnreadable
    case viewsReopened
    /// One of two stores began to serve on the journal that they share.
    case tookOver
    /// An owner gave the journal up because another asked for it.
    case handedOver
    /// An owner heard that another has the journal.
    case fenced
    /// An owner could not renew its lease, and fell silent.
    case inDoubt
    /// A store found that the database had lost turns, and stopped.
    case tailLost
    /// A store stopped in order while workers of before had not come back.
    case stoppedWithoutAll
    /// A past was looked at that began with a snapshot, and one in several pieces.
    case pastTrimmed
    case pastInPieces
    /// The last change of a part was found, and the first turn after which something was true.
    case changeFound
    case firstTurnFound
    /// What was supposed had other turns fall away, and had turns come that never were.
    case lostBySupposition
    case gainedBySupposition
}
