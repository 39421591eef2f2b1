import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// One test per row of the table of `Connection`.
@Suite struct ConnectionTests {
    private func idle() -> Connection {
        Connection(ConnectionSettings(firstPause: .zero, longestPause: .zero), random: Random(seed: 1))
    }

    private func greeting() -> Connection {
        var connection = idle()
        _ = connection.ticked(now: at(0))
        return connection
    }

    private func welcomed() -> Connection {
        var connection = greeting()
        _ = connection.received(welcome(), now: at(0))
        return connection
    }

    private func lost() -> Connection {
        var connection = welcomed()
        _ = connection.disconnected(now: at(0))
        return connection
    }

    private func closed() -> Connection {
        var connection = welcomed()
        connection.close()
        return connection
    }

    private func welcome(silence: Duration = .seconds(6)) -> Envelope {
        Envelope(.welcome(Welcome(schema: counter, head: 9, silence: silence)), timeline: home)
    }

    private func error(_ code: PeerError.Code, wait: Duration = .zero, of timeline: Timeline = home) -> Envelope {
        Envelope(.error(PeerError(code, "because", expected: 5, wait: wait)), timeline: timeline)
    }

    // MARK: Ticks

    @Test func `The first tick opens`() {
        var connection = idle()
        let action = connection.ticked(now: at(0))
        let state = connection.state
        #expect(action == .open)
        #expect(state == .greeting(until: at(1)))
    }

    @Test func `Greeting waits and then is lost`() {
        var connection = greeting()
        let early = connection.ticked(now: at(0.9))
        let due = connection.ticked(now: at(1))
        let state = connection.state
        #expect(early == .none)
        #expect(due == .lost("no WELCOME within 1.0 seconds"))
        #expect(state == .lost(until: at(1)))
    }

    @Test func `Each attempt waits twice as long up to the silence`() {
        var connection = greeting()
        var now = at(0)
        var waits: [Duration] = []
        for _ in 0..<5 {
            guard let due = connection.deadline else { break }
            waits.append(due - now)
            now = due
            _ = connection.ticked(now: now)
            _ = connection.ticked(now: now)
        }
        #expect(waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(6), .seconds(6)])
    }

    @Test func `The reason is told only once`() {
        var connection = lost()
        _ = connection.ticked(now: at(0))
        let again = connection.disconnected(now: at(0))
        #expect(again == .lost(nil))
    }

    @Test func `Of reasons that differ each time 32 are told, and others when WELCOME has come`() {
        var connection = greeting()
        var told: [String] = []
        for number in 1...40 {
            let action = connection.disconnected(now: at(0), because: .impossible("reason \(number)"))
            if case .lost(let reason?) = action { told.append(reason) }
            _ = connection.ticked(now: at(0))
        }
        #expect(told == (1...32).map { "reason \($0)" })
        _ = connection.received(welcome(), now: at(0))
        let later = connection.disconnected(now: at(0), because: .impossible("reason 40"))
        #expect(later == .lost("reason 40"))
    }

    @Test(arguments: [true, false])
    func `Welcomed pings each second, whatever is heard`(_ isAnswered: Bool) {
        var connection = welcomed()
        var pings: [Double] = []
        for quarter in 1...23 {
            let now = Double(quarter) / 4
            #expect(connection.deadline == at(now.rounded(.up)))
            if connection.ticked(now: at(now)) == .ping { pings.append(now) }
            if isAnswered { _ = connection.received(Envelope(.pong(0), timeline: home), now: at(now)) }
        }
        #expect(pings == [1, 2, 3, 4, 5])
    }

    @Test func `Welcomed is lost after silence`() {
        var connection = welcomed()
        let due = connection.ticked(now: at(6))
        #expect(due == .lost("silent for 6.0 seconds"))
    }

    @Test func `Any frame is a sign of life`() {
        var connection = welcomed()
        _ = connection.received(Envelope(.pong(0), timeline: home), now: at(5))
        let action = connection.ticked(now: at(6))
        #expect(action == .ping, "it is not lost")
    }

    @Test func `Lost opens another when the pause is over`() {
        var connection = welcomed()
        _ = connection.received(error(.retryLater, wait: .seconds(2)), now: at(0))
        let early = connection.ticked(now: at(1.9))
        let due = connection.ticked(now: at(2))
        #expect(early == .none)
        #expect(due == .open)
    }

    @Test func `Closed stays closed`() {
        var connection = closed()
        let ticked = connection.ticked(now: at(100))
        let received = connection.received(welcome(), now: at(100))
        let disconnected = connection.disconnected(now: at(100))
        let deadline = connection.deadline
        #expect(ticked == .none)
        #expect(received == .none)
        #expect(disconnected == .none)
        #expect(deadline == nil)
    }

    // MARK: The transport

    @Test func `A broken connection is lost`() {
        var greeting = greeting()
        let first = greeting.disconnected(now: at(0))
        var welcomed = welcomed()
        let second = welcomed.disconnected(now: at(0))
        #expect(first == .lost("the connection broke"))
        #expect(second == .lost("the connection broke"))
    }

    @Test func `Without a connection nothing breaks`() {
        var idle = idle()
        let first = idle.disconnected(now: at(0))
        var lost = lost()
        let second = lost.disconnected(now: at(0))
        #expect(first == .none)
        #expect(second == .none)
    }

    // MARK: Frames

    @Test func `Welcome ends the greeting`() {
        var connection = greeting()
        let action = connection.received(welcome(), now: at(0.5))
        let state = connection.state
        let timeline = connection.timeline
        #expect(action == .welcomed(Welcome(schema: counter, head: 9, silence: .seconds(6)), left: nil))
        #expect(state == .welcomed(heard: at(0.5), pinged: at(0.5)))
        #expect(timeline == home)
    }

    @Test func `Welcome of another timeline names the one that is left`() {
        var connection = lost()
        _ = connection.ticked(now: at(0))
        let welcome = Welcome(schema: counter, head: 1, silence: .seconds(6))
        let action = connection.received(Envelope(.welcome(welcome), timeline: abroad), now: at(0))
        #expect(action == .welcomed(welcome, left: home))
    }

    @Test func `A silence that no ping could fill is not believed`() {
        var connection = greeting()
        _ = connection.received(welcome(silence: .zero), now: at(0))
        let silence = connection.silence
        #expect(silence == .seconds(2))
    }

    @Test func `A second welcome is dropped`() {
        var connection = welcomed()
        let action = connection.received(welcome(), now: at(0))
        #expect(action == .note("dropped a WELCOME that was not asked for"))
    }

    @Test(arguments: [PeerError.Code.schema, .misuse, .superseded, .sessionExpired, .forbidden])
    func `A final error closes`(_ code: PeerError.Code) {
        var greeting = greeting()
        let first = greeting.received(error(code), now: at(0))
        var welcomed = welcomed()
        let second = welcomed.received(error(code), now: at(0))
        let state = welcomed.state
        #expect(first == .refused(PeerError(code, "because", expected: 5)))
        #expect(second == .refused(PeerError(code, "because", expected: 5)))
        #expect(state == .closed)
    }

    @Test func `Retry later waits`() {
        var connection = greeting()
        let action = connection.received(error(.retryLater, wait: .seconds(3)), now: at(0))
        let state = connection.state
        #expect(action == .lost("because"))
        #expect(state == .lost(until: at(3)))
    }

    @Test func `No store can send a peer away for long`() {
        var first = greeting()
        _ = first.received(error(.retryLater, wait: .seconds(1_000_000)), now: at(0))
        let long = first.state
        var second = greeting()
        _ = second.received(error(.retryLater, wait: .seconds(-5)), now: at(0))
        let negative = second.state
        #expect(long == .lost(until: at(60)))
        #expect(negative == .lost(until: at(0)))
    }

    @Test func `An unknown peer greets again`() {
        var connection = welcomed()
        let action = connection.received(error(.unknownPeer, of: abroad), now: at(3))
        let state = connection.state
        let epoch = connection.epoch
        #expect(action == .greet)
        #expect(state == .greeting(until: at(4)))
        #expect(epoch == 2)
    }

    @Test func `An unknown peer that greets goes on`() {
        var connection = greeting()
        let action = connection.received(error(.unknownPeer), now: at(0.5))
        let state = connection.state
        #expect(action == .none)
        #expect(state == .greeting(until: at(1)))
    }

    @Test func `Resync is for the owner`() {
        var welcomed = welcomed()
        let first = welcomed.received(error(.resync), now: at(0))
        var greeting = greeting()
        let second = greeting.received(error(.resync), now: at(0))
        #expect(first == .deliver(.error(PeerError(.resync, "because", expected: 5))))
        #expect(second == .none)
    }

    @Test func `Goodbye is a loss`() {
        var greeting = greeting()
        let first = greeting.received(Envelope(.goodbye, timeline: home), now: at(0))
        var welcomed = welcomed()
        let second = welcomed.received(Envelope(.goodbye, timeline: home), now: at(0))
        #expect(first == .lost("the store closes"))
        #expect(second == .lost("the store closes"))
    }

    @Test func `It wakes for the next thing to do, and for nothing once it is closed`() {
        #expect(idle().deadline == Timestamp(microseconds: .min))
        #expect(greeting().deadline == at(1) && lost().deadline == at(0) && closed().deadline == nil)
        var connection = welcomed()
        #expect(connection.deadline == at(1), "a PING")
        _ = connection.ticked(now: at(5.5))
        #expect(connection.deadline == at(6), "silence")
        _ = connection.received(Envelope(.pong(0), timeline: home), now: at(5))
        #expect(connection.deadline == at(6.5))
    }

    @Test func `It is welcomed from WELCOME to the loss`() {
        #expect(!idle().isWelcomed && !greeting().isWelcomed && welcomed().isWelcomed && !lost().isWelcomed)
    }

    @Test func `A success begins anew: the first loss has its reason, and the next HELLO the first patience`() {
        var connection = greeting()
        for now in [1, 3, 7] as [Double] {
            _ = connection.ticked(now: at(now))
            _ = connection.ticked(now: at(now))
        }
        #expect(connection.state == .greeting(until: at(13)) && connection.epoch == 4)
        _ = connection.received(welcome(), now: at(8))
        #expect(connection.disconnected(now: at(8)) == .lost("the connection broke"))
        _ = connection.ticked(now: at(8))
        #expect(connection.state == .greeting(until: at(9)))
    }

    @Test func `An error is a sign of life, and a second RETRY LATER has no reason to be told`() {
        var connection = welcomed()
        _ = connection.received(error(.resync), now: at(5))
        _ = connection.ticked(now: at(5.5))
        #expect(connection.ticked(now: at(6)) == .none && connection.ticked(now: at(11)) == .lost("silent for 6.0 seconds"))
        _ = connection.ticked(now: at(11))
        #expect(connection.received(error(.retryLater), now: at(11)) == .lost(nil))
    }

    @Test func `A peer of an earlier process goes on with its timeline and its epochs`() {
        var connection = Connection(
            ConnectionSettings(firstPause: .zero, longestPause: .zero), random: Random(seed: 1), timeline: abroad, epoch: 40)
        #expect(connection.timeline == abroad && connection.ticked(now: at(0)) == .open && connection.epoch == 41)
        let action = connection.received(welcome(), now: at(0))
        #expect(action == .welcomed(Welcome(schema: counter, head: 9, silence: .seconds(6)), left: abroad))
        #expect(connection.timeline == home)
    }

    @Test func `A ping is answered`() {
        var connection = welcomed()
        let action = connection.received(Envelope(.ping(3), timeline: home), now: at(0))
        #expect(action == .answer(.pong(3)))
    }

    @Test func `Another timeline is no sign of life`() {
        var connection = welcomed()
        let action = connection.received(Envelope(.pong(0), timeline: abroad), now: at(5))
        let ticked = connection.ticked(now: at(6))
        #expect(action == .note("dropped a pong of another timeline"))
        #expect(ticked == .lost("silent for 6.0 seconds"))
    }

    @Test(arguments: FrameExample.all)
    func `Every frame has its answer in every state`(_ example: FrameExample) {
        let frame = Envelope(example.envelope.frame, timeline: home)
        var idle = idle()
        var greeting = greeting()
        var welcomed = welcomed()
        var lost = lost()
        var closed = closed()
        let answers = [
            idle.received(frame, now: at(0)), lost.received(frame, now: at(0)), closed.received(frame, now: at(0)),
        ]
        #expect(answers == [.none, .none, .none])
        _ = greeting.received(frame, now: at(0))
        _ = welcomed.received(frame, now: at(0))
    }
}
