import SamovarCore
import Testing

@testable import SamovarProtocol

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

    @Test func itSubscribesAndAsksForTheFirstView() {
        var machine = machine()
        let actions = machine.ticked(now: at(0))
        #expect(actions == [.reconnect, .requestView(atLeast: 0, timeline: .zero)])
    }

    @Test func withoutASignItSubscribesAgain() {
        var machine = subscribing()
        _ = machine.answered(turn: 5, bytes: [5], timeline: home, now: at(0))
        let early = machine.ticked(now: at(2.9))
        let due = machine.ticked(now: at(3))
        #expect(early == [])
        #expect(due == [.reconnect])
    }

    @Test func aSilentStoreMakesTheViewStale() {
        var machine = live()
        let early = machine.ticked(now: at(2.9))
        let due = machine.ticked(now: at(3))
        let back = machine.received(tick(view: 5), now: at(3.5))
        #expect(early == [])
        #expect(due == [.stale, .note("no tick for 3.0 seconds"), .reconnect])
        #expect(back == [.live])
    }

    @Test func aTickIsASignOfLife() {
        var machine = live()
        _ = machine.received(tick(view: 5), now: at(2))
        let action = machine.ticked(now: at(3))
        let deadline = machine.deadline
        #expect(action == [])
        #expect(deadline == at(5))
    }

    @Test func aBrokenConnectionMakesTheViewStaleAtOnce() {
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

    @Test func aBrokenSubscriptionIsTriedAgain() {
        var machine = subscribing()
        let broken = machine.disconnected(now: at(1))
        let opened = machine.ticked(now: at(1.5))
        #expect(broken == [])
        #expect(opened == [.reconnect, .requestView(atLeast: 0, timeline: .zero)])
    }

    @Test func goodbyeMakesTheViewStale() {
        var machine = live()
        let actions = machine.received(Envelope(.goodbye, timeline: home), now: at(1))
        let state = machine.state
        #expect(actions == [.stale, .note("the store closes")])
        #expect(state == .lost(until: at(1)))
    }

    // MARK: Newest wins

    @Test func theFirstViewIsLive() {
        var machine = subscribing()
        let actions = machine.received(view(5), now: at(0))
        #expect(actions == [.live, show(5)])
    }

    @Test func olderViewsAreDropped() {
        var machine = live()
        let older = machine.received(view(4), now: at(0))
        let same = machine.received(view(5), now: at(0))
        let newer = machine.received(view(7), now: at(0))
        #expect(older == [])
        #expect(same == [])
        #expect(newer == [show(7)])
    }

    @Test func aViewFromTheFrontCounts() {
        var machine = live()
        let older = machine.answered(turn: 4, bytes: [4], timeline: home, now: at(0))
        let newer = machine.answered(turn: 6, bytes: [6], timeline: home, now: at(0))
        #expect(older == [])
        #expect(newer == [show(6)])
    }

    @Test func aViewFromTheFrontIsShownBeforeTheFirstTick() {
        var machine = subscribing()
        let actions = machine.answered(turn: 4, bytes: [4], timeline: home, now: at(0))
        #expect(actions == [show(4)])
    }

    // MARK: Timelines

    @Test func anotherTimelineReplacesTheView() {
        var machine = live()
        let actions = machine.received(view(2, of: abroad), now: at(0))
        let turn = machine.turn
        #expect(actions == [.note("the timeline is \(abroad) and no more \(home)"), show(2, of: abroad)])
        #expect(turn == 2)
    }

    @Test func aTickOfAnotherTimelineAsksAtOnce() {
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

    @Test func whileLiveTheFrontCannotBringAnotherTimeline() {
        var machine = live()
        let actions = machine.answered(turn: 90, bytes: [90], timeline: abroad, now: at(0))
        #expect(actions == [])
    }

    // MARK: Asking

    @Test func aMissingViewIsAskedForAfterAWhile() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        let deadline = machine.deadline
        let early = machine.ticked(now: at(1.1))
        let due = machine.ticked(now: at(1.2))
        #expect(deadline == at(1.2))
        #expect(early == [])
        #expect(due == [.requestView(atLeast: 8, timeline: home)])
    }

    @Test func aViewThatComesInTimeIsNotAskedFor() {
        var machine = live()
        _ = machine.received(tick(view: 8), now: at(1))
        _ = machine.received(view(8), now: at(1.1))
        let action = machine.ticked(now: at(1.3))
        #expect(action == [])
    }

    @Test func itAsksAtMostOnceASecond() {
        var machine = subscribing()
        var requests = 0
        for step in 1...30 {
            let now = at(Double(step) / 10)
            _ = machine.received(tick(view: 100 + step), now: now)
            requests += machine.ticked(now: now).count
        }
        #expect(requests == 3)
    }

    // MARK: Idle

    @Test func idleIsToldAtEachTickThatSaysSo() {
        var machine = live()
        let first = machine.received(tick(view: 5, idle: true), now: at(1))
        let busy = machine.received(tick(view: 5), now: at(2))
        let second = machine.received(tick(view: 5, idle: true), now: at(3))
        #expect(first == [.idle(turn: 5)])
        #expect(busy == [])
        #expect(second == [.idle(turn: 5)])
    }

    @Test func aViewOfALaterTurnThanThePublishedOneIsIdleToo() {
        var machine = live()
        _ = machine.answered(turn: 7, bytes: [7], timeline: home, now: at(1))
        let actions = machine.received(tick(view: 5, idle: true), now: at(2))
        #expect(actions == [.idle(turn: 7)])
    }

    @Test func idleWaitsForItsView() {
        var machine = live()
        let early = machine.received(tick(view: 6, idle: true), now: at(1))
        let shown = machine.received(view(6), now: at(1))
        let next = machine.received(tick(view: 6, idle: true), now: at(2))
        #expect(early == [])
        #expect(shown == [show(6)])
        #expect(next == [.idle(turn: 6)])
    }

    // MARK: Frames of others

    @Test func anotherInstanceIsDropped() {
        var machine = live()
        let frame = Frame.view(instance: "left", turn: 9, bytes: [9])
        let actions = machine.received(Envelope(frame, timeline: home), now: at(0))
        #expect(actions == [.note("dropped a view, which is not for subscribers of main")])
    }

    @Test(arguments: FrameExample.all)
    func everyFrameHasItsAnswerInEveryState(_ example: FrameExample) {
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
