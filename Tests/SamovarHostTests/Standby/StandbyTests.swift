import Foundation
import Journal
import JournalChain
import Logging
import ProcessSupport
import SamovarCore
import SamovarStore
import SamovarWire
import Testing
import ZeroMQ

@testable import SamovarHost

private enum Lamp: OpenProgram {
    struct State: Portable { var isOn = false }
    enum Message: Portable { case toggle }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Lamp> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Lamp> {
        state.isOn.toggle()
        return .none
    }
}

/// What becomes of a standby whose journal cannot be followed.
@Suite struct StandbyTests {
    private func machine(of opened: OpenedJournal) -> StoreMachine {
        StoreMachine(
            settings: StoreSettings(), engine: TypedEngine(Lamp.self, secret: opened.secret), timeline: opened.timeline,
            secret: opened.secret, build: "test")
    }

    /// Follows a journal with so many turns more than it knows, until the third wait.
    ///
    /// - Parameter identity: of the journal that is in its place by then, with an epoch; nil if it is still there.
    /// - Returns: when the owner was asked for it, and when no longer.
    @discardableResult
    private func follow(
        _ trouble: JournalError = JournalError(.unavailable, "The database is away."), turns: Int = 5, identity: UniqueID? = nil,
        epoch: Int = 1, isAsking: Bool = false
    ) throws -> [Bool] {
        let journal = FollowedJournal(trouble: trouble)
        let opened = try OpenedJournal(reading: FollowedPlace(journal).location)
        let lease = FollowedLease(JournalOwnership(of: identity ?? journal.identity, epoch: epoch, head: turns))
        var standby = Standby(
            opened, journal, lease, LeaseSettings(), accepted: AcceptedDivergences(), clock: HostClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var machine = machine(of: opened)
        // Of no file, since there is no such folder.
        let page = TrapPage(in: "/nowhere") { _ in }
        defer { page.end() }
        var waits = 0
        let taken = try standby.run(&machine, mayBegin: true, isAsking: isAsking, page: page) { _ in
            waits += 1
            return waits < 3
        }
        #expect(taken == nil && waits == 3)
        return lease.wishes
    }

    @Test func `One that lacks turns that were trimmed meanwhile opens the journal again, to begin with a snapshot`() {
        #expect(throws: Standby.IsOutdated.self) { try follow(JournalError(.missing, "The turns after 0 were trimmed.")) }
    }

    @Test func `One in whose place a journal of a higher epoch is opens that`() throws {
        let other = UniqueID(high: 3, low: 4)
        #expect(throws: Standby.IsOutdated.self) { try follow(turns: 0, identity: other, epoch: 2) }
        #expect(try follow(turns: 0, identity: other, epoch: 1) == [])
    }

    @Test func `A database that does not answer is waited for`() throws {
        #expect(try follow() == [])
    }

    @Test func `One that ends without the journal does not want it any more`() throws {
        #expect(try follow(turns: 0, isAsking: true).suffix(2) == [true, false])
        #expect(try follow(turns: 0, isAsking: false) == [])
    }

    @Test func `A journal that has lost its end is not followed`() throws {
        let error = #expect(throws: StoreError.self) { try follow(JournalError(.damaged, "The journal has lost its end.")) }
        #expect(error?.code == .damaged)
    }

    @Test(arguments: [
        (JournalError(.unavailable, "The database is away."), StoreError.Code.inputOutput),
        (JournalError(.missing, "The turns after 0 were trimmed."), .again),
    ])
    func `A journal that goes away or is trimmed while a start reads it is read again`(
        _ trouble: JournalError, _ code: StoreError.Code
    ) throws {
        let opened = try OpenedJournal(reading: FollowedPlace(FollowedJournal(trouble: trouble, last: 5)).location)
        var accepted = AcceptedDivergences()
        do {
            _ = try opened.recover(accepting: &accepted) {
                machine(of: opened)
            } note: { _ in
            }
            Issue.record("it was read")
        } catch {
            #expect(error.isTransient && error.code == code, "\(error)")
        }
    }

    /// What a store hears that serves, of what a standby was told before it opened the journal again.
    private func heard(_ tell: (StoreLoop) -> Void) throws -> [StoreLoop.Event] {
        let scratch = try Scratch()
        let journal = FollowedJournal(trouble: JournalError(.unavailable, "The database is away."), isNew: true)
        let place = FollowedPlace(journal)
        let loop = try StoreLoop(
            StoreConfiguration(journal: place.location, endpoint: .local(folder: scratch.path)), logger: Logger(label: "test"))
        let opened = try OpenedJournal(reading: place.location)
        var machine = machine(of: opened)
        let page = TrapPage(in: "/nowhere") { _ in }
        defer { page.end() }
        tell(loop)
        do {
            _ = try loop.begin(opened, &machine, AcceptedDivergences(), page, HostClock())
            Issue.record("it has begun")
        } catch is Standby.IsOutdated {}
        return loop.mailbox.takeAll()
    }

    @Test func `What a standby is told before it opens the journal again is heard by the store that serves`() throws {
        let isHeard = try heard { $0.readKeys() }.contains { if case .readKeys = $0 { true } else { false } }
        #expect(isHeard)
    }

    @Test func `Of what a standby is told a store hears once that its keys are to be read, and the newest deaths`() throws {
        let limit = StoreLoop.newsLimit
        let heard = try heard { loop in
            for number in 1...limit + 50 {
                loop.workerDied(.random(), "death \(number)")
                if number.isMultiple(of: 100) { loop.readKeys() }
            }
        }
        let deaths: [String] = heard.compactMap { if case .workerDied(_, let evidence) = $0 { evidence } else { nil } }
        #expect(heard.count == limit && deaths.count == limit - 1)
        #expect(deaths.first == "death 52" && deaths.last == "death \(limit + 50)")
    }

    @Test func `A timeline that another store has begun since the journal was opened is gone on with, and not replaced`() throws {
        let scratch = try Scratch()
        let journal = BeginningJournal()
        let place = FollowedPlace(journal)
        let loop = try StoreLoop(
            StoreConfiguration(journal: place.location, endpoint: .local(folder: scratch.path)), logger: Logger(label: "test"))
        let page = TrapPage(in: "/nowhere") { _ in }
        defer { page.end() }
        let opened = try OpenedJournal(reading: place.location)
        // It dies before its first turn.
        let founder = try OpenedJournal(reading: place.location)
        try founder.establish(Lamp.schema, seed: [0x80])
        var outdated = machine(of: opened)
        do {
            _ = try loop.begin(opened, &outdated, AcceptedDivergences(), page, HostClock())
            Issue.record("it has begun")
        } catch is Standby.IsOutdated {}
        #expect(journal.lease.releases == 1)

        let next = try OpenedJournal(reading: place.location)
        #expect(next.timeline == founder.timeline && next.secret == founder.secret)
        var heir = machine(of: next)
        guard var begun = try loop.begin(next, &heir, AcceptedDivergences(), page, HostClock()) else {
            Issue.record("it was told to end")
            return
        }
        loop.giveUp(&begun.lease)
        #expect(journal.lease.releases == 2)
    }

    @Test func `A store that takes over takes the time that its machine has by then, and its lease keeps its age`() throws {
        let scratch = try Scratch()
        let place = FollowedPlace(BeginningJournal())
        let loop = try StoreLoop(
            StoreConfiguration(journal: place.location, endpoint: .local(folder: scratch.path)), logger: Logger(label: "test"))
        let page = TrapPage(in: "/nowhere") { _ in }
        defer { page.end() }
        let opened = try OpenedJournal(reading: place.location)
        var machine = machine(of: opened)
        // Read before the machine's clock was set back.
        let former = HostClock().ahead(by: .seconds(7_200))
        guard var begun = try loop.begin(opened, &machine, AcceptedDivergences(), page, former) else {
            Issue.record("it was told to end")
            return
        }
        let now = begun.clock.now()
        // A lease is to be renewed for the first time when it was taken.
        let renewal = begun.lease?.deadline(now: now)
        loop.giveUp(&begun.lease)
        let strayed = now - HostClock().now()
        #expect(strayed > .seconds(-60) && strayed < .seconds(60), "\(strayed)")
        let taken = try #require(renewal)
        let age = now - taken
        #expect(age >= .zero && age < .seconds(60), "\(age)")
    }

    @Test func `A store that has followed begins with the keys of then, or with its former ones if it can read none`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/keys"
        var keys = try KeysFolder(path, mayMake: true)
        let (shop, other) = (try #require(KeyName("shop")), try #require(KeyName("other")))
        _ = try keys.issue(shop, to: "\(path)/shop.key") { Key(shop, $0, roles: [.client]) }
        let former = try StoreKeys(folder: path)
        _ = try keys.revoke("shop")
        _ = try keys.issue(other, to: "\(path)/other.key") { Key(other, $0, roles: [.client]) }
        _ = try keys.makeServerKey()
        let next = try keys.switchServerKey()

        let lines = Lines()
        let place = FollowedPlace(FollowedJournal(trouble: JournalError(.unavailable, "The database is away.")))
        var configuration = StoreConfiguration(journal: try place.location, endpoint: .local(folder: folder.path))
        configuration.keysFolder = path
        let loop = try StoreLoop(configuration, logger: Logger(label: "test") { _ in LineHandler(lines: lines) })
        var machine = machine(of: try OpenedJournal(reading: place.location))
        let read = loop.keysAtStart(former, &machine, now: HostClock().now())
        let present = try #require(read)
        #expect(present.table.keys.map(\.name) == [other] && Fingerprint(of: present.server.publicKey) == next)
        #expect(lines.all.isEmpty)

        #expect(unlink("\(path)/table") == 0)
        let unread = loop.keysAtStart(former, &machine, now: HostClock().now())
        let kept = try #require(unread)
        #expect(kept.table.keys.map(\.name) == [shop] && kept.server.publicKey == former.server.publicKey)
        #expect(
            lines.all == [
                "error: the keys are as they were when this process was started: \(path)/table cannot be opened: No such file or directory"
            ])
    }

    @Test func `What was archived for a fresh start is not archived again when the journal is opened again`() throws {
        let scratch = try Scratch()
        let place = FollowedPlace(nil)
        var isFresh = true
        for _ in 1...2 {
            let error = #expect(throws: StoreError.self) {
                try OpenedJournal(serving: place.location(in: scratch.folder("data")), isFresh: &isFresh) { _ in }
            }
            #expect(error?.isTransient == true, "\(error?.description ?? "")")
        }
        #expect(place.archives == 1)
    }
}
