import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// More clients than a store takes at a time.
@Suite struct StoreOverflowTests {
    private static func rig(_ limit: Int, _ keys: Key...) throws -> Rig {
        var settings = StoreSettings()
        settings.clients = limit
        return try Rig(settings, keys: KeyTable(keys))
    }

    private func wait(_ frames: [Frame]) -> Duration? {
        for case .error(let error) in frames where error.code == .retryLater { return error.wait }
        return nil
    }

    @Test func `A client beyond the limit is told to come later, and gets in when another has left`() throws {
        let rig = try Self.rig(2)
        rig.connectClient(1)
        rig.connectClient(2)
        let refused = rig.connectClient(3)
        #expect(refused.errorTexts == ["2 clients are connected, which is the limit of the store"])
        #expect(wait(refused) == .seconds(5))
        #expect(rig.takeNotes().contains("2 clients are connected, and no more are taken until some leave (1 sent away so far)"))
        rig.exchange(.goodbye, from: client(2))
        #expect(rig.connectClient(3, epoch: 2).isWelcome)
    }

    @Test func `One that has fallen silent makes room, too`() throws {
        let rig = try Self.rig(1)
        rig.connectClient(1)
        for _ in 0..<8 { rig.tick(.seconds(1)) }
        #expect(rig.connectClient(2).isWelcome)
    }

    @Test func `Who is in may say HELLO again, at the same connection or at another`() throws {
        let rig = try Self.rig(1)
        rig.connectClient(1)
        #expect(rig.connectClient(1, epoch: 2).isWelcome)
        #expect(rig.connectClient(1, epoch: 3, at: client(9)).isWelcome)
        // Another session at that connection, in place of the first.
        #expect(rig.connectClient(2, at: client(9)).isWelcome)
        #expect(rig.machine.clients.connections.count == 1)
    }

    @Test func `Workers and operators get in all the same`() throws {
        let rig = try Self.rig(1, key(1, "shop", .client), key(2, "boss", .operator), key(3, "mill", .worker))
        #expect(rig.greetClient(1, by: by(1)).isWelcome)
        #expect(rig.greetClient(2, by: by(1)).errors == [.retryLater])
        #expect(rig.greetClient(3, by: by(2)).isWelcome)
        #expect(rig.greetWorker(1, by: by(3)).isWelcome)
        #expect(rig.ask("status")?.value["maximumClients"] == 1)
    }

    @Test func `The more were sent away, the later each is to come, up to a minute`() throws {
        let rig = try Self.rig(1)
        rig.connectClient(1)
        var waits: [Duration] = []
        for number in 0..<7_000 {
            let id = SessionID(high: 7, low: UInt64(number))
            let route = Route(listener: .front, id: [1, UInt8(number >> 8), UInt8(number & 255)])
            let hello = Hello(role: .client(session: id), schema: shop, epoch: 1)
            waits.append(try #require(wait(rig.exchange(.hello(hello), from: route))))
        }
        #expect(waits[0] == .seconds(5) && waits[499] == .seconds(5) && waits[6_999] == .seconds(60))
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 <= $1 })
        // A hundred in each second, as long as there is room within a minute, and no two of them at once.
        #expect(waits[600] == .seconds(6) && waits[601] == .milliseconds(6_010))
        #expect(waits.count { $0 >= .seconds(10) && $0 < .seconds(11) } == 100)
        // Those that are to come have come, and nobody else waits.
        rig.tick(.seconds(56))
        rig.connectClient(1, epoch: 2)
        #expect(wait(rig.connectClient(2)) == .seconds(5))
    }

    @Test func `The session of a client that is sent away is kept for it`() throws {
        var settings = StoreSettings()
        (settings.clients, settings.sessionIdle) = (1, .seconds(10))
        let rig = try Rig(settings)
        rig.connectClient(1)
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 0..<8 { rig.tick(.seconds(1)) }
        rig.connectClient(2)
        #expect(rig.connectClient(1, epoch: 2).errors == [.retryLater])
        for _ in 0..<8 {
            rig.tick(.seconds(1))
            rig.exchange(.ping(0), from: client(2))
        }
        #expect(rig.durable.sessions.sessions[session(1)] != nil)
    }
}
