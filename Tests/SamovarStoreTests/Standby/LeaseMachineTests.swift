import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

extension LeaseMachine {
    fileprivate func doubts(_ seconds: Double...) -> [Bool] { seconds.map { isInDoubt(now: at($0)) } }
}

@Suite struct LeaseMachineTests {
    private static func owner(
        epoch: Int = 4, head: Int = 10, isLockFree: Bool = false, isWanted: Bool = false
    ) -> JournalOwnership {
        JournalOwnership(epoch: epoch, head: head, isOwn: true, isLockFree: isLockFree, isWanted: isWanted, owner: "tcp://a:1")
    }

    /// Renewed once, at 0.
    private static func machine() -> LeaseMachine {
        var machine = LeaseMachine(epoch: 4, now: at(0))
        #expect(machine.ticked(durable: 10, now: at(0)) == .renew)
        #expect(machine.renewed(owner(), now: at(0.1)) == nil)
        return machine
    }

    @Test func `It is renewed at once, and then every 2.5 s, counted from when that was sent`() {
        var machine = Self.machine()
        #expect(machine.deadline(now: at(0.1)) == at(2.5))
        #expect(machine.ticked(durable: 10, now: at(2.4)) == nil)
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
    }

    @Test func `One renewal is under way at a time`() {
        var machine = Self.machine()
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
        #expect(machine.ticked(durable: 10, now: at(5)) == nil)
        #expect(machine.deadline(now: at(5)) == at(7), "what comes next is doubt")
        #expect(machine.deadline(now: at(7)) == nil)
    }

    @Test func `A renewal that has failed is tried again soon`() {
        var machine = Self.machine()
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
        machine.failed(now: at(3))
        #expect(machine.deadline(now: at(3)) == at(3.5))
        #expect(machine.ticked(durable: 10, now: at(3.5)) == .renew)
        #expect(machine.renewed(Self.owner(), now: at(3.6)) == nil)
        #expect(machine.doubts(10.4, 10.5) == [false, true])
    }

    @Test func `A renewal that has not got the lock counts, and is repeated before a standby may take the store for gone`() {
        var machine = Self.machine()
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
        #expect(machine.renewed(Self.owner(isLockFree: true), now: at(2.6)) == nil)
        #expect(machine.doubts(9.4, 9.5) == [false, true])
        #expect(machine.deadline(now: at(2.6)) == at(3.1))
        #expect(LeaseSettings().retryAfter < LeaseSettings().freeFor)
        #expect(machine.ticked(durable: 10, now: at(3.1)) == .renew)
        #expect(machine.renewed(Self.owner(), now: at(3.2)) == nil)
        #expect(machine.deadline(now: at(3.2)) == at(5.6))
    }

    @Test func `It is in doubt 7 s after the renewal was sent, however late its answer came, until another succeeds`() {
        var machine = Self.machine()
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
        #expect(machine.renewed(Self.owner(), now: at(9)) == nil)
        #expect(machine.doubts(9.4, 9.5) == [false, true])
        #expect(machine.ticked(durable: 10, now: at(9.6)) == .renew)
        #expect(machine.doubts(9.7) == [true])
        #expect(machine.renewed(Self.owner(), now: at(9.8)) == nil)
        #expect(machine.doubts(9.8) == [false])
    }

    @Test func `An answer that is older than the doubt ends none`() {
        var machine = Self.machine()
        #expect(machine.ticked(durable: 10, now: at(2.5)) == .renew)
        #expect(machine.renewed(Self.owner(), now: at(20)) == nil)
        #expect(machine.doubts(20) == [true])
        #expect(machine.ticked(durable: 10, now: at(20)) == .renew)
    }

    @Test func `The time between taking the journal and the first renewal counts`() {
        var machine = LeaseMachine(epoch: 4, now: at(0))
        #expect(machine.doubts(6.9, 7) == [false, true])
        #expect(machine.ticked(durable: 0, now: at(8)) == .renew)
        #expect(machine.doubts(8) == [true])
    }

    @Test func `Whose session has ended renews at once, for its lock is free`() {
        var machine = Self.machine()
        machine.hurry(now: at(1))
        #expect(machine.deadline(now: at(1)) == at(1) && machine.ticked(durable: 10, now: at(1)) == .renew)
        machine.hurry(now: at(1.1))
        #expect(machine.ticked(durable: 10, now: at(1.1)) == nil)
    }

    @Test func `An epoch that is another's ends it, and says who has the journal`() {
        var machine = Self.machine()
        _ = machine.ticked(durable: 10, now: at(2.5))
        let found = JournalOwnership(epoch: 5, head: 12, owner: "tcp://b:1")
        let text = "the store at tcp://b:1 (epoch 5) has the journal; this one had it with epoch 4"
        #expect(machine.renewed(found, now: at(2.6)) == .fenced(text))
        #expect(machine.doubts(2.6) == [true] && machine.deadline(now: at(2.6)) == nil)
        #expect(machine.ticked(durable: 10, now: at(100)) == nil)
    }

    @Test func `The same epoch in another's hand ends it, too`() {
        var machine = Self.machine()
        _ = machine.ticked(durable: 10, now: at(2.5))
        let found = JournalOwnership(epoch: 4, head: 10, owner: "tcp://b:1")
        let text = "the store at tcp://b:1 (epoch 4) has the journal; this one had it with epoch 4"
        #expect(machine.renewed(found, now: at(2.6)) == .fenced(text))
        #expect(machine.doubts(2.6) == [true] && machine.ticked(durable: 10, now: at(100)) == nil)
    }

    @Test func `A journal that has turned back ends it`() {
        var behind = Self.machine()
        _ = behind.ticked(durable: 10, now: at(2.5))
        #expect(
            behind.renewed(Self.owner(head: 9), now: at(2.6)) == .lostTail("it ends at turn 9, and had confirmed turn 10"))
        var former = Self.machine()
        _ = former.ticked(durable: 10, now: at(2.5))
        #expect(
            former.renewed(Self.owner(epoch: 3), now: at(2.6))
                == .lostTail("its epoch is 3, and this store has taken it with 4"))
    }

    @Test func `What was confirmed while a renewal was under way need not be in its answer`() {
        var machine = Self.machine()
        _ = machine.ticked(durable: 8, now: at(2.5))
        #expect(machine.renewed(Self.owner(head: 9), now: at(2.6)) == nil)
    }

    @Test func `A wish for the journal is passed on once, and the lease is renewed until it is released`() {
        var machine = Self.machine()
        _ = machine.ticked(durable: 10, now: at(2.5))
        #expect(machine.renewed(Self.owner(isWanted: true), now: at(2.6)) == .handOver)
        #expect(machine.ticked(durable: 10, now: at(5)) == .renew)
        #expect(machine.renewed(Self.owner(isWanted: true), now: at(5.1)) == nil)
    }

    @Test func `Answers that nobody waits for change nothing`() {
        var machine = Self.machine()
        #expect(machine.renewed(Self.owner(epoch: 9), now: at(1)) == nil)
        machine.failed(now: at(1))
        #expect(machine.deadline(now: at(1)) == at(2.5) && machine.doubts(1) == [false])
    }
}
