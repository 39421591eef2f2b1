import Journal
import JournalChain
import Logging
import SamovarCore
import SamovarStore
import Testing

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
    /// Follows a journal with so many turns more than it knows, until the third wait.
    ///
    /// - Returns: when the owner was asked for it, and when no longer.
    @discardableResult
    private func follow(
        _ trouble: JournalError = JournalError(.unavailable, "The database is away."), turns: Int = 5, isAsking: Bool = false
    ) throws -> [Bool] {
        let journal = FollowedJournal(trouble: trouble)
        let place = FollowedPlace(journal: journal)
        let kind = JournalKind(schemes: ["followed"]) { _ in place }
        let opened = try OpenedJournal(reading: JournalLocation("followed:", dataFolder: "/nowhere", kinds: [kind]))
        let lease = FollowedLease(JournalOwner(epoch: 1, head: turns, digest: []))
        var standby = Standby(
            opened, journal, lease, LeaseSettings(), accepted: AcceptedDivergences(), clock: HostClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var machine = StoreMachine(
            settings: StoreSettings(), engine: TypedEngine(Lamp.self, secret: opened.secret), timeline: opened.timeline,
            secret: opened.secret, build: "test")
        // Of no file, since there is no such folder.
        let page = TrapPage(in: "/nowhere") { _ in }
        defer { page.end() }
        var waits = 0
        let epoch = try standby.run(&machine, mayBegin: true, isAsking: isAsking, page: page) { _ in
            waits += 1
            return waits < 3
        }
        #expect(epoch == nil && waits == 3)
        return lease.wishes
    }

    @Test func `One that lacks turns that were trimmed meanwhile opens the journal again, to begin with a snapshot`() {
        #expect(throws: Standby.IsOutdated.self) { try follow(JournalError(.missing, "The turns after 0 were trimmed.")) }
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
}
