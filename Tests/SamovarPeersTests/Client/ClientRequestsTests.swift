import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// What a client has asked for: how often it is asked again, and when it is not any more.
@Suite struct ClientRequestsTests {
    private static let place = EffectID(turn: 4, ordinal: 0)
    private static let views = PageRequest.views(after: 3, in: home)

    /// Asked at second 0, to be asked again at second 6.
    private static func asked(_ frames: Frame..., pages: [PageRequest] = []) -> ClientRequests {
        var requests = ClientRequests()
        for frame in frames { requests.add(frame) }
        for page in pages { #expect(requests.add(page, of: .main) == true) }
        requests.asked(at(0), again: .seconds(6))
        return requests
    }

    @Test func `Nothing is asked again when the last answer has come, whichever it was`() {
        var settled = Self.asked(.settle(turn: 5))
        #expect(settled.repeatAt == at(6) && settled.isWaiting(for: 5) && settled.count == 1)
        #expect(settled.settled(5) && settled.repeatAt == nil && settled.count == 0)
        #expect(settled.settled(5) == false)
        var viewed = Self.asked(.viewRequest(instance: .main, atLeast: 5))
        #expect(viewed.viewed(.main, 5) && viewed.repeatAt == nil && !viewed.isWaitingForViews)
        var answered = Self.asked(pages: [Self.views])
        let page = Page.views(ViewPage(after: 3, views: []))
        #expect(answered.answered(by: page) == [Self.views] && answered.repeatAt == nil && answered.count == 0)
        var forgotten = Self.asked(pages: [Self.views])
        forgotten.forget(Self.views)
        #expect(forgotten.repeatAt == nil && forgotten.count == 0)
        var dropped = Self.asked(pages: [Self.views])
        #expect(dropped.dropPages(otherThan: abroad) == [Self.views] && dropped.repeatAt == nil && dropped.count == 0)
    }

    @Test func `What still waits is asked again at its time, whatever else was asked and answered`() {
        let other = PageRequest.views(after: 8, in: home)
        var requests = Self.asked(
            .settle(turn: 5), .settle(turn: 6), .viewRequest(instance: .main, atLeast: 5),
            .viewRequest(instance: "left", atLeast: 0), pages: [Self.views, other])
        #expect(requests.count == 6)
        #expect(requests.settled(6) && requests.viewed(.main, 5))
        #expect(requests.answered(by: .views(ViewPage(after: 3, views: []))) == [Self.views])
        #expect(requests.viewed("right", 9) == false && requests.count == 3)
        requests.asked(at(4), again: .seconds(6))
        #expect(requests.repeatAt == at(6))
        #expect(
            requests.frames == [
                .settle(turn: 5), .viewRequest(instance: "left", atLeast: 0), .viewsRequest(instance: .main, after: 8),
            ])
    }

    @Test func `A view is waited for until it is as new as the newest that was asked for, and asked as the oldest that is left`() {
        var requests = Self.asked(
            .viewRequest(instance: .main, atLeast: 12), .viewRequest(instance: .main, atLeast: 5),
            .viewRequest(instance: .main, atLeast: 14), .viewRequest(instance: .main, atLeast: 5))
        #expect(requests.frames == [.viewRequest(instance: .main, atLeast: 5)] && requests.count == 3)
        #expect(requests.viewed(.main, 4) && requests.frames == [.viewRequest(instance: .main, atLeast: 5)])
        #expect(requests.viewed(.main, 11) && requests.isWaitingForViews && requests.repeatAt == at(6))
        #expect(requests.frames == [.viewRequest(instance: .main, atLeast: 12)] && requests.count == 2)
        #expect(requests.viewed(.main, 14) && !requests.isWaitingForViews && requests.count == 0)
    }

    @Test func `A view that nobody waits for any more is not asked for, and leaves its place to another request`() {
        var requests = Self.asked(
            .viewRequest(instance: .main, atLeast: 12), .viewRequest(instance: .main, atLeast: 5),
            .viewRequest(instance: "left", atLeast: 5))
        requests.forget(viewOf: "right", atLeast: 5)
        requests.forget(viewOf: .main, atLeast: 6)
        #expect(requests.count == 3, "nobody has asked for these")
        requests.forget(viewOf: .main, atLeast: 5)
        #expect(requests.count == 2)
        #expect(
            requests.frames == [.viewRequest(instance: "left", atLeast: 5), .viewRequest(instance: .main, atLeast: 12)])
        requests.forget(viewOf: "left", atLeast: 5)
        requests.forget(viewOf: .main, atLeast: 12)
        #expect(requests.count == 0 && requests.frames == [] && !requests.isWaitingForViews && requests.repeatAt == nil)
        #expect(requests.viewed(.main, 12) == false)
    }

    @Test func `Turns end with their timeline, and of views any will do then`() {
        let current = PageRequest.views(after: 4, in: nil)
        var requests = Self.asked(
            .settle(turn: 9), .settle(turn: 5), .viewRequest(instance: .main, atLeast: 12), pages: [Self.views, current])
        #expect(requests.dropTurns() == [5, 9] && requests.dropTurns() == [])
        #expect(requests.dropPages(otherThan: home) == [])
        #expect(requests.dropPages(otherThan: abroad) == [Self.views])
        #expect(
            requests.frames == [
                .viewRequest(instance: .main, atLeast: 0), .viewsRequest(instance: .main, after: 4),
            ])
        #expect(requests.dropPages(otherThan: nil) == [current])
    }

    @Test func `The same page is asked for once, and answered by no other`() {
        let waiting = PageRequest.outputs(after: Self.place, in: home, waits: true)
        var requests = Self.asked(pages: [Self.views, waiting])
        #expect(requests.add(waiting, of: .main) == false && requests.add(Self.views, of: .main) == false && requests.count == 2)
        #expect(requests.answered(by: .views(ViewPage(after: 4, views: []))) == [])
        let output = EmittedOutput(id: EffectID(turn: 5, ordinal: 0), bytes: [1])
        #expect(requests.answered(by: .outputs(OutputPage(after: EffectID(turn: 3, ordinal: 0), outputs: [output]))) == [])
        #expect(requests.answered(by: .outputs(OutputPage(after: Self.place, outputs: []))) == [], "it waits for an output")
        let lost = OutputPage(after: Self.place, lost: EffectID(turn: 9, ordinal: 0), outputs: [])
        #expect(requests.answered(by: .outputs(lost)) == [waiting] && requests.count == 1)
    }

    @Test func `A turn that nobody waits for any more is waited for when it is asked for again`() {
        var requests = Self.asked(.settle(turn: 5))
        requests.giveUp(5)
        requests.giveUp(6)
        #expect(requests.hasGivenUp(5) && !requests.isWaiting(for: 5) && requests.count == 0)
        #expect(!requests.hasGivenUp(6), "nobody has asked for it")
        requests.add(.settle(turn: 5))
        #expect(requests.isWaiting(for: 5) && !requests.hasGivenUp(5))
        #expect(requests.frames == [.settle(turn: 5)])
    }

    @Test func `When a turn that nobody waits for any more has settled, what is told of it is told of a view`() {
        var requests = Self.asked(.settle(turn: 5), .viewRequest(instance: .main, atLeast: 0))
        requests.giveUp(5)
        #expect(requests.hasGivenUp(5))
        #expect(requests.settled(5) == false)
        #expect(!requests.hasGivenUp(5) && requests.isWaitingForViews)
    }
}
