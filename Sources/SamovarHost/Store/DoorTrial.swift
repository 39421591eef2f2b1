import SamovarWire
import ZeroMQ

/// A store tries its own doors before it serves: whoever has no key, or one that nobody knows, must not come in, and whoever has one must.
///
/// libzmq lets everybody in where its settings miss something, and says nothing. So this is not left to reading the settings.
enum DoorTrial {
    private enum Visitor {
        case withoutKey
        case withUnknownKey(CurveKeyPair)
        case withKey(CurveKeyPair)
    }

    /// Somebody at a door.
    private final class Visit {
        private let visitor: Visitor
        private let address: String
        private var monitor: ConnectionMonitor
        // Behind the monitor, which goes before it.
        private var socket: Socket

        init(
            _ visitor: Visitor, at door: Door, _ address: String, of server: CurvePublicKey, _ context: Context
        ) throws(ZeroMQError) {
            // The view socket talks to subscribers alone.
            var options = door == .view ? SocketOptions.subscriber : .client
            options.security =
                switch visitor {
                case .withoutKey: .none
                case .withUnknownKey(let pair), .withKey(let pair): .curveClient(pair, server: server)
                }
            var socket = try Socket(context, door == .view ? .subscriber : .dealer, options: options)
            monitor = try ConnectionMonitor(socket, in: context)
            try socket.connect(Self.own(address))
            self.socket = socket
            self.visitor = visitor
            self.address = address
        }

        func register(_ poller: inout Poller) { _ = poller.add(monitor) }

        /// False until it is known how it ends.
        ///
        /// - Throws: what is wrong with the door.
        func isOver() throws -> Bool {
            let end = try monitor.connectionEnd()
            switch (visitor, isIn: monitor.wasConnected) {
            case (.withoutKey, isIn: true): throw objection(.configuration, "lets anybody in")
            case (.withUnknownKey, isIn: true): throw objection(.configuration, "lets every key in")
            case (.withKey, isIn: true): return true
            // However it ends: whether the door answers at all is seen from the other one.
            case (.withoutKey, isIn: false), (.withUnknownKey, isIn: false): return end != nil
            case (.withKey, isIn: false):
                if end == nil { return false }
                throw objection(.inputOutput, "does not let a key in that it knows")
            }
        }

        private func objection(_ code: StoreError.Code, _ what: String) -> StoreError {
            StoreError(code, "the store does not serve: its door at \(address) \(what)")
        }

        /// Where the store itself reaches what it is bound to.
        private static func own(_ address: String) -> String {
            for (all, own) in [
                ("tcp://*:", "tcp://127.0.0.1:"), ("tcp://0.0.0.0:", "tcp://127.0.0.1:"), ("tcp://[::]:", "tcp://[::1]:"),
            ]
            where address.hasPrefix(all) {
                return own + address.dropFirst(all.count)
            }
            return address
        }
    }

    private static let limit = Duration.seconds(10)

    /// - Throws: `StoreError` that names the door.
    static func run(
        _ context: Context, at doors: [(door: Door, address: String)], of server: CurvePublicKey, _ gate: KeyGate
    ) throws {
        do {
            let known = try CurveKeyPair()
            let visitors: [Visitor] = [.withoutKey, .withUnknownKey(try CurveKeyPair()), .withKey(known)]
            try gate.admitting(known.publicKey) {
                var visits: [Visit] = []
                for (door, address) in doors {
                    for visitor in visitors { visits.append(try Visit(visitor, at: door, address, of: server, context)) }
                }
                try wait(for: visits)
            }
        } catch let error as ZeroMQError {
            throw StoreError(.inputOutput, "the store cannot try its doors: \(error)")
        }
    }

    private static func wait(for visits: [Visit]) throws {
        var poller = Poller()
        for visit in visits { visit.register(&poller) }
        var left = visits
        let end = ContinuousClock.now + limit
        while !left.isEmpty {
            guard ContinuousClock.now < end else {
                throw StoreError(.inputOutput, "the store does not serve: its doors do not answer")
            }
            try poller.wait(timeoutMilliseconds: 100)
            left = try left.filter { try !$0.isOver() }
        }
    }
}
