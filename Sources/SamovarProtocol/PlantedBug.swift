/// Bugs that can be planted in the machines, one at a time, to prove that the simulator would find them.
///
/// They are there only in a build with `SAMOVAR_PLANTED`, which no release sets; in every other build `planted` is false as the
/// compiler knows, and nothing of them is left. `make planted` plants each; docs/simulator.md lists how soon it is found.
package enum PlantedBug: String, CaseIterable, Sendable {
    case frameBeforeGate
    case taskBeforeDurable
    case acknowledgeBeforeDurable
    case viewBeforeDurable
    case welcomeBeforeDurable
    case outcomeForgotten
    case sessionForgotten
    case inputTakenTwice
    case resentAsNew
    case timelineUnchecked
    case olderHelloWins
    case completionTwice
    case settledTooEarly
    case leaseReused
    case olderLeaseCounts
    case tokenUnchecked
    case retriedForEver
    case resultForgotten
    case openEffectsNotHeld
    case drainRecordLost
    case creditAdded
    case olderViewShown
    case tickMissing
    case groupInTwoCommits
    case followUpTakenAgain
    case snapshotBeforeItsTurns
    case snapshotLosesEffects
    case snapshotLosesSessions
    case clockHeld
    case streamedTwice
    case streamMarkBeforeDurable
    case checkpointForgotten
    case endedSubscriptionFires
    case olderSubscriptionFires
    case tickTwiceAfterRestart
    case missedTicksLost
    case latestNotFenced
    case firstNotFirst
    case serialAtOnce
    case cancelForgotten
    case delayForgotten

    /// What is wrong, in one sentence.
    package var sentence: String {
        switch self {
        case .frameBeforeGate: "Every frame leaves at once, whether its turn is on disk or not."
        case .taskBeforeDurable: "An effect is handed out before the turn that ordered it is on disk."
        case .acknowledgeBeforeDurable: "A worker's answer is acknowledged before its turn is on disk."
        case .viewBeforeDurable: "A view that was asked for is sent before its turn is on disk."
        case .welcomeBeforeDurable: "WELCOME counts inputs whose turns are not on disk."
        case .outcomeForgotten: "Only the newest outcome of a session is kept, confirmed or not."
        case .sessionForgotten: "A session ends with a peer's silence, not with its own idle time."
        case .inputTakenTwice: "An input that was sent again is taken again."
        case .resentAsNew: "A client sends an unanswered input again under a new number."
        case .timelineUnchecked: "A client goes on with its old numbers in a new timeline."
        case .olderHelloWins: "A HELLO that was read late takes the place of a newer one."
        case .completionTwice: "An effect stays open after its answer was applied."
        case .settledTooEarly: "A chain of effects is called settled while some are open."
        case .leaseReused: "Leases begin at the same number after a restart."
        case .olderLeaseCounts: "A failure under an older lease counts against the newer attempt."
        case .tokenUnchecked: "An answer is believed without its token."
        case .retriedForEver: "The number of attempts has no end."
        case .resultForgotten: "A worker forgets its answers when they are sent, not when they are acknowledged."
        case .openEffectsNotHeld: "After a restart, open effects do not wait for the workers of before."
        case .drainRecordLost: "An orderly stop leaves no record."
        case .creditAdded: "A worker's credit is added up, as if it were an increment."
        case .olderViewShown: "A subscriber shows an older view after a newer one."
        case .tickMissing: "The store publishes no ticks."
        case .groupInTwoCommits: "A group may be divided between two commits."
        case .followUpTakenAgain: "A replay takes follow-ups from the journal and from the message before them."
        case .snapshotBeforeItsTurns: "A snapshot names the newest turn on disk, and holds later ones."
        case .snapshotLosesEffects: "A snapshot leaves out the open effects."
        case .snapshotLosesSessions: "A snapshot leaves out the sessions."
        case .clockHeld: "A wall clock that was set back holds the store's time until it has caught up."
        case .streamedTwice: "A streamed message that is sent again is applied again."
        case .streamMarkBeforeDurable: "A streamed message is acknowledged before its turn is on disk."
        case .checkpointForgotten: "The next attempt of a stream is not given the checkpoint of the one before."
        case .endedSubscriptionFires: "A timer that the state does not want any more goes on."
        case .olderSubscriptionFires: "A timer that begins anew with other times keeps those of before."
        case .tickTwiceAfterRestart: "A replay does not enter that a timer has fired, so it fires again for the same time."
        case .missedTicksLost: "Of times that were missed only the last one counts, though the program wants all."
        case .latestNotFenced: "The policy `latest` leaves the older effects open."
        case .firstNotFirst: "The policy `first` opens an effect beside the older one."
        case .serialAtOnce: "Effects with the policy `serial` do not wait for each other."
        case .cancelForgotten: "A cancelled effect is taken from its worker, and stays open."
        case .delayForgotten: "An effect is handed out before its time has come."
        }
    }
}

#if SAMOVAR_PLANTED
extension PlantedBug {
    /// Set once, before anything runs, by the one thread of the simulator.
    package nonisolated(unsafe) static var current: PlantedBug?
}

@inline(__always)
func planted(_ bug: PlantedBug) -> Bool { PlantedBug.current == bug }

extension StoreMachine {
    /// All turns of the open batch but the last, which is left for the next commit.
    mutating func closePartOfBatch() {
        var first = RecordBatch(after: log.batch.first - 1)
        var rest = first
        let (start, end, bytes) = (log.batch.first, log.batch.last, log.batch.bytes)
        // Its own bytes can be read.
        try? RecordBatch.read(first: start, last: end, bytes: bytes) { record in
            if record.turn < end || start == end {
                first.append(record)
            } else {
                rest = RecordBatch(after: end - 1)
                rest.append(record)
            }
        }
        log.batch = start == end ? RecordBatch(after: end) : rest
        isCommitting = true
        emit(.append(first: first.first, last: first.last, bytes: first.bytes), floor: .none)
    }

    /// In the place of `saveSnapshot`, which is for the time between two batches.
    mutating func saveSnapshotTooEarly() {
        guard journalBytes + log.batch.byteCount > settings.snapshotBytes, let bytes = try? state.snapshot() else { return }
        journalBytes = 0
        emit(.save(turn: gate.durable, bytes: bytes), floor: .none)
    }
}
#else
@inline(__always)
func planted(_ bug: PlantedBug) -> Bool { false }
#endif
