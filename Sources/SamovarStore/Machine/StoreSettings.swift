public import SamovarCore

/// Every limit and period of a store, in one place. Each bounds something; none is “unlimited”.
public struct StoreSettings: Equatable, Sendable {
    /// Turns in one batch of the journal; at this number the engine waits for the commit before it.
    public var batchTurns = 16_384
    /// Bytes in one batch of the journal.
    public var batchBytes = 4 << 20
    /// Turns taken between two looks at the sockets: so few that workers have something to do while the next ones are taken, and that
    /// what they touch is still in the processor's cache at the end of the round.
    public var turnsPerRound = 384
    public var group = GroupLimits.default

    /// Inputs of one session that are unanswered or unconfirmed.
    public var window = 4_096
    /// Inputs of all sessions that wait for their turn.
    public var inbox = 65_536
    public var inboxBytes = 64 << 20
    /// Sessions that are kept.
    public var sessions = 100_000
    /// Clients that are connected at a time; others are sent away for a while. Nil for as many as there are sessions; a store derives
    /// it from its file descriptors then.
    public var clients: Int?
    /// Hashes of inputs that are kept to notice two processes which use one session: a window for each session, or where there are many,
    /// as many as fit, and then only their newest inputs are told apart.
    public var fingerprints = 1_048_576
    /// A session that was silent for so long expires, by a record. A start forgives all silence before it.
    public var sessionIdle: Duration = .seconds(3_600)
    /// The same for one whose client keeps its inputs on disk, and for any until its client has come back after a start.
    public var durableSessionIdle: Duration = .seconds(7 * 86_400)

    /// Answers of jobs that may wait before those that came twice are looked for. The different ones are never refused: workers were given
    /// no more jobs than these.
    public var answersUnsifted = 16_384
    /// The same, as the bytes of the frames in which they stand.
    public var answerBytesUnsifted = 64 << 20

    /// Effects that may be open; inputs are refused from 80 % on.
    public var openEffects = 1_000_000
    /// Effects that may be dead; inputs are refused from there on, until an operator requeues or drops some.
    public var deadEffects = 100_000
    /// Effects in one frame for a worker, unless a single one is larger.
    public var taskFrameBytes = 1 << 20
    /// Silence after which a peer is taken for dead.
    public var silence: Duration = .seconds(6)
    /// What a job may overrun its timeout before the store takes it back itself.
    public var timeoutGrace: Duration = .seconds(2)
    /// Deaths of workers after which an effect is offered alone, and after one more, parked.
    public var suspectDeaths = 2
    /// Workers that may fall silent, one after the other, while they run one effect and nothing else, before it is parked.
    public var suspectLosses = 10
    /// Whether the program's invariants are looked at after each group.
    public var checksInvariants = false
    /// Times that the program may end the store with one item, alone and proven, before the item is quarantined.
    public var trapDeaths = 3
    /// Times that the store may end during one item, alone and for no known reason, before the item is quarantined.
    public var trapKills = 10
    /// How long one call into the program may last before the log says that the store is in it.
    public var slowCall: Duration = .seconds(10)
    /// Items that are suspected at once; at most what the marker has room for.
    public var trapSuspects = 32
    /// For how long a queue with waiting effects may have no worker before a warning.
    public var unservedWarning: Duration = .seconds(2)

    /// The least time between two views.
    public var viewInterval: Duration = .milliseconds(33)
    /// How long nothing must have been left to do before a tick tells it.
    public var idlePause: Duration = .milliseconds(10)
    /// The least time between two ticks that are sent because nothing is left to do; between them there is one each second.
    public var idleInterval: Duration = .milliseconds(100)
    /// A view costs at most one part in so many of the store's time.
    public var viewCostFactor = 20
    public var tickInterval: Duration = .seconds(1)

    /// Topics that subscribers may ask for, all together; beyond, all of them lose their connection once.
    public var viewTopics = 1_000

    /// Views of single turns that are kept while somebody reads every one.
    public var feedViews = 262_144
    public var feedBytes = 64 << 20
    /// For how long they are taken after somebody has asked for them last.
    public var feedLinger: Duration = .seconds(60)
    /// Clients that read every view.
    public var feedReaders = 64
    /// One page of outputs or of views, unless a single one is larger.
    public var pageBytes = 512 << 10

    /// Journal bytes after which a snapshot is due.
    public var snapshotBytes = 64 << 20
    /// Turns after which one is due, too, so that a start has no more than these to replay. In either case the journal must have
    /// grown by twice the size of the last snapshot, or a large state would be written again and again.
    public var snapshotTurns = 100_000
    /// The size of the last snapshot up to which the engine encodes the next one itself; that of a larger state is made from
    /// the journal, beside the service.
    public var snapshotInlineBytes = 1 << 20
    /// The least time between two digests of the state, where somebody follows the journal.
    public var digestInterval: Duration = .seconds(1)
    /// A digest costs at most one part in so many of the store's time.
    public var digestCostFactor = 100
    /// What a digest may cost while the store serves; a dearer one waits until no turn was taken for as long as the least time between two,
    /// or for the orderly end.
    public var digestCost: Duration = .milliseconds(20)
    /// How long a question of a follower of the journal has the store write digests. A follower asks twice a second; a few of its questions may be
    /// late, behind a snapshot that is being made, say.
    public var followedFor: Duration = .seconds(10)
    /// How long a drain waits for running jobs.
    public var drain: Duration = .seconds(5)
    /// How often the backlog of queues is told to the host; nil for never.
    public var backlogInterval: Duration?
    /// Effects that one request of an operator may requeue or drop.
    public var adminEffects = 10_000
    /// Pauses and rules of queues, those of the program included, up to which operators may set more.
    public var operatorControls = 10_000
    /// Payloads of effects that one reply to an operator lists, of the open ones and of the dead.
    public var adminReplyBytes = 4 << 20
    /// Open effects that are looked at in each second for those who wait for a turn to settle.
    public var reportedEffects = 100_000
    /// Requests that wait for a turn or for an effect to close.
    public var waiters = 10_000
    /// Those of one connection among them: as many as a client keeps open.
    public var waitersOfClient = 4_096

    public init() {}

    /// How many open effects make the store refuse inputs.
    var openEffectsAtDoor: Int { openEffects / 5 * 4 }
    /// How many dead effects make the store warn.
    var deadEffectsToWarn: Int { deadEffects / 5 * 4 }
}
