import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// One test per row of the table of `SubscriberMachine`.
@Suite struct SubscriberMachineTests {
    private func machine() -> SubscriberMachine {
        SubscriberMachine(
            settings: SubscriberMachine.Settings(firstPause: .zero, longestPause: .zero), random: Random(seed: 1))
    }

    private func subscribing() -> SubscriberMachine {
        var machine = machine()
        _ = machine.ticked(now: at(0))
        return machine
    }

    /// It shows turn 5 of `home`, as of second 0.
    private func live() -> SubscriberMachine {
        var machine = subscribing()
        _ = machine.received(view(5), now: at(0))
        return machine
    }

    private func view(_ turn: Int, of timeline: Timeline = home) -> Envelope {
        Envelope(.view(instance: .main, turn: turn, bytes: [UInt8(turn)]), timeline: timeline)
    }

    private func tick(view: Int, idle: Bool = false, of timeline: Timeline = home) -> Envelope {
        Envelope(.tick(instance: .main, head: 100, view: view, idle: idle), timeline: timeline)
    }

    private func show(_ turn: Int, of timeline: Timeline = home) -> SubscriberMachine.Action {
        .show(turn: turn, bytes: [UInt8(turn)], timeline: timeline)
    }

    // MARK: The SUB socket

    @Test func `It subscribes and asks for the first view`() {
        var machine = machine()
        let actions = machine.ticked(now: at(0))
        #expect(actions == [.reconnect, .requestView(atLeast: 0, timeline: .zero)])
    }

    @Test func `Without a sign it subscribes again`() {
        var machine = subscribing()
        _ = machine.answered(turn: 5, bytes: [5], timeline: home, now: at(0))
        let early = machine.ticked(now: at(2.9))
        let due = machine.ticked(now: at(3))
        let again = machine.ticked(now: at(6))
        #expect(early == [])
        #expect(due == [.stale, .note("no sign of the store for 3.0 seconds"), .reconnect])
        #expect(again == [.reconnect], "that is said once")
    }

    @Test func `With a key the handshake has its time before silence counts, unless there is another place to try`() {
        for (places, seconds) in [(1, 23.0), (2, 3.0)] {
            var machine = SubscriberMachine(settings: .keyed, random: Random(seed: 1))
            machine.places = places
            _ = machine.ticked(now: at(0))
            _ = machine.answered(turn: 5, bytes: [5], timeline: home, now: at(0))
            #expect(machine.deadline == at(seconds))
            #expect(machine.ticked(now: at(seconds - 0.1)) == [])
            #expect(machine.ticked(now: at(seconds)) == [.stale, .note("no sign of the store for \(seconds) seconds"), .reconnect])
            _ = machine.received(tick(view: 5), now: at(30))
            #expect(machine.ticked(now: at(33)) == [.stale, .note("no tick for 3.0 seconds"), .reconnect])
        }
    }

    @Test func `A silent store makes the view stale`() {
        var machine = live()
        let early = machine.ticked(now: at(2.9))
        let due = machine.ticked(now: at(3))
        let back = machine.received(tick(view: 5), now: at(3.5))
        #expect(early == [])
        #expect(due == [.stale, .note("no tick for 3.0 seconds"), .reconnect])
        #expect(back == [.live])
    }

    @Test func `A tick is a sign of life`() {
        var machine = live()
        _ = machine.received(tick(view: 5), now: at(2))
        let action = machine.ticked(now: at(3))
        let deadline = machine.deadline
        #expect(action == [])
        #expect(deadline == at(5))
    }

    @Test func `A broken connection makes the view stale at once`() {
        var machine = live()
        let broken = machine.disconnected(now: at(1))
        let again = machine.disconnected(now: at(1))
        let late = machine.received(view(6), now: at(1))
        let opened = machine.ticked(now: at(1))
        #expect(broken == [.stale, .note("the connection broke")])
        #expect(again == [])
        #expect(late == [])
        #expect(opened == [.reconnect])
    }

    @Test func `A connection that cannot even be tried is lost like a broken one, for the reason that the transport names`() {
        var machine = live()
        let lost = machine.disconnected(now: at(1), because: .impossible("no such name"))
        let opened = machine.ticked(now: at(1))
        #expect(lost == [.stale, .note("no such name")])
        #expect(opened == [.reconnect])
    }

    @Test func `A view from the front is stale when the store goes before its first tick`() {
        let ends: [(inout SubscriberMachine) -> [SubscriberMachine.Action]] = [
            { $0.disconnected(now: at(0.5)) }, { $0.received(Envelope(.goodbye, timeline: home), now: at(0.5)) },
        ]
        for (end, reason) in zip(ends, ["the connection broke", "the store closes"]) {
            var machine = subscribing()
            _ = machine.answered(turn: 5, bytes: [5], timeline: home, now: at(0.2))
            let lost = end(&machine)
            _ = machine.ticked(now: at(0.5))
            let again = machine.disconnected(now: at(0.6))
            #expect(lost == [.stale, .note(reason)])
            #expect(again == [], "that is said once")
            _ = machine.answered(turn: 6, bytes: [6], timeline: home, now: at(0.7))
            _ = machine.ticked(now: at(0.7))
            let newer = machine.disconnected(now: at(0.8))
            #expect(newer == [.stale, .note("the connection broke")], "and of the next that is shown")
        }
    }

    @Test func `A broken subscription is tried again`() {
        var machine = subscribing()
        let broken = machine.disconnected(now: at(1))
        let opened = machine.ticked(now: at(1.5))
        #expect(broken == [])
        #expect(opened == [.reconnect, .requestView(atLeast: 0, timeline: .zero)])
    }

    @Test func `Goodbye makes the view stale`() {
        var machine = live()
        let actions = machine.received(Envelope(.goodbye, timeline: home), now: at(1))
        let state = machine.state
        #expect(actions == [.stale, .note("the store closes")])
        #expect(state == .lost(until: at(1)))
    }

    // MARK: Newest wins

    @Test func `The first view is live`() {
        var machine = subscribing()
        let actions = machine.received(view(5), now: at(0))
        #expect(actions == [.live, show(5)])
    }

    @Test func `Older views are dropped`() {
        var machine = live()
        let older = machine.received(view(4), now: at(0))
        let same = machine.received(view(5), now: at(0))
        let newer = machine.received(view(7), now: at(0))
        #expect(older == [])
        #expect(same == [])
        #expect(newer == [show(7)])
    }

    @Test func `A view from the front counts`() {
        var machine = live()
        let older = machine.answered(turn: 4, bytes: [4], timeline: home, now: at(0))
        let newer = machine.answered(turn: 6, bytes: [6], timeline: home, now: at(0))
        #expect(older == [])
        #expect(newer == [show(6)])
    }

    @Test func `A view from the front is shown before the first tick`() {
        var machine = subscribing()
        let actions = machine.answered(turn: 4, bytes: [4], timeline: home, now: at(0))
        #expect(actions == [show(4)])
    }

    // MARK: Timelines

    @Test func `Another timeline replaces the view`() {
        var machine = live()
        let actions = machine.received(view(2, of: abroad), now: at(0))
        let turn = machine.turn
        #expect(actions == [.note("the timeline is \(abroad) and no more \(home)"), show(2, of: abroad)])
        #expect(turn == 2)
    }

    @Test func `A tick of another timeline asks at once`() {
        var machine = live()
        let heard = machine.received(tick(view: 2, of: abroad), now: at(1))
        let asked = machine.ticked(now: at(1))
        #expect(heard == [])
        #expect(asked == [.requestView(atLeast: 2, timeline: abroad)])
    }

    @Test func `A view that is missing in one timeline is not waited for in the next`() {
        // Nothing was shown yet; the front socket answers first from the new timeline, or the SUB socket does.
        for frontIsFirst in [true, false] {
            var machine = subscribing()
            _ = machine.received(tick(view: 902), now: at(0.5))
            _ = machine.disconnected(now: at(0.6))
            _ = machine.ticked(now: at(0.6))
            if frontIsFirst {
                let shown = machine.answered(turn: 2, bytes: [2], timeline: abroad, now: at(0.7))
                #expect(shown == [show(2, of: abroad)])
            }
            let live = machine.received(view(3, of: abroad), now: at(0.8))
            #expect(live == [.live, show(3, of: abroad)])
            let asked = machine.ticked(now: at(2))
            #expect(asked == [])
        }
    }

    @Test func `While live the front cannot bring another timeline`() {
        var machine = live()
        let actions = machine.answered(turn: 90, bytes: [90], timeline: abroad, now: at(0))
        #expect(actions == [])
    }

    // MARK: Asking

    @Test func `A missing view is asked for after a while`() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        let deadline = machine.deadline
        let early = machine.ticked(now: at(1.1))
        let due = machine.ticked(now: at(1.2))
        #expect(deadline == at(1.2))
        #expect(early == [])
        #expect(due == [.requestView(atLeast: 8, timeline: home)])
    }

    @Test func `A view that comes in time is not asked for`() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        _ = machine.received(view(8), now: at(1.1))
        let action = machine.ticked(now: at(1.3))
        #expect(action == [])
    }

    @Test func `It asks at most once a second`() {
        var machine = subscribing()
        var requests = 0
        for step in 1...30 {
            let now = at(Double(step) / 10)
            _ = machine.received(tick(view: 100 + step), now: now)
            requests += machine.ticked(now: now).count
        }
        #expect(requests == 3)
    }

    // MARK: Time

    @Test func `It wakes for the next thing to do, and asks no earlier than it may`() {
        var machine = machine()
        #expect(machine.deadline == Timestamp(microseconds: .min))
        _ = machine.ticked(now: at(0))
        #expect(machine.deadline == at(1), "the first view may be asked for again")
        _ = machine.answered(turn: 5, bytes: [5], timeline: home, now: at(0.1))
        #expect(machine.deadline == at(3), "another subscription")
        _ = machine.received(tick(view: 8), now: at(0.5))
        #expect(machine.deadline == at(1), "the patience ends at 0.7, and the last request was at 0")
        #expect(machine.ticked(now: at(0.9)) == [])
        #expect(machine.ticked(now: at(1)) == [.requestView(atLeast: 8, timeline: home)])
        #expect(machine.deadline == at(2))
        _ = machine.received(view(8), now: at(1.5))
        #expect(machine.deadline == at(4.5), "silence")
        _ = machine.received(Envelope(.goodbye, timeline: home), now: at(2))
        #expect(machine.deadline == at(2) && machine.turn == 8)
    }

    @Test func `Later ticks do not put off the request for a view that is missing`() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        _ = machine.received(tick(view: 9), now: at(1.1))
        #expect(machine.deadline == at(1.2))
        var foreign = live()
        _ = foreign.received(tick(view: 2, of: abroad), now: at(1))
        _ = foreign.received(tick(view: 3, of: abroad), now: at(1.5))
        #expect(foreign.deadline == at(1))
        #expect(foreign.ticked(now: at(1.5)) == [.requestView(atLeast: 3, timeline: abroad)])
        _ = foreign.received(tick(view: 3, of: abroad), now: at(2.4))
        #expect(foreign.ticked(now: at(2.4)) == [] && foreign.deadline == at(2.5))
    }

    @Test func `An older view than the missing one is shown, and the missing one still asked for`() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        #expect(machine.received(view(7), now: at(1.1)) == [show(7)])
        #expect(machine.ticked(now: at(1.2)) == [.requestView(atLeast: 8, timeline: home)])
        #expect(machine.answered(turn: 8, bytes: [8], timeline: home, now: at(1.3)) == [show(8)])
        #expect(machine.ticked(now: at(2.3)) == [] && machine.received(tick(view: 8, idle: true), now: at(2.4)) == [.idle(turn: 8)])
        // What a tick says is the newest is not missing any more.
        _ = machine.received(tick(view: 9), now: at(3))
        _ = machine.received(tick(view: 8), now: at(3.1))
        #expect(machine.ticked(now: at(5)) == [])
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `Its pauses rise while nothing is heard, and begin anew after a sign of life`(_ seed: UInt64) {
        var machine = SubscriberMachine(
            settings: SubscriberMachine.Settings(firstPause: .milliseconds(20), longestPause: .seconds(10)),
            random: Random(seed: seed))
        func pause(_ machine: inout SubscriberMachine, _ now: Timestamp) -> Duration {
            _ = machine.ticked(now: now)
            _ = machine.disconnected(now: now)
            guard case .lost(let until) = machine.state else { return .seconds(1_000) }
            return until - now
        }
        let pauses = (0..<30).map { pause(&machine, at(Double($0 * 100))) }
        #expect(pauses[0] <= .milliseconds(20) && pauses.contains { $0 > .seconds(1) } && pauses.allSatisfy { $0 <= .seconds(10) })
        _ = machine.ticked(now: at(5_000))
        _ = machine.received(view(5), now: at(5_000))
        #expect(pause(&machine, at(5_000)) <= .milliseconds(20))
    }

    // MARK: Idle

    @Test func `Idle is told at each tick that says so`() {
        var machine = live()
        let first = machine.received(tick(view: 5, idle: true), now: at(1))
        let busy = machine.received(tick(view: 5), now: at(2))
        let second = machine.received(tick(view: 5, idle: true), now: at(3))
        #expect(first == [.idle(turn: 5)])
        #expect(busy == [])
        #expect(second == [.idle(turn: 5)])
    }

    @Test func `A view of a later turn than the published one is idle too`() {
        var machine = live()
        _ = machine.answered(turn: 7, bytes: [7], timeline: home, now: at(1))
        let actions = machine.received(tick(view: 5, idle: true), now: at(2))
        #expect(actions == [.idle(turn: 7)])
    }

    @Test func `Idle waits for its view`() {
        var machine = live()
        let early = machine.received(tick(view: 6, idle: true), now: at(1))
        let shown = machine.received(view(6), now: at(1))
        let next = machine.received(tick(view: 6, idle: true), now: at(2))
        #expect(early == [])
        #expect(shown == [show(6)])
        #expect(next == [.idle(turn: 6)])
        var first = subscribing()
        #expect(first.received(tick(view: 6, idle: true), now: at(1)) == [.live], "so it does where nothing is shown yet")
    }

    @Test func `A store at rest that has no view is idle, and its view still asked for`() {
        var machine = subscribing()
        let busy = machine.received(tick(view: 0), now: at(1))
        let idle = machine.received(tick(view: 0, idle: true), now: at(2))
        #expect(busy == [.live])
        #expect(idle == [.idle(turn: 0)])
        #expect(machine.ticked(now: at(2)) == [.requestView(atLeast: 0, timeline: home)])
        // A view of another timeline is not its view.
        var foreign = live()
        #expect(foreign.received(tick(view: 0, idle: true, of: abroad), now: at(1)) == [.idle(turn: 0)])
    }

    // MARK: Frames of others

    @Test func `Another instance is dropped`() {
        var machine = live()
        let frame = Frame.view(instance: "left", turn: 9, bytes: [9])
        let actions = machine.received(Envelope(frame, timeline: home), now: at(0))
        #expect(actions == [.note("dropped a view, which is not for subscribers of main")])
    }

    @Test(arguments: FrameExample.all)
    func `Every frame has its answer in every state`(_ example: FrameExample) {
        let frame = Envelope(example.envelope.frame, timeline: home)
        var idle = machine()
        let ignored = idle.received(frame, now: at(0))
        var subscribing = subscribing()
        _ = subscribing.received(frame, now: at(0))
        var live = live()
        _ = live.received(frame, now: at(0))
        var lost = self.live()
        _ = lost.disconnected(now: at(0))
        let late = lost.received(frame, now: at(0))
        #expect(ignored == [])
        #expect(late == [])
    }
}
