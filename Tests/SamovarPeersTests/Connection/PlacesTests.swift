import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Connections to a store that may be at several places, and what becomes of a key that is not taken.
@Suite struct PlacesTests {
    private static let pause = Duration.seconds(8)

    private let me = UniqueID(high: 1, low: 2)

    private func connection(places: Int, longest: Duration = pause) -> Connection {
        var connection = Connection(ConnectionSettings(firstPause: longest, longestPause: longest), random: Random(seed: 1))
        connection.places = places
        return connection
    }

    private func error(_ code: PeerError.Code, wait: Duration = .zero) -> Envelope {
        Envelope(.error(PeerError(code, "because", wait: wait)), timeline: home)
    }

    private let welcome = Envelope(.welcome(Welcome(schema: counter, head: 9, silence: .seconds(6))), timeline: home)

    /// Opens, and loses what it has opened.
    private func fail(_ connection: inout Connection, _ reason: Disconnection = .broken, at seconds: Double) -> Connection.Action {
        #expect(connection.ticked(now: at(seconds)) == .open)
        return connection.disconnected(now: at(seconds), because: reason)
    }

    @Test func `Each place is tried once and at once, and then comes a pause`() {
        var connection = connection(places: 3)
        for _ in 0..<2 {
            _ = fail(&connection, at: 0)
            #expect(connection.state == .lost(until: at(0)))
        }
        _ = fail(&connection, at: 0)
        #expect(connection.deadline.map { $0 > at(0) } == true)
        guard let due = connection.deadline else { return }
        #expect(connection.ticked(now: due) == .open)
        #expect(connection.disconnected(now: due) == .lost(nil))
        #expect(connection.state == .lost(until: due))
    }

    @Test func `After a success there is a pause before the first attempt, and none between the places`() {
        var connection = connection(places: 2)
        _ = connection.ticked(now: at(0))
        _ = connection.received(welcome, now: at(0))
        _ = connection.disconnected(now: at(0))
        guard let due = connection.deadline else { return }
        #expect(due > at(0), "a thousand peers have lost it, too")
        #expect(connection.ticked(now: due) == .open)
        _ = connection.disconnected(now: due)
        #expect(connection.state == .lost(until: due))
    }

    /// How long each attempt waits, if nobody answers.
    private func waits(_ settings: ConnectionSettings, places: Int) -> [Duration] {
        var connection = Connection(settings, random: Random(seed: 1))
        connection.places = places
        var now = at(0)
        return (0..<4).compactMap { _ in
            _ = connection.ticked(now: now)
            guard let due = connection.deadline else { return nil }
            defer {
                _ = connection.ticked(now: due)
                now = connection.deadline ?? due
            }
            return due - now
        }
    }

    @Test func `With a key the handshake has its time before HELLO has its own, unless there is another place to try`() {
        #expect(waits(.client, places: 1) == [.seconds(1), .seconds(2), .seconds(4), .seconds(6)])
        #expect(waits(.keyedClient, places: 1) == [.seconds(21), .seconds(22), .seconds(24), .seconds(26)])
        #expect(waits(.keyedClient, places: 2) == waits(.client, places: 2))
    }

    /// The longest of many pauses after the last of attempts that were lost so many seconds after they began.
    ///
    /// - Parameter isIn: the last one was welcomed.
    private func longestPause(_ settings: ConnectionSettings, after attempts: Double..., isIn: Bool = false) -> Duration {
        var longest = Duration.zero
        for seed in 1...500 as ClosedRange<UInt64> {
            var connection = Connection(settings, random: Random(seed: seed))
            var (now, pause) = (at(0), Duration.zero)
            for (number, seconds) in attempts.enumerated() {
                now = now + pause
                _ = connection.ticked(now: now)
                if isIn, number == attempts.count - 1 { _ = connection.received(welcome, now: now) }
                now = now + .seconds(seconds)
                _ = connection.disconnected(now: now)
                pause = (connection.deadline ?? now) - now
            }
            longest = max(longest, pause)
        }
        return longest
    }

    @Test func `With a key the pause after an attempt in vain may be as long as it took, and no other one`() {
        let pause = longestPause(.keyedClient, after: 5)
        #expect(pause <= .seconds(5) && pause > .seconds(4.5))
        #expect(longestPause(.keyedClient, after: 0.001) <= .milliseconds(20), "nobody was there")
        #expect(longestPause(.keyedClient, after: 5, isIn: true) <= .milliseconds(20))
        #expect(longestPause(.client, after: 0.9) <= .milliseconds(20))
    }

    @Test func `How long an attempt took counts for the pause that follows it, and for no later one`() {
        let pause = longestPause(.keyedClient, after: 0.001, 5)
        #expect(pause <= .seconds(5) && pause > .seconds(4.5), "the short one was before the pause between them")
        #expect(longestPause(.keyedClient, after: 5, 0.001, isIn: true) <= .milliseconds(20), "it was in meanwhile")
    }

    @Test func `Where one of two places refuses at once, the other one is away, and nobody waits for that`() {
        for isFirst in [true, false] {
            var longest = Duration.zero
            for seed in 1...500 as ClosedRange<UInt64> {
                var connection = Connection(.keyedClient, random: Random(seed: seed))
                connection.places = 2
                _ = connection.ticked(now: at(0))
                _ = connection.disconnected(now: at(isFirst ? 5 : 0.001))
                _ = connection.ticked(now: at(5))
                _ = connection.disconnected(now: at(isFirst ? 5.001 : 10))
                let now = at(isFirst ? 5.001 : 10)
                longest = max(longest, (connection.deadline ?? now) - now)
            }
            #expect(longest > .zero && longest <= .milliseconds(20))
        }
    }

    @Test func `HELLO waits twice as long when all places were tried, and not before`() {
        var connection = connection(places: 2, longest: .zero)
        var now = at(0)
        var waits: [Duration] = []
        for _ in 0..<5 {
            _ = connection.ticked(now: now)
            guard let due = connection.deadline else { break }
            waits.append(due - now)
            now = due
            _ = connection.ticked(now: now)
        }
        #expect(waits == [.seconds(1), .seconds(1), .seconds(2), .seconds(2), .seconds(4)])
    }

    @Test func `What a place says of when to come again does not keep the others from being tried`() {
        var connection = connection(places: 2, longest: .zero)
        _ = connection.ticked(now: at(0))
        #expect(connection.received(error(.retryLater, wait: .seconds(3)), now: at(0)) == .lost("because"))
        #expect(connection.state == .lost(until: at(0)))
        #expect(fail(&connection, at: 0) == .lost(nil))
        #expect(connection.state == .lost(until: at(3)))
    }

    @Test func `Places that are found while one is tried are tried in the same round`() {
        var connection = connection(places: 1)
        _ = connection.ticked(now: at(0))
        connection.places = 2
        _ = connection.disconnected(now: at(0))
        #expect(connection.state == .lost(until: at(0)))
    }

    // MARK: Keys

    private let old = Fingerprint(high: 0, low: 1)
    private let new = Fingerprint(high: 0, low: 2)

    /// Opens with a key that is refused.
    private func refuse(_ connection: inout Connection, _ key: Fingerprint?, at time: Timestamp) -> Connection.Action {
        #expect(connection.ticked(now: time) == .open)
        connection.keyShown(key)
        return connection.disconnected(now: time, because: .keyRefused("unknown key"))
    }

    @Test func `A key that no place takes is told once, and tried again after the longest pause`() {
        var connection = connection(places: 1)
        #expect(refuse(&connection, old, at: at(0)) == .checkKey)
        #expect(connection.keyFound(old, now: at(0)) == "unknown key")
        guard let due = connection.deadline else { return }
        #expect((at(4)...at(8)).contains(due))
        #expect(refuse(&connection, old, at: due) == .checkKey)
        #expect(connection.keyFound(old, now: due) == nil)
        #expect(connection.deadline.map { $0 >= due + .seconds(4) } == true)
    }

    @Test func `With another key than was refused a peer comes again at once, and nobody is told`() {
        var connection = connection(places: 1)
        #expect(refuse(&connection, old, at: at(0)) == .checkKey)
        #expect(connection.keyFound(new, now: at(1)) == nil)
        #expect(connection.state == .lost(until: at(1)))
        #expect(connection.ticked(now: at(1)) == .open)
        connection.keyShown(new)
        #expect(connection.received(welcome, now: at(1)) != .none)
        #expect(connection.received(error(.keyRefused), now: at(2)) == .checkKey)
        #expect(connection.keyFound(old, now: at(2)) == nil)
        #expect(connection.state == .lost(until: at(2)), "it was in meanwhile")
    }

    @Test func `It comes again at once but once, whatever its file has after that`() {
        var connection = connection(places: 1)
        var now = at(0)
        for _ in 0..<3 {
            #expect(refuse(&connection, old, at: now) == .checkKey)
            _ = connection.keyFound(new, now: now)
            #expect(connection.state == .lost(until: now))
            #expect(refuse(&connection, new, at: now) == .checkKey)
            _ = connection.keyFound(old, now: now)
            guard let due = connection.deadline else { return }
            #expect((now + .seconds(4)...now + .seconds(8)).contains(due))
            now = due
        }
    }

    @Test func `Without a key, or with a file that has none by now, a peer waits`() {
        for (shown, found) in [(nil, nil), (nil, new), (old, nil)] as [(Fingerprint?, Fingerprint?)] {
            var connection = connection(places: 1)
            #expect(refuse(&connection, shown, at: at(0)) == .checkKey)
            #expect(connection.keyFound(found, now: at(0)) == "unknown key")
            #expect(connection.deadline.map { $0 >= at(4) } == true)
        }
    }

    @Test func `What was found counts for the refusal that it was asked for, and for nothing else`() {
        var connection = connection(places: 1)
        #expect(connection.keyFound(new, now: at(0)) == nil)
        #expect(refuse(&connection, old, at: at(0)) == .checkKey)
        _ = connection.keyFound(old, now: at(0))
        let due = connection.deadline
        #expect(connection.keyFound(new, now: at(1)) == nil)
        #expect(connection.deadline == due)
    }

    @Test func `A key that one place does not take is tried at the others first`() {
        var connection = connection(places: 2)
        #expect(refuse(&connection, old, at: at(0)) == .lost(nil))
        #expect(connection.state == .lost(until: at(0)))
        #expect(connection.ticked(now: at(0)) == .open)
        connection.keyShown(old)
        #expect(connection.disconnected(now: at(0)) == .checkKey, "the other one is away")
        #expect(connection.keyFound(old, now: at(0)) == "unknown key")
        #expect(connection.deadline.map { (at(4)...at(8)).contains($0) } == true)
    }

    @Test func `A key that came while another place was tried is tried where the former one was refused`() {
        var connection = connection(places: 2)
        _ = refuse(&connection, old, at: at(0))
        _ = connection.ticked(now: at(0))
        connection.keyShown(new)
        #expect(connection.disconnected(now: at(0)) == .checkKey)
        #expect(connection.keyFound(new, now: at(0)) == nil)
        #expect(connection.state == .lost(until: at(0)))
    }

    @Test func `A place that takes the key makes the refusal of the one before nobody's concern`() {
        var connection = connection(places: 2)
        _ = fail(&connection, .keyRefused("another key"), at: 0)
        _ = connection.ticked(now: at(0))
        _ = connection.received(welcome, now: at(0))
        #expect(connection.disconnected(now: at(0)) == .lost("the connection broke"))
    }

    @Test func `A store that takes the key away is left, and sought again after the longest pause`() {
        var connection = connection(places: 1)
        _ = connection.ticked(now: at(0))
        _ = connection.received(welcome, now: at(0))
        #expect(connection.received(error(.keyRefused), now: at(0)) == .checkKey)
        #expect(connection.keyFound(nil, now: at(0)) == "because")
        guard let due = connection.deadline else { return }
        #expect((at(4)...at(8)).contains(due))
        #expect(connection.ticked(now: due) == .open)
        #expect(connection.received(welcome, now: due) != .none)
        #expect(connection.received(error(.keyRefused), now: due) == .checkKey)
        #expect(connection.keyFound(nil, now: due) == "because", "it is told anew after a success")
    }

    @Test func `What somebody has to mend is told, each reason once`() {
        var connection = connection(places: 2, longest: .zero)
        #expect(fail(&connection, at: 0) == .lost("the connection broke"))
        #expect(fail(&connection, .impossible("no such name"), at: 0) == .lost("no such name"))
        #expect(fail(&connection, .impossible("no such name"), at: 0) == .lost(nil))
        #expect(fail(&connection, at: 0) == .lost(nil))
    }

    @Test func `Machines tell their hosts of the key, and go on`() {
        var client = ClientMachine(session: me, schema: counter, random: Random(seed: 1))
        _ = client.ticked(now: at(0))
        #expect(client.disconnected(now: at(0), because: .keyRefused("why")) == [.disconnect, .checkKey])
        #expect(client.keyFound(nil, now: at(0)) == [.keyRefused("why")])
        #expect(client.deadline != nil)
        var worker = WorkerMachine(
            WorkerOffer(id: me, slots: 1, queues: [.default]), schema: counter, random: Random(seed: 1))
        _ = worker.ticked(now: at(0))
        #expect(worker.disconnected(now: at(0), because: .keyRefused("why")) == [.disconnect, .checkKey])
        #expect(worker.keyFound(nil, now: at(0)) == [.keyRefused("why")])
        #expect(worker.deadline != nil)
    }

    @Test func `A subscriber tries each place at once, too`() {
        var machine = SubscriberMachine(random: Random(seed: 1))
        machine.places = 2
        _ = machine.ticked(now: at(0))
        _ = machine.disconnected(now: at(0))
        #expect(machine.ticked(now: at(0)) == [.reconnect])
        machine.keyShown(old)
        #expect(machine.disconnected(now: at(0), because: .keyRefused("why")).contains(.checkKey))
        machine.keyFound(old, now: at(0))
        #expect(!machine.ticked(now: at(1)).contains(.reconnect), "the second was the last")
        machine.keyFound(new, now: at(1))
        #expect(machine.ticked(now: at(1)) == [.reconnect])
    }
}
