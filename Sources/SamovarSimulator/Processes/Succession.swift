import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// What a store asks of the database, beside its appends.
enum DatabaseCall {
    case look
    case follow(after: Int)
    case want
    case take(DatabaseJournal)
    case renew
}

enum DatabaseAnswer {
    case looked(JournalOwnership, Database.Row)
    case followed(Database.End)
    /// What follows in the journal does not follow what is here.
    case diverged
    case taken(epoch: Int)
    case notTaken
    case renewed(JournalOwnership)
    case failed(isRenewal: Bool)
}

/// How a store process comes to have the journal, and how it loses it: the loop of a host around `StandbyMachine` and `LeaseMachine`.
///
/// Calls are on their way to the database, and answers on their way back; a process that is stopped finds them when it goes on.
final class Succession {
    private unowned let store: StoreProcess
    private let database: Database
    private var world: World { store.world }
    private var standby: StandbyMachine?
    private var lease: LeaseMachine?
    /// The state that follows.
    private var warm: StoreMachine?
    private(set) var journal: DatabaseJournal?
    /// Where that is.
    private var here = Database.End()
    /// The row that the newest look has shown.
    private var seen = Database.Row(epoch: 0, nonce: [], end: Database.End())
    /// When the take was sent first.
    private var askedAt: Timestamp?
    private var answers: [DatabaseAnswer] = []

    init(_ store: StoreProcess, _ database: Database) {
        self.store = store
        self.database = database
    }

    /// The newest turn that it has replayed while it follows; nil if it does not.
    var followed: Int? { standby?.followed }
    /// Another store may have the journal.
    private(set) var isInDoubt = false

    // MARK: Life

    func begin() {
        standby = StandbyMachine(mayBegin: store.number == 0, now: store.localNow)
        warm = StoreProcess.newMachine(world)
        store.wake(at: world.now)
    }

    func end() {
        standby = nil
        lease = nil
        warm = nil
        here = Database.End()
        journal = nil
        askedAt = nil
        isInDoubt = false
        answers.removeAll()
    }

    func handOver() {
        let actions = standby?.handOverRequested(now: store.localNow) ?? []
        perform(actions)
    }

    /// The session of its lease has ended, or somebody knows of turns that are not here.
    func hurry() {
        lease?.hurry(now: store.localNow)
        store.wake(at: world.now)
    }

    // MARK: At the database

    private func ask(_ call: DatabaseCall) {
        let incarnation = store.incarnation
        world.plan(.happen { [self] in happen(call, incarnation) }, at: world.now + world.databaseTime())
    }

    /// A call has arrived; its process may be gone.
    private func happen(_ call: DatabaseCall, _ incarnation: Int) {
        let isAlive = store.isUp && store.incarnation == incarnation
        let answer = database.isReached(by: store.number) ? answer(to: call, isAlive: isAlive) : nil
        guard isAlive else { return }
        var time = world.databaseTime()
        if answer == nil { time += world.databaseRandom.time(100...1_500) * milliseconds }
        let isRenewal = if case .renew = call { true } else { false }
        if case .want = call { return }
        world.plan(for: store, at: world.now + time) { [self] in take(answer ?? .failed(isRenewal: isRenewal)) }
    }

    private func answer(to call: DatabaseCall, isAlive: Bool) -> DatabaseAnswer? {
        switch call {
        case .look: return .looked(database.ownership(store.number, world.name), database.contents.row)
        case .follow(let turn): return isAlive ? follow(after: turn) : nil
        case .want:
            database.want()
            return nil
        case .take(let journal):
            do throws(JournalError) {
                return .taken(epoch: try journal.beginWriting(beyond: 0))
            } catch {
                return error.code == .busy ? .notTaken : nil
            }
        case .renew:
            guard isAlive else { return nil }
            database.renew(store.number)
            return .renewed(database.ownership(store.number, world.name))
        }
    }

    private func follow(after turn: Int) -> DatabaseAnswer? {
        guard database.end(through: here.last) == here else { return .diverged }
        guard var machine = warm.take() else { return nil }
        do {
            let journal = try DatabaseJournal(database, store: store.number, nonce: [])
            if turn == 0 {
                machine = try store.recover(from: journal)
            } else {
                try journal.read(from: turn + 1) { batch in
                    try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
                }
            }
            here = database.contents.row.end
            warm = consume machine
            return .followed(here)
        } catch {
            world.deferred = Violation(
                invariant: .i4, time: world.now, expected: "a journal that can be followed", seen: "\(error)")
            return nil
        }
    }

    // MARK: In the process

    private func take(_ answer: DatabaseAnswer) {
        answers.append(answer)
        store.wake(at: world.now)
    }

    func round(_ now: Timestamp) throws(Violation) {
        let taken = answers
        answers.removeAll()
        for answer in taken where store.isUp { try hear(answer, now) }
        guard store.isUp else { return }
        let actions = standby?.ticked(now: now) ?? []
        perform(actions)
        if let time = standby?.deadline { store.wake(at: store.clock.instant(of: time, after: world.now)) }
        if let action = lease?.ticked(durable: journal?.last ?? 0, now: now) { try perform(action) }
        guard lease != nil else { return }
        isInDoubt = lease?.isInDoubt(now: now) ?? false
        if isInDoubt { world.checker.reference.count(.inDoubt) }
        store.setDoubt(isInDoubt, now)
        if let time = lease?.deadline(now: now) { store.wake(at: store.clock.instant(of: time, after: world.now)) }
    }

    private func hear(_ answer: DatabaseAnswer, _ now: Timestamp) throws(Violation) {
        switch answer {
        case .looked(let found, let row):
            seen = row
            let actions = standby?.looked(found, now: now) ?? []
            try performAll(actions)
        case .followed(let end):
            let actions = standby?.followed(through: end.last, digest: end.bytes, now: now) ?? []
            perform(actions)
        case .diverged:
            let actions = standby?.diverged("what follows turn \(here.last) does not follow what is here") ?? []
            try performAll(actions)
        case .taken(let epoch):
            let actions = standby?.taken(epoch: epoch) ?? []
            try performAll(actions)
        case .notTaken:
            (journal, askedAt) = (nil, nil)
            let actions = standby?.notTaken(now: now) ?? []
            perform(actions)
        case .renewed(let found):
            let action = lease?.renewed(found, now: now)
            if let action { try perform(action) }
            if store.isUp { store.leaseIsRenewed() }
        case .failed(isRenewal: true): lease?.failed(now: now)
        case .failed:
            let actions = standby?.failed("it does not answer", now: now) ?? []
            perform(actions)
        }
    }

    private func performAll(_ actions: [StandbyAction]) throws(Violation) {
        for action in actions {
            switch action {
            case .serve(let epoch): try serve(epoch)
            case .lostTail(let text): try world.lostTail(store, text)
            default: perform([action])
            }
        }
    }

    private func perform(_ actions: [StandbyAction]) {
        for action in actions {
            switch action {
            case .look: ask(.look)
            case .follow(let turn): ask(.follow(after: turn))
            case .want: ask(.want)
            case .take:
                askedAt = askedAt ?? store.localNow
                if journal == nil { journal = DatabaseJournal(database, store: store.number, nonce: world.nonce(), seen: seen) }
                if let journal { ask(.take(journal)) }
            case .note(let note): world.note("\(store.name): \(note.text)")
            // No journal is replaced there.
            case .serve, .lostTail, .openAgain: break
            }
        }
    }

    private func serve(_ epoch: Int) throws(Violation) {
        guard let machine = warm.take(), let journal else { return }
        standby = nil
        lease = LeaseMachine(epoch: epoch, now: askedAt ?? store.localNow)
        world.checker.reference.count(.tookOver)
        try store.serve(machine, start: epoch, on: journal)
    }

    private func perform(_ action: LeaseAction) throws(Violation) {
        switch action {
        case .renew:
            store.leaseIsAsked()
            ask(.renew)
        case .handOver:
            world.checker.reference.count(.handedOver)
            store.drain(within: world.swarm.store.drain)
        case .fenced(let text): try fenced(text)
        case .lostTail(let text): try world.lostTail(store, text)
        }
    }

    /// A peer has proved that another store took over, whose epoch the database may have lost since.
    func superseded(_ evidence: String) throws(Violation) {
        if database.contents.row.epoch > store.start { try fenced(evidence) } else { try world.lostTail(store, evidence) }
    }

    private func fenced(_ text: String) throws(Violation) {
        world.checker.reference.count(.fenced)
        try world.storeDied(store, "fenced: \(text)")
    }

    /// The journal cannot be used any more.
    func failed(_ error: JournalError) throws(Violation) {
        switch error.code {
        case .fenced: try fenced("\(error)")
        case .damaged: try world.lostTail(store, "\(error)")
        default: try world.storeDied(store, "the journal failed: \(error)")
        }
    }

    /// It has stopped in order, and gives the journal up; if that fails, its lease runs out.
    func release() throws(Violation) {
        do throws(JournalError) { try journal?.release() } catch { world.note("\(store.name): not released: \(error)") }
        try world.storeDied(store, "stopped in order", isOrderly: true)
    }

    // MARK: What the checker may see

    /// A state that follows is that of the journal.
    func compare() throws(Violation) {
        // Where it follows another history, its next look shows that.
        let isWhole = database.contents.row.end == here && !database.hasUnconfirmed && world.lost == nil
        guard isWhole, let machine = warm.take() else { return }
        do throws(Violation) {
            if machine.head == world.checker.reference.last {
                try world.checker.compare(machine, "in \(store.name), which follows")
            }
            warm = consume machine
        } catch {
            warm = consume machine
            throw error
        }
    }
}
