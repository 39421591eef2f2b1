public import SamovarCore

/// What a store that has no journal yet shall do.
public enum StandbyAction: Equatable, Sendable {
    /// Look who has the journal and where it ends; `looked` follows.
    case look
    /// Replay what is behind this turn, as far as there is something; `followed` follows.
    case follow(after: Int)
    /// Ask the owner for the journal. The next look shows whether that has arrived.
    case want
    /// Take the journal as the last look has shown it, and not if it has moved since; `taken`, `notTaken` or `failed` follows.
    case take
    /// Begin service with this number.
    case serve(epoch: Int)
    /// Another journal is in the place of the one that was followed: open that, and begin anew.
    case openAgain
    /// The database has lost turns that were in the journal: end, and leave everything as it is.
    case lostTail(String)
    case note(Note)
}

/// The start of a store on a journal that several stores reach: it follows the journal until nobody has it, then takes it.
///
/// The idea: every such start is a standby, if only for a moment. It keeps a state that is warm, and needs no word of the owner: a
/// journal is given up (released), or its owner's process is dead (the lock of its connection is free, and stays so), or nothing is heard
/// of its owner (the lease is over). Each is a guess but the first, and none has to be right: the take is a compare-and-set, and whoever
/// had the journal before is fenced by it.
///
/// It takes only right after a look that showed both: nobody has it, and all turns are here. After following it looks again, since
/// following may have taken long, and the owner may have come back meanwhile.
///
/// | state | `ticked` | `looked` | `followed` | `taken` | `notTaken` | `failed` |
/// |---|---|---|---|---|---|---|
/// | resting | looking, once it is time | – | – | – | – | – |
/// | looking | – | following, if there is more; taking, if nobody has it; else resting | – | – | – | resting |
/// | following | – | – | looking; resting, if somebody has it | – | – | resting |
/// | taking | – | – | – | serving | looking | unsettled |
/// | unsettled | taking, once it is time | – | – | – | – | – |
/// | serving | – | – | – | – | – | – |
/// | ended | – | – | – | – | – | – |
///
/// From `looked`, also ended: if the journal has turned back behind what was seen of it, or has another history of the same length. What is
/// read may never have been confirmed: a server may lose it, and its writer, who was not told that it is durable, may write other turns with
/// the same numbers. Also from following, by `diverged`. And if another journal is in its place: a replacement raises the epoch, so one whose
/// epoch is no higher is looked at as if it were the same.
///
/// Limits: one call to the database at a time. A take of which nobody knows whether it happened is repeated, the same one, until it is known.
public struct StandbyMachine: ~Copyable {
    enum State: Equatable {
        case resting(until: Timestamp)
        case looking(since: Timestamp)
        case following(JournalOwnership, since: Timestamp)
        case taking
        case unsettled(until: Timestamp)
        case serving(epoch: Int)
        case ended
    }

    private let settings: LeaseSettings
    /// Of the journal that is followed.
    private let identity: UniqueID
    /// Whether a journal without a turn may be taken, which begins a timeline.
    private let mayBegin: Bool
    private(set) var state: State
    /// The newest turn that is here.
    public private(set) var followed: Int
    /// Over all turns up to there; empty if it is not known.
    private var digest: [UInt8] = []
    /// The highest that was seen.
    private var epoch: Int
    /// Looks on end that have found the lock of the same owner free: the answers to the first and the newest of them.
    private var free: (epoch: Int, since: Timestamp, newest: Timestamp)?
    /// Since when the journal shall be handed over; nil if it is only waited for.
    private var asked: Timestamp?
    /// The end of the journal was reached within `warmWithin` of the look that showed where it is.
    public private(set) var isWarm = false
    /// The owner that people were told of.
    private var told: Int?
    private var isAway = false
    private var isDenied = false
    private var hasLostPatience = false

    /// - Parameters:
    ///   - identity: of the journal that was opened.
    ///   - epoch: its epoch by then.
    ///   - followed: the newest turn that was replayed.
    ///   - mayBegin: whether to take a journal without a turn, which begins a timeline. A standby leaves that to others.
    public init(
        _ settings: LeaseSettings = LeaseSettings(), of identity: UniqueID = .zero, epoch: Int = 0, followed: Int = 0,
        mayBegin: Bool, now: Timestamp
    ) {
        self.settings = settings
        self.identity = identity
        self.epoch = epoch
        self.followed = followed
        self.mayBegin = mayBegin
        state = .resting(until: now)
    }

    /// When to call `ticked` again; nil if nothing comes but an answer.
    public var deadline: Timestamp? {
        switch state {
        case .resting(let end), .unsettled(let end): end
        case .looking, .following, .taking, .serving, .ended: nil
        }
    }

    // MARK: Events

    public mutating func ticked(now: Timestamp) -> [StandbyAction] {
        switch state {
        case .resting(let end) where now >= end: return look(now)
        case .unsettled(let end) where now >= end:
            state = .taking
            return [.take]
        case .resting, .looking, .following, .taking, .unsettled, .serving, .ended: return []
        }
    }

    /// Somebody wants this store to have the journal.
    public mutating func handOverRequested(now: Timestamp) -> [StandbyAction] {
        guard asked == nil else { return [] }
        asked = now
        guard case .resting = state else { return [] }
        return look(now)
    }

    package mutating func looked(_ found: JournalOwnership, now: Timestamp) -> [StandbyAction] {
        guard case .looking(let since) = state else { return [] }
        guard found.identity == identity || found.epoch <= epoch else {
            state = .ended
            let text = "the journal was replaced by another one, which ends at turn \(found.head): this one begins again with that"
            return [.note(Note(.warning, text)), .openAgain]
        }
        if let loss = loss(in: found) {
            state = .ended
            return [.lostTail(loss)]
        }
        epoch = found.epoch
        let reached = settle(found, sent: since, now: now)
        if found.head > followed {
            state = .following(found, since: since)
            return reached + [.follow(after: followed)]
        }
        isWarm = true
        if let why = vacancy(of: found, sent: since), found.head > 0 || mayBegin {
            state = .taking
            let what = "\(why): this one takes the journal, with turn \(found.head)"
            return reached + [.note(Note(.info, what)), .take]
        }
        return reached + rest(found, now: now)
    }

    /// All turns up to this one are here.
    ///
    /// - Parameter digest: over all of them, as the journal has it.
    public mutating func followed(through turn: Int, digest: [UInt8] = [], now: Timestamp) -> [StandbyAction] {
        guard case .following(let found, let since) = state else { return [] }
        let isProgress = turn > followed
        if isProgress { (followed, self.digest) = (turn, digest) }
        isWarm = followed >= found.head && now - since <= settings.warmWithin
        // What it has read may be a part of it, or nobody has the journal: then nothing shall wait.
        if isProgress, !isWarm || vacancy(of: found, sent: since) != nil { return look(now) }
        return rest(found, now: now)
    }

    /// What follows in the journal does not follow what is here: a server has lost turns, and others were written in their place.
    public mutating func diverged(_ why: String) -> [StandbyAction] {
        guard case .following = state else { return [] }
        state = .ended
        return [.lostTail(why)]
    }

    /// The journal is this store's.
    public mutating func taken(epoch: Int) -> [StandbyAction] {
        guard case .taking = state else { return [] }
        state = .serving(epoch: epoch)
        return [.serve(epoch: epoch)]
    }

    /// The journal is not this store's: it has moved since the last look.
    public mutating func notTaken(now: Timestamp) -> [StandbyAction] {
        guard case .taking = state else { return [] }
        free = nil
        return [.note(Note(.info, "the journal has moved and was not taken"))] + look(now)
    }

    /// What was asked for is not answered, or not for certain.
    ///
    /// - Parameter isDenied: What keeps the journal answers, and does not let this store in.
    public mutating func failed(_ why: String, isDenied: Bool = false, now: Timestamp) -> [StandbyAction] {
        switch state {
        case .looking, .following: state = .resting(until: now + settings.lookEvery)
        case .taking: state = .unsettled(until: now + settings.lookEvery)
        case .resting, .unsettled, .serving, .ended: return []
        }
        free = nil
        guard !isAway || isDenied != self.isDenied else { return [] }
        (isAway, self.isDenied) = (true, isDenied)
        if isDenied { return [.note(Note(.error, "the journal lets nobody in: \(why)"))] }
        return [.note(Note(.warning, "the journal is not reached: \(why)"))]
    }

    // MARK: Rules

    private mutating func look(_ now: Timestamp) -> [StandbyAction] {
        state = .looking(since: now)
        return [.look]
    }

    /// Why the journal is not the one that was followed; nil if it is.
    private func loss(in found: JournalOwnership) -> String? {
        if found.head < followed { return "it ends at turn \(found.head), and turn \(followed) was in it" }
        if found.head == followed, !digest.isEmpty, !found.digest.isEmpty, digest != found.digest {
            return "turn \(followed) in it is another one than was followed"
        }
        return found.epoch < epoch ? "its epoch is \(found.epoch), and epoch \(epoch) was seen" : nil
    }

    /// Enters what the look tells of, and what people shall know of it.
    private mutating func settle(_ found: JournalOwnership, sent: Timestamp, now: Timestamp) -> [StandbyAction] {
        if !found.isLockFree || found.isReleased {
            free = nil
        } else if let known = free, known.epoch == found.epoch, sent - known.newest <= settings.freeFor {
            free?.newest = now
        } else {
            free = (epoch: found.epoch, since: now, newest: now)
        }
        var notes: [StandbyAction] = []
        if isAway { notes.append(.note(Note(.info, "the journal is reached again"))) }
        isAway = false
        if !found.isReleased, told != found.epoch {
            told = found.epoch
            notes.append(.note(Note(.info, "\(found.ownerName) has the journal: this one follows it")))
        }
        return notes
    }

    /// Why nobody has the journal; nil if somebody does.
    private func vacancy(of found: JournalOwnership, sent: Timestamp) -> String? {
        if found.isReleased { return "nobody has the journal" }
        if found.isExpired { return "the lease of \(found.ownerName) is over" }
        guard let free, free.epoch == found.epoch, sent - free.since >= settings.freeFor else { return nil }
        return "\(found.ownerName) is gone"
    }

    /// Waits for the next look, and asks for the journal if it is to be handed over.
    private mutating func rest(_ found: JournalOwnership, now: Timestamp) -> [StandbyAction] {
        guard let asked, isWarm, !found.isReleased else {
            state = .resting(until: now + settings.lookEvery)
            return []
        }
        let isPatient = now - asked < settings.waitingTime
        state = .resting(until: now + (isPatient ? settings.lookEveryWhileWaiting : settings.lookEvery))
        var actions: [StandbyAction] = found.isWanted ? [] : [.want]
        if !isPatient, !hasLostPatience {
            hasLostPatience = true
            let text = "\(found.ownerName) was asked for the journal and has not released it: this one goes on waiting"
            actions.append(.note(Note(.warning, text)))
        }
        return actions
    }
}
