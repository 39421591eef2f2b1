import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Requests for pages of what goes on.
@Suite struct ClientPageTests {
    static func welcomed() -> ClientMachine {
        var machine = ClientMachine(
            session: SessionID(high: 5, low: 5), schema: counter,
            settings: ClientMachine.Settings(
                connection: ConnectionSettings(firstPause: .zero, longestPause: .zero), requests: 2),
            random: Random(seed: 1))
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(), now: at(0))
        return machine
    }

    static func welcome(of timeline: Timeline = home) -> Envelope {
        Envelope(
            .welcome(Welcome(schema: counter, expected: 1, credit: 9, head: 9, silence: .seconds(6))), timeline: timeline)
    }

    static let place = EffectID(turn: 4, ordinal: 1)
    static let request = PageRequest.outputs(after: place, in: home, waits: true)
    static let asked = ClientMachine.Action.send(
        Envelope(.outputsRequest(instance: .main, after: place, waits: true), timeline: home))
    static let page = OutputPage(after: place, outputs: [EmittedOutput(id: EffectID(turn: 5, ordinal: 0), bytes: [1])])
    static let away = Timeline(high: 9, low: 9)

    @Test func `A page that was asked for is told once`() throws {
        var machine = Self.welcomed()
        let sent = try machine.request(Self.request, now: at(0))
        #expect(sent == [Self.asked])
        let told = machine.received(Envelope(.outputs(Self.page), timeline: home), now: at(1))
        #expect(told == [.page(Self.request, .outputs(Self.page))])
        let again = machine.received(Envelope(.outputs(Self.page), timeline: home), now: at(1))
        #expect(again == [])
    }

    @Test func `A request that comes before the store has welcomed the client is asked after that`() throws {
        var machine = ClientMachine(session: SessionID(high: 5, low: 5), schema: counter, random: Random(seed: 1))
        let before = try machine.request(Self.request, now: at(0))
        #expect(before == [])
        _ = machine.ticked(now: at(0))
        let welcomed = machine.received(Self.welcome(), now: at(0))
        #expect(welcomed.filter { $0 == Self.asked }.count == 1)
    }

    @Test func `An empty page is no answer for who waits`() throws {
        var machine = Self.welcomed()
        _ = try machine.request(Self.request, now: at(0))
        let impatient = PageRequest.outputs(after: Self.place, in: home, waits: false)
        _ = try machine.request(impatient, now: at(0))
        let empty = OutputPage(after: Self.place, outputs: [])
        let told = machine.received(Envelope(.outputs(empty), timeline: home), now: at(1))
        #expect(told == [.page(impatient, .outputs(empty))])
    }

    @Test func `Who asks for a page of views is told why there is none, and who asks for outputs is not`() throws {
        var machine = Self.welcomed()
        let off = Envelope(.waiting(turn: 9, on: "`view` has trapped"), timeline: home)
        _ = try machine.request(Self.request, now: at(0))
        let ofOutputs = machine.received(off, now: at(0))
        #expect(ofOutputs == [])
        _ = try machine.request(.views(after: 3, in: home), now: at(0))
        let ofViews = machine.received(off, now: at(0))
        #expect(ofViews == [.noView("`view` has trapped")])
    }

    @Test func `A request is repeated after a reconnect and after a silence`() throws {
        var machine = Self.welcomed()
        _ = try machine.request(Self.request, now: at(0))
        let silent = machine.received(Envelope(.pong(9), timeline: home), now: at(5)) + machine.ticked(now: at(6))
        #expect(silent.contains(Self.asked))
        _ = machine.disconnected(now: at(7))
        _ = machine.ticked(now: at(8))
        let welcomed = machine.received(Self.welcome(), now: at(8))
        #expect(welcomed.contains(Self.asked))
    }

    @Test func `A place of another timeline has no page, whenever that is found out`() throws {
        var machine = Self.welcomed()
        let known = try machine.request(.views(after: 3, in: Self.away), now: at(0))
        #expect(known == [.pageless(.views(after: 3, in: Self.away), .timelineChanged)])
        _ = try machine.request(Self.request, now: at(0))
        _ = try machine.request(.views(after: ViewPage.now, in: nil), now: at(0))
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(2))
        let moved = machine.received(Self.welcome(of: Self.away), now: at(2))
        #expect(moved.contains(.pageless(Self.request, .timelineChanged)))
        let still = Envelope(.viewsRequest(instance: .main, after: ViewPage.now), timeline: Self.away)
        #expect(moved.contains(.send(still)), "whoever wants the current view does not care of which journal")
    }

    @Test func `A client has room for as many requests as its limit says, and for none once it has ended`() throws {
        var machine = Self.welcomed()
        var room = [machine.hasRoomForRequest]
        for turn in 3...4 {
            _ = try machine.request(.views(after: turn, in: home), now: at(0))
            room.append(machine.hasRoomForRequest)
        }
        _ = machine.close()
        room.append(machine.hasRoomForRequest)
        #expect(room == [true, true, false, false])
    }

    @Test func `Requests are limited, forgotten when nobody waits, and answered when the client ends`() throws {
        var machine = Self.welcomed()
        _ = try machine.request(Self.request, now: at(0))
        _ = try machine.request(.views(after: 3, in: home), now: at(0))
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.request(.views(after: 4, in: home), now: at(0)) }
        machine.forget(.views(after: 3, in: home))
        let again = try machine.request(.views(after: 4, in: home), now: at(0))
        #expect(again.count == 1)
        let ended = machine.close()
        #expect(ended.contains(.pageless(Self.request, .closed)) && ended.contains(.pageless(.views(after: 4, in: home), .closed)))
        #expect(throws: ClientMachine.SubmitError.closed) { try machine.request(Self.request, now: at(2)) }
    }
}
