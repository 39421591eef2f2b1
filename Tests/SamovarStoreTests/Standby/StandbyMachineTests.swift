import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
@Suite struct StandbyMachineTests {
    private static func journal(
        epoch: Int = 4, head: Int = 10, isReleased: Bool = false, isLockFree: Bool = false, isExpired: Bool = false,
        isWanted: Bool = false
    ) -> JournalOwnership {
        JournalOwnership(
            epoch: epoch, head: head, isReleased: isReleased, isLockFree: isLockFree, isExpired: isExpired, isWanted: isWanted,
            owner: isReleased ? "" : "tcp://a:1")
    }

    private static func note(_ text: String, _ level: Note.Level = .info) -> StandbyAction { .note(Note(level, text)) }
    private static let follows = note("the store at tcp://a:1 (epoch 4) has the journal: this one follows it")

    /// Follows an owner at turn 10, and rests from 0 on.
    private static func warm() -> StandbyMachine {
        var machine = StandbyMachine(followed: 10, mayBegin: false, now: at(0))
        #expect(machine.ticked(now: at(0)) == [.look])
        #expect(machine.looked(journal(), now: at(0)) == [follows])
        return machine
    }

    /// Looks once more, and finds this.
    private static func look(
        _ machine: inout StandbyMachine, _ found: JournalOwnership, now: Timestamp
    ) -> [StandbyAction] {
        #expect(machine.ticked(now: now) == [.look])
        return machine.looked(found, now: now)
    }

    // MARK: Following

    @Test func `It looks every 150 ms while somebody has the journal, and follows what is new`() {
        var machine = Self.warm()
        #expect(machine.deadline == at(0.15))
        #expect(machine.ticked(now: at(0.14)) == [])
        #expect(Self.look(&machine, Self.journal(head: 12), now: at(0.15)) == [.follow(after: 10)])
        #expect(machine.deadline == nil && machine.ticked(now: at(9)) == [], "one call at a time")
        #expect(machine.followed(through: 12, now: at(0.2)) == [])
        #expect(machine.followed == 12 && machine.deadline == at(0.35))
    }

    @Test func `What is read in parts is read without a pause`() {
        var machine = StandbyMachine(mayBegin: false, now: at(0))
        _ = machine.ticked(now: at(0))
        #expect(machine.looked(Self.journal(head: 500), now: at(0)) == [Self.follows, .follow(after: 0)])
        #expect(machine.followed(through: 200, now: at(0.1)) == [.look])
        #expect(machine.looked(Self.journal(head: 510), now: at(0.1)) == [.follow(after: 200)])
        #expect(machine.followed(through: 510, now: at(0.3)) == [] && machine.isWarm)
    }

    @Test func `Who needs long for what there was is not warm, and looks again at once`() {
        var machine = StandbyMachine(mayBegin: false, now: at(0))
        _ = machine.ticked(now: at(0))
        _ = machine.looked(Self.journal(head: 500), now: at(0))
        #expect(machine.followed(through: 500, now: at(2)) == [.look] && !machine.isWarm)
    }

    @Test func `A journal from which nothing comes is not read without a pause`() {
        var machine = Self.warm()
        #expect(Self.look(&machine, Self.journal(head: 12), now: at(1)) == [.follow(after: 10)])
        #expect(machine.followed(through: 10, now: at(1)) == [])
        #expect(machine.deadline == at(1.15))
    }

    // MARK: Nobody has it

    @Test func `A journal that was released is taken once all of it is here`() {
        var machine = Self.warm()
        #expect(Self.look(&machine, Self.journal(head: 11, isReleased: true), now: at(1)) == [.follow(after: 10)])
        #expect(machine.followed(through: 11, now: at(1)) == [.look])
        #expect(
            machine.looked(Self.journal(head: 11, isReleased: true), now: at(1))
                == [Self.note("nobody has the journal: this one takes the journal, with turn 11"), .take])
        #expect(machine.taken(epoch: 5) == [.serve(epoch: 5)])
        #expect(machine.deadline == nil && machine.ticked(now: at(9)) == [])
    }

    @Test func `A lease that is over by the clock of the database is enough`() {
        var machine = Self.warm()
        #expect(
            Self.look(&machine, Self.journal(isExpired: true), now: at(1)) == [
                Self.note("the lease of the store at tcp://a:1 (epoch 4) is over: this one takes the journal, with turn 10"), .take,
            ])
    }

    @Test func `A lock that is free is believed after a second, in several looks`() {
        var machine = Self.warm()
        for time in stride(from: 1.0, to: 2.0, by: 0.2) {
            #expect(Self.look(&machine, Self.journal(isLockFree: true), now: at(time)) == [])
        }
        #expect(
            Self.look(&machine, Self.journal(isLockFree: true), now: at(2)) == [
                Self.note("the store at tcp://a:1 (epoch 4) is gone: this one takes the journal, with turn 10"), .take,
            ])
    }

    @Test(arguments: ["taken", "failed", "another", "pause"])
    func `A free lock is no longer free on end`(_ interruption: String) {
        var machine = Self.warm()
        #expect(Self.look(&machine, Self.journal(isLockFree: true), now: at(1)) == [])
        #expect(Self.look(&machine, Self.journal(isLockFree: true), now: at(1.4)) == [])
        var epoch = 4
        switch interruption {
        case "taken": #expect(Self.look(&machine, Self.journal(), now: at(1.6)) == [])
        case "failed":
            #expect(machine.ticked(now: at(1.6)) == [.look])
            #expect(machine.failed("no route", now: at(1.6)) == [Self.note("the journal is not reached: no route", .warning)])
        case "another":
            epoch = 5
            _ = Self.look(&machine, Self.journal(epoch: 5, isLockFree: true), now: at(1.6))
        default: #expect(Self.look(&machine, Self.journal(isLockFree: true), now: at(2.5)) == [])
        }
        #expect(!Self.look(&machine, Self.journal(epoch: epoch, isLockFree: true), now: at(2.55 + 0.2)).contains(.take))
    }

    @Test func `The answer to a look counts from when it was asked for`() {
        var machine = Self.warm()
        #expect(Self.look(&machine, Self.journal(isLockFree: true), now: at(1)) == [])
        #expect(machine.ticked(now: at(1.5)) == [.look])
        #expect(machine.looked(Self.journal(isLockFree: true), now: at(2.1)) == [], "it may have been looked at 1.5")
    }

    @Test func `An owner that came back while all was read keeps its journal`() {
        var machine = Self.warm()
        #expect(Self.look(&machine, Self.journal(head: 30, isExpired: true), now: at(1)) == [.follow(after: 10)])
        #expect(machine.followed(through: 30, now: at(3)) == [.look])
        #expect(machine.looked(Self.journal(head: 30), now: at(3)) == [])
    }

    @Test func `A standby begins no timeline, and a first store does`() {
        let empty = JournalOwnership(epoch: 0, head: 0, isReleased: true)
        var standby = StandbyMachine(mayBegin: false, now: at(0))
        #expect(Self.look(&standby, empty, now: at(0)) == [])
        var first = StandbyMachine(mayBegin: true, now: at(0))
        #expect(
            Self.look(&first, empty, now: at(0))
                == [Self.note("nobody has the journal: this one takes the journal, with turn 0"), .take])
    }

    // MARK: Taking

    private static func taking() -> StandbyMachine {
        var machine = warm()
        #expect(look(&machine, journal(isReleased: true), now: at(1)).last == .take)
        return machine
    }

    @Test func `Whose journal has moved looks and follows again`() {
        var machine = Self.taking()
        #expect(machine.notTaken(now: at(1.1)) == [Self.note("the journal has moved and was not taken"), .look])
        #expect(machine.looked(Self.journal(epoch: 5, head: 13), now: at(1.1)).last == .follow(after: 10))
        #expect(machine.followed(through: 13, now: at(1.2)) == [])
    }

    @Test func `A take of which nobody knows is repeated until it is known, and nothing else is done`() {
        var machine = Self.taking()
        #expect(machine.failed("cut", now: at(1.1)) == [Self.note("the journal is not reached: cut", .warning)])
        #expect(machine.deadline == at(1.25))
        #expect(machine.ticked(now: at(1.25)) == [.take])
        #expect(machine.failed("cut", now: at(1.3)) == [], "it is told once")
        #expect(machine.ticked(now: at(1.45)) == [.take])
        #expect(machine.taken(epoch: 5) == [.serve(epoch: 5)])
    }

    // MARK: Hand-over

    @Test func `A hand-over asks for the journal when all is here, looks often, and takes what is released`() {
        var machine = Self.warm()
        #expect(machine.handOverRequested(now: at(0.1)) == [.look])
        #expect(machine.looked(Self.journal(head: 11), now: at(0.1)) == [.follow(after: 10)])
        #expect(machine.followed(through: 11, now: at(0.11)) == [.want])
        #expect(machine.deadline == at(0.13))
        #expect(Self.look(&machine, Self.journal(head: 11, isWanted: true), now: at(0.13)) == [])
        #expect(machine.deadline == at(0.15))
        #expect(
            Self.look(&machine, Self.journal(head: 11, isReleased: true), now: at(0.15)).last == .take)
    }

    @Test func `A wish that has not arrived is repeated, and one of a former owner too`() {
        var machine = Self.warm()
        #expect(machine.handOverRequested(now: at(0.1)) == [.look])
        #expect(machine.looked(Self.journal(), now: at(0.1)) == [.want])
        #expect(Self.look(&machine, Self.journal(), now: at(0.12)) == [.want])
        #expect(Self.look(&machine, Self.journal(isWanted: true), now: at(0.14)) == [])
        #expect(Self.look(&machine, Self.journal(epoch: 5), now: at(0.16)).last == .want)
    }

    @Test func `Who is far behind asks for nothing yet`() {
        var machine = StandbyMachine(mayBegin: false, now: at(0))
        #expect(machine.handOverRequested(now: at(0)) == [.look])
        _ = machine.looked(Self.journal(head: 500), now: at(0))
        #expect(machine.followed(through: 500, now: at(2)) == [.look])
        #expect(machine.looked(Self.journal(head: 600), now: at(2)) == [.follow(after: 500)])
        #expect(machine.followed(through: 600, now: at(2.5)) == [.want])
    }

    @Test func `An owner that does not release its journal is waited for at the usual pace`() {
        var machine = Self.warm()
        _ = machine.handOverRequested(now: at(0.1))
        _ = machine.looked(Self.journal(isWanted: true), now: at(0.1))
        let text = "the store at tcp://a:1 (epoch 4) was asked for the journal and has not released it: this one goes on waiting"
        #expect(Self.look(&machine, Self.journal(isWanted: true), now: at(61)) == [Self.note(text, .warning)])
        #expect(machine.deadline == at(61.15))
        #expect(Self.look(&machine, Self.journal(isWanted: true), now: at(62)) == [])
    }

    // MARK: The database

    @Test func `That the journal is away, and is back, is told once`() {
        var machine = Self.warm()
        #expect(machine.ticked(now: at(1)) == [.look])
        #expect(machine.failed("cut", now: at(1)) == [Self.note("the journal is not reached: cut", .warning)])
        #expect(machine.ticked(now: at(2)) == [.look])
        #expect(machine.failed("cut", now: at(2)) == [])
        #expect(Self.look(&machine, Self.journal(), now: at(3)) == [Self.note("the journal is reached again")])
    }

    @Test func `That the journal is reached and lets nobody in is told, also while it was away`() {
        var machine = Self.warm()
        #expect(machine.ticked(now: at(1)) == [.look])
        #expect(machine.failed("cut", now: at(1)) == [Self.note("the journal is not reached: cut", .warning)])
        #expect(machine.ticked(now: at(2)) == [.look])
        let told = [Self.note("the journal lets nobody in: no password", .error)]
        #expect(machine.failed("no password", isDenied: true, now: at(2)) == told)
        #expect(machine.ticked(now: at(3)) == [.look])
        #expect(machine.failed("no password", isDenied: true, now: at(3)) == [], "it is told once")
        #expect(Self.look(&machine, Self.journal(), now: at(4)) == [Self.note("the journal is reached again")])
    }

    @Test func `A journal that has turned back is left as it is`() {
        var behind = Self.warm()
        #expect(
            Self.look(&behind, Self.journal(head: 9, isReleased: true), now: at(1))
                == [.lostTail("it ends at turn 9, and turn 10 was in it")])
        #expect(behind.deadline == nil && behind.ticked(now: at(2)) == [])
        var former = Self.warm()
        #expect(
            Self.look(&former, Self.journal(epoch: 3, isReleased: true), now: at(1))
                == [.lostTail("its epoch is 3, and epoch 4 was seen")])
    }

    @Test(arguments: [0, 9, 10, 11])
    func `A journal that was replaced by another one, be it shorter, is opened again and is no lost end`(_ head: Int) {
        var machine = Self.warm()
        var other = Self.journal(epoch: 6, head: head, isReleased: true)
        other.identity = UniqueID(high: 1, low: 2)
        let text = "the journal was replaced by another one, which ends at turn \(head): this one begins again with that"
        #expect(Self.look(&machine, other, now: at(1)) == [Self.note(text, .warning), .openAgain])
        #expect(machine.deadline == nil && machine.ticked(now: at(2)) == [])
    }

    @Test func `A server that shows the journal from before a replacement has lost turns, also at the first look`() {
        var former = Self.journal(epoch: 2, head: 30, isReleased: true)
        former.identity = UniqueID(high: 1, low: 2)
        var warm = Self.warm()
        #expect(Self.look(&warm, former, now: at(1)) == [.lostTail("its epoch is 2, and epoch 4 was seen")])
        var opened = StandbyMachine(of: UniqueID(high: 3, low: 4), epoch: 4, followed: 10, mayBegin: true, now: at(1))
        #expect(Self.look(&opened, former, now: at(1)) == [.lostTail("its epoch is 2, and epoch 4 was seen")])
    }

    @Test func `Another journal whose epoch is no higher was put there by no replacement`() {
        var machine = Self.warm()
        var other = Self.journal(epoch: 4, head: 3)
        other.identity = UniqueID(high: 1, low: 2)
        #expect(Self.look(&machine, other, now: at(1)) == [.lostTail("it ends at turn 3, and turn 10 was in it")])
    }

    @Test func `Another history of the same length is not the one that was followed`() {
        func machine() -> StandbyMachine {
            var machine = Self.warm()
            #expect(Self.look(&machine, Self.journal(head: 12), now: at(1)) == [.follow(after: 10)])
            #expect(machine.followed(through: 12, digest: [1], now: at(1)) == [])
            return machine
        }
        var (same, other, longer) = (Self.journal(head: 12), Self.journal(head: 12), Self.journal(head: 13))
        (same.digest, other.digest, longer.digest) = ([1], [2], [3])
        var faithful = machine()
        #expect(Self.look(&faithful, same, now: at(2)) == [])
        var betrayed = machine()
        #expect(Self.look(&betrayed, other, now: at(2)) == [.lostTail("turn 12 in it is another one than was followed")])
        var late = machine()
        #expect(Self.look(&late, longer, now: at(2)) == [.follow(after: 12)])
        #expect(late.diverged("turn 13 does not follow turn 12") == [.lostTail("turn 13 does not follow turn 12")])
        #expect(late.deadline == nil)
    }

    @Test func `Answers that nobody waits for change nothing`() {
        var machine = Self.warm()
        #expect(machine.looked(Self.journal(isReleased: true), now: at(0.1)) == [])
        #expect(machine.followed(through: 99, now: at(0.1)) == [] && machine.followed == 10)
        #expect(machine.taken(epoch: 9) == [] && machine.notTaken(now: at(0.1)) == [])
        #expect(machine.failed("cut", now: at(0.1)) == [])
        #expect(machine.deadline == at(0.15))
    }
}
