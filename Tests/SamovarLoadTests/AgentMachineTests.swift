import SamovarCore
import SamovarLoad
import Testing

/// One test per way through the table of `AgentMachine`.
struct AgentMachineTests {
    private func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }

    /// The deadline of a machine that has ended.
    private static let never = Timestamp(microseconds: .max)

    private var share: LoadShare { plan(duration: 2_500_000).shares(1)[0] }

    private func running() -> AgentMachine {
        var machine = AgentMachine(now: at(0))
        _ = machine.heard(.plan(share), now: at(0))
        _ = machine.connected(timeline: "t", now: at(0))
        _ = machine.heard(.start(in: 0), now: at(0))
        return machine
    }

    @Test func `It joins, connects, begins with all others, ends, and goes when it is thanked`() {
        var machine = AgentMachine(now: at(0))
        #expect(machine.joined(as: "a", on: "m") == [.say(.join(version: LoadProtocol.version, name: "a", machine: "m"))])
        #expect(machine.heard(.plan(share), now: at(0.1)) == [.prepare(share)])
        #expect(machine.ticked(isIdle: true, answered: 0, connected: 3, now: at(1)) == [.say(.connecting(count: 3))])
        #expect(machine.connected(timeline: "t", now: at(1.2)) == [.say(.ready(timeline: "t"))])
        #expect(machine.heard(.start(in: 300_000), now: at(1.5)) == [.begin(at: at(1.8)), .tellProgress(elapsed: 0)])
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(2.7)) == [])
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(2.8)) == [.tellProgress(elapsed: 1_000_000)])
        // It drains for 4 s, and what is due may be sent for half of that.
        #expect(
            machine.ticked(isIdle: false, answered: 0, now: at(4.3)) == [
                .tellProgress(elapsed: 2_500_000), .end(at: at(4.3), late: at(6.3)),
            ])
        #expect(machine.ticked(isIdle: false, answered: 0, now: at(4.4)) == [])
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(4.5)) == [.tellProgress(elapsed: 2_700_000), .report])
        #expect(machine.heard(.thanks, now: at(4.6)) == [.finish])
        #expect(machine.deadline == Self.never)
    }

    @Test func `A plan with numbers that cannot be is refused, and is no trap`() {
        let rates: [Double] = [0, -1, .nan, .infinity, 1e300]
        let plans =
            rates.map { plan(pace: .rate($0)) } + [
                plan(pace: .saturate(window: 0)), plan(clients: 0), plan(clients: .max), plan(duration: .max), plan(drain: -1),
            ]
        var shares = plans.map { $0.shares(1)[0] }
        for index in shares.indices { shares[index].clients = 1 }
        shares.append(share)
        shares[shares.count - 1].firstClient = .max
        for share in shares {
            var machine = AgentMachine(now: at(0))
            let actions = machine.heard(.plan(share), now: at(0))
            #expect(actions == [.fail("the coordinator's plan has numbers that cannot be")], "\(share)")
        }
    }

    @Test func `One that is stopped before its start tells of no time, and none that cannot be`() {
        var machine = AgentMachine(now: at(0))
        _ = machine.heard(.plan(share), now: at(0))
        _ = machine.connected(timeline: "t", now: at(0))
        _ = machine.heard(.start(in: 300_000), now: at(0))
        _ = machine.heard(.stop, now: at(0.1))
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(0.2)) == [.tellProgress(elapsed: 0), .report])
    }

    @Test func `What is never answered is not waited for beyond the drain`() {
        var machine = running()
        _ = machine.ticked(isIdle: false, answered: 0, now: at(2.5))
        #expect(machine.ticked(isIdle: false, answered: 0, now: at(6.4)).contains(.report) == false)
        #expect(machine.ticked(isIdle: false, answered: 0, now: at(6.5)).contains(.report))
    }

    @Test func `A slow store is waited for as long as it answers`() {
        var machine = running()
        _ = machine.ticked(isIdle: false, answered: 10, now: at(2.5))
        for (time, answered) in [(6.0, 20), (9.9, 21)] {
            #expect(machine.ticked(isIdle: false, answered: answered, now: at(time)).contains(.report) == false)
        }
        #expect(machine.ticked(isIdle: false, answered: 21, now: at(13.8)).contains(.report) == false)
        #expect(machine.ticked(isIdle: false, answered: 21, now: at(13.9)).contains(.report))
    }

    @Test func `A stop ends it early`() {
        var machine = running()
        #expect(machine.heard(.stop, now: at(1)) == [.end(at: at(1), late: at(3))])
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(1.1)).contains(.report))
    }

    @Test func `An agent that has told its result has done its part when the coordinator leaves`() {
        var machine = running()
        _ = machine.heard(.stop, now: at(1))
        #expect(machine.ticked(isIdle: true, answered: 0, now: at(1.1)).contains(.report))
        #expect(machine.disconnected() == [.finish])
        #expect(machine.deadline == Self.never && machine.disconnected().isEmpty)
    }

    @Test func `Without a coordinator it fails`() {
        var waiting = AgentMachine(now: at(0))
        #expect(waiting.ticked(isIdle: true, answered: 0, now: at(660)) == [.fail("the coordinator has said nothing for 660 s")])
        var told = running()
        _ = told.heard(.stop, now: at(1))
        _ = told.ticked(isIdle: true, answered: 0, now: at(1.1))
        #expect(told.ticked(isIdle: true, answered: 0, now: at(61.1)) == [.fail("the coordinator has said nothing for 60 s")])
        var broken = running()
        #expect(broken.disconnected() == [.fail("the coordinator is gone")])
        #expect(broken.disconnected() == [])
        var dismissed = running()
        #expect(dismissed.heard(.dismissed("no"), now: at(1)) == [.fail("no")])
    }

    @Test func `Others are waited for as long as the coordinator waits, who says nothing meanwhile`() {
        var joined = AgentMachine(now: at(0))
        var ready = AgentMachine(now: at(0))
        _ = ready.heard(.plan(share), now: at(0))
        _ = ready.connected(timeline: "t", now: at(0))
        for second in 1...600 {
            #expect(joined.ticked(isIdle: true, answered: 0, now: at(Double(second))) == [.say(.alive)])
            #expect(ready.ticked(isIdle: true, answered: 0, now: at(Double(second))) == [.say(.alive)])
        }
    }

    @Test func `Words that make no sense now are an error`() {
        var machine = AgentMachine(now: at(0))
        #expect(
            machine.heard(.thanks, now: at(0))
                == [.fail("the coordinator said something that makes no sense now: is it of another version?")])
    }
}
