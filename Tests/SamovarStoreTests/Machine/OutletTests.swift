import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The way out: what leaves, when, and in which order.
@Suite struct OutletTests {
    private var out = Self.outlet()

    private static func outlet(isFenced: Bool = false) -> Outlet {
        Outlet(StoreIdentity(timeline: home, secret: workshopSecret, build: "test", durability: "none", isFenced: isFenced))
    }

    private mutating func taken() -> [String] {
        out.takeActions().map { action in
            switch action {
            case .send(let envelope, _), .publish(let envelope, _): "\(envelope.frame.kind)"
            case .note(let note): note.text
            default: "other"
            }
        }
    }

    @Test mutating func `What tells of a turn leaves with its commit, in order, and the rest at once`() {
        out.begin(durable: 4)
        out.send(.acknowledge([]), to: worker(1), floor: .turn(4))
        out.send(.cancel([], number: 1), to: worker(1), floor: .turn(5))
        out.send(.drain, to: worker(1), floor: .none)
        out.publish(.goodbye, of: .main, floor: .turn(7))
        #expect(taken() == ["acknowledge", "drain"] && taken() == [] && out.durable == 4)
        out.committed(through: 6)
        #expect(taken() == ["cancel"] && out.durable == 6)
        out.committed(through: 7)
        #expect(taken() == ["goodbye"])
    }

    @Test mutating func `What waits for a connection that is gone does not leave when its peer is back there`() {
        out.send(.acknowledge([]), to: worker(1), floor: .turn(1))
        out.send(.cancel([], number: 1), to: worker(2), floor: .turn(1))
        out.send(.error(.superseded), to: worker(1), floor: .turn(1))
        out.mute(worker(1))
        out.open(worker(1))
        out.send(.drain, to: worker(1), floor: .turn(2))
        out.committed(through: 2)
        #expect(taken() == ["cancel", "error", "drain"])
    }

    @Test mutating func `What waits for a connection that is gone does not leave after a doubt either`() {
        out.send(.acknowledge([]), to: worker(1), floor: .turn(1))
        out.mute(worker(1))
        out.hold(true)
        out.committed(through: 1)
        out.hold(false)
        #expect(taken() == [])
    }

    @Test mutating func `What waits for a connection leaves, also if its peer speaks again while another connection is gone`() {
        for number: UInt8 in 1...2 { out.send(.cancel([], number: 1), to: worker(number), floor: .turn(1)) }
        out.mute(worker(1))
        out.open(worker(2))
        out.committed(through: 1)
        let sent = out.takeActions().compactMap { if case .send(_, let route) = $0 { route } else { nil } }
        #expect(sent == [worker(2)])
    }

    @Test mutating func `A connection that was gone is like any other when what waited for it is on disk`() {
        out.send(.acknowledge([]), to: worker(1), floor: .turn(2))
        out.mute(worker(1))
        out.committed(through: 1)
        out.send(.pong(0), to: worker(1), floor: .none)
        out.committed(through: 2)
        out.send(.drain, to: worker(1), floor: .none)
        #expect(taken() == ["drain"])
    }

    @Test mutating func `What waits for a connection whose key was refused does not leave, whoever is refused after it`() {
        for number: UInt8 in 1...2 { out.send(.cancel([], number: 1), to: worker(number), floor: .turn(1)) }
        for number: UInt8 in 1...2 { out.close(worker(number), .superseded) }
        out.committed(through: 1)
        #expect(taken() == ["error", "error"])
    }

    @Test mutating func `Of refused connections 10,000 are remembered at most, so that they cannot fill the memory`() {
        func route(_ number: Int) -> Route { Route(listener: .work, id: [UInt8(number >> 8), UInt8(number & 0xff)]) }
        out.close(route(0), .superseded)
        out.send(.drain, to: route(0), floor: .none)
        let before = taken()
        for number in 1...10_001 { out.close(route(number), .superseded) }
        _ = taken()
        out.send(.drain, to: route(0), floor: .none)
        #expect(before == ["error"] && taken() == ["drain"])
    }

    @Test mutating func `The bytes of views for each peer of the network are counted, also those of pages, until they are taken`() {
        let page = ViewPage(after: 0, views: [TurnView(turn: 1, bytes: [1, 2]), TurnView(turn: 2, bytes: [3])])
        for route in [remoteClient(1), client(2)] {
            out.send(.view(instance: .main, turn: 2, bytes: [1, 2, 3, 4]), to: route, floor: .none)
            out.send(.views(page), to: route, floor: .none)
            out.send(.pong(0), to: route, floor: .none)
        }
        out.send(.views(page), to: remoteClient(2), floor: .none)
        let counted = out.takeViewBytes()
        let rest = out.takeViewBytes()
        #expect(counted == [remoteClient(1): 7, remoteClient(2): 3] && rest.isEmpty)
    }

    @Test mutating func `The newest view that was shown is the newest that has left`() {
        for turn in 1...2 {
            out.publish(.view(instance: .main, turn: turn, bytes: [UInt8(turn)]), of: .main, floor: .turn(turn))
        }
        #expect(out.shown == nil)
        out.committed(through: 1)
        #expect(out.shown == TurnView(turn: 1, bytes: [1]))
    }

    @Test mutating func `A proof is of the turn that a frame waits for, or of the newest on disk`() {
        out.begin(durable: 3)
        for floor in [Floor.none, .turn(2)] { out.send(.pong(0), isProven: true, to: client(1), floor: floor) }
        let proofs = out.takeActions().compactMap { action -> Int? in
            guard case .send(let envelope, _) = action else { return nil }
            return envelope.proof?.turn
        }
        #expect(proofs == [3, 2])
    }

    @Test mutating func `Noise is counted, and told of less and less`() {
        for _ in 1...9 { out.drop("noise", from: client(1)) }
        #expect(out.droppedFrames == 9)
        #expect(taken() == [1, 2, 4, 8].map { "dropped a message at front: noise (\($0) so far)" })
        out.misuse("what", client(1))
        #expect(taken() == ["error"] && out.droppedFrames == 10)
    }

    @Test mutating func `A turn beyond the journal ends the store only with its proof`() {
        out.begin(durable: 3)
        func hello(_ witness: Int, _ proof: UInt64?) -> Hello {
            Hello(role: .client(session: session(1)), schema: shop, witness: witness, proof: proof)
        }
        func isLost(_ hello: Hello, of timeline: Timeline = home) -> Bool {
            do throws(StopReason) {
                return try !out.admits(hello, of: timeline, start: 1, what: "a client", client(1))
            } catch {
                return error == .lostTail("a client has seen turn 4, the journal ends at 3")
            }
        }
        let proof = out.identity.proof(of: 4).code
        #expect(!isLost(hello(3, out.identity.proof(of: 3).code)) && !isLost(hello(4, nil)) && !isLost(hello(4, proof &+ 1)))
        #expect(!isLost(hello(4, proof), of: Timeline(high: 9, low: 9)) && isLost(hello(4, proof)))
        #expect(out.unprovenWitnesses == 2)
    }

    @Test func `A turn beyond the journal that is proven of a later start is another store's, where there may be one`() {
        func stop(isFenced: Bool, start: Int, isProven: Bool = true) -> StopReason? {
            var out = Self.outlet(isFenced: isFenced)
            out.begin(durable: 3)
            let proof = isProven ? out.identity.proof(of: 4).code : nil
            let hello = Hello(role: .client(session: session(1)), schema: shop, witness: 4, proof: proof, start: start)
            do throws(StopReason) {
                _ = try out.admits(hello, of: home, start: 2, what: "a client", client(1))
                return nil
            } catch {
                return error
            }
        }
        let evidence = "a client has seen turn 4 and knows start 3, the journal of start 2 ends at 3"
        #expect(stop(isFenced: true, start: 3) == .superseded(evidence))
        #expect(StopReason.superseded(evidence).isCuredByRestart && StopReason.superseded(evidence).description.hasSuffix(evidence))
        let lost = StopReason.lostTail("a client has seen turn 4, the journal ends at 3")
        #expect(stop(isFenced: true, start: 2) == lost && stop(isFenced: false, start: 3) == lost)
        #expect(stop(isFenced: true, start: 3, isProven: false) == nil)
    }

    @Test mutating func `Who knows a later start is sent on, and that is told of less and less`() throws {
        func hello(_ start: Int) -> Hello { Hello(role: .client(session: session(1)), schema: shop, start: start) }
        func isSentOn(_ start: Int, of timeline: Timeline = home) throws -> Bool {
            try !out.admits(hello(start), of: timeline, start: 2, what: "a client", client(1))
        }
        #expect(try !isSentOn(0) && !isSentOn(2) && !isSentOn(3, of: abroad))
        #expect(taken() == [] && out.laterStarts == 0)
        for _ in 1...3 { #expect(try isSentOn(3)) }
        let notes = [1, 2].map { "a client knows start 3, and this is start 2: it is sent on (\($0) so far)" }
        #expect(taken() == [notes[0], "error", notes[1], "error", "error"] && out.laterStarts == 3)
    }
}
