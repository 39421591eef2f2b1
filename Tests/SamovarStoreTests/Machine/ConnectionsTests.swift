import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Which connection of a peer counts.
@Suite struct ConnectionsTests {
    @Test func `The newest connection wins, in whatever order they are read`() {
        var connections = Connections()
        func isNewest(_ epoch: Int, at route: Route, _ current: Route?) -> Bool {
            connections.isNewest(epoch, of: session(1), at: route, current: current)
        }
        #expect(isNewest(2, at: client(2), nil))
        #expect(!isNewest(1, at: client(1), client(2)), "an older socket's HELLO, which was read late")
        #expect(isNewest(2, at: client(3), client(2)), "as many as before: another process of the same peer")
        #expect(isNewest(1, at: client(3), client(3)), "the socket that it has begins anew")
    }

    @Test func `A greeting that came twice is known, of one connection and no other`() {
        var connections = Connections()
        _ = connections.isNewest(4, of: workerID(1), at: worker(1), current: nil)
        #expect(connections.isRepeated(4, of: workerID(1), at: worker(1), current: worker(1)))
        #expect(!connections.isRepeated(4, of: workerID(1), at: worker(2), current: worker(1)))
        #expect(!connections.isRepeated(5, of: workerID(1), at: worker(1), current: worker(1)))
        connections.forget(workerID(1))
        #expect(!connections.isRepeated(4, of: workerID(1), at: worker(1), current: worker(1)) && connections.isEmpty)
    }

    @Test func `Routes are told in order, and who was at one`() {
        var connections = Connections()
        for number in [3, 1, 2] as [UInt8] { connections.connect(session(number), .local, at: client(number)) }
        #expect(connections.routes == [client(1), client(2), client(3)] && connections.count == 3)
        #expect(connections.disconnect(client(1)) == session(1) && connections.disconnect(client(1)) == nil)
        #expect(connections[client(2)] == session(2) && connections[client(1)] == nil && connections.count == 2)
    }

    @Test func `Routes are ordered by their sockets, then local ones before remote ones, then by their ids`() {
        var routes: [Route] = []
        for listener in Listener.allCases {
            for isRemote in [false, true] {
                for number in [1, 2] as [UInt8] { routes.append(Route(listener: listener, id: [0, number], isRemote: isRemote)) }
            }
        }
        for (place, route) in routes.enumerated() {
            for (otherPlace, other) in routes.enumerated() {
                #expect((route < other) == (place < otherPlace), "\(route) and \(other)")
            }
        }
    }
}
