import Foundation
import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire
import Testing
import ZeroMQ

@testable import SamovarHost

/// A peer's socket goes from place to place, and waits for no name.
struct PeerSocketTests {
    private let context: Context
    private let pong = Envelope(.pong(0), timeline: .zero)

    init() throws { context = try Context() }

    private func socket(_ targets: [ConnectionPlan.Target], port: String = "1", _ resolver: Resolver = .shared) -> PeerSocket {
        PeerSocket(context, .dealer, .client, ConnectionPlan(targets), nil, resolver) {
            $0.address.hasPrefix("tcp") ? $0.address : "tcp://\($0.address):\(port)"
        }
    }

    @Test func `What is sent while a name is looked up leaves when its place is connected`() throws {
        var listener = try Listener(context)
        let oracle = ResolverTests.Oracle()
        let resolver = Resolver { name in
            _ = oracle.lookUp(name)
            return Resolver.Answer(name, addresses: ["127.0.0.1"])
        }
        var poller = Poller()
        var socket = socket([.name("store")], port: listener.port, resolver)
        try socket.connect(&poller)
        try socket.send(pong.parts)
        #expect(try socket.turn(&poller, seconds: 0.1) == nil)
        let isWaiting = !socket.isEmpty
        #expect(isWaiting)
        oracle.release("store")
        let end = try socket.turn(&poller) { try listener.answer(.pong(0)) && false }
        let (isSent, received) = (socket.isEmpty, socket.receivedBytes)
        #expect(end == nil && isSent && received > 0)
    }

    @Test func `A name that hangs ends with its attempt, and its late answer is for the next one`() throws {
        var listener = try Listener(context)
        let oracle = ResolverTests.Oracle()
        let resolver = Resolver { name in
            _ = oracle.lookUp(name)
            return Resolver.Answer(name, addresses: ["127.0.0.1"])
        }
        var poller = Poller()
        var socket = socket([.name("slow"), .address("tcp://127.0.0.1:1")], port: listener.port, resolver)
        try socket.connect(&poller)
        #expect(try socket.turn(&poller, seconds: 0.05) == nil)
        // The machine has lost its patience.
        try socket.connect(&poller)
        #expect(try socket.turn(&poller) == .broken, "nobody is at port 1")
        oracle.release("slow")
        #expect(try socket.turn(&poller, seconds: 0.1) == nil)
        try socket.connect(&poller)
        try socket.send(pong.parts)
        _ = try socket.turn(&poller) { try listener.answer(.pong(0)) && false }
        let received = socket.receivedBytes
        #expect(received > 0)
        #expect(oracle.asked == ["slow"])
    }

    @Test func `A name without an address fails its attempt at once, with the reason`() throws {
        var poller = Poller()
        var socket = socket([.name("a..b")])
        try socket.connect(&poller)
        guard case .impossible(let reason)? = try socket.turn(&poller) else { return #expect(Bool(false), "it is told") }
        #expect(reason.hasPrefix("the name a..b cannot be looked up: "))
    }

    @Test func `An attempt for which no descriptor is left is told as one that failed, and the next one is made`() async {
        // In a process of its own, for the others want some.
        await #expect(processExitsWith: .success) {
            let context = try Context()
            var poller = Poller()
            var named = PeerSocket(
                context, .dealer, .client, ConnectionPlan([.name("store")]), nil, Resolver { Resolver.Answer($0) }
            ) { $0.address }
            let nobody = ConnectionPlan([.address("tcp://127.0.0.1:1")])
            var keyed = PeerSocket(context, .dealer, .client, nobody, keyFile: "/nowhere/guest.key", nil, .shared) { $0.address }
            let free = open("/dev/null", O_RDONLY)
            close(free)
            let former = limitDescriptors(to: rlim_t(free))
            try named.connect(&poller)
            try keyed.connect(&poller)
            let ends = [try named.turn(&poller), try keyed.turn(&poller)]
            _ = limitDescriptors(to: former)
            for end in ends {
                if case .impossible? = end { continue }
                Issue.record("\(String(describing: end))")
            }
            try named.connect(&poller)
            let next = try named.turn(&poller)
            #expect(next == .impossible("the name store has no address"))
        }
    }

    @Test func `A place that has answered is tried again first, and one that only sends away is left`() throws {
        var first = try Listener(context)
        var second = try Listener(context)
        var poller = Poller()
        var socket = socket([.address("tcp://127.0.0.1:\(first.port)"), .address("tcp://127.0.0.1:\(second.port)")])
        func ask(_ socket: inout PeerSocket, _ poller: inout Poller, of listener: inout Listener, _ frame: Frame) throws {
            try socket.connect(&poller)
            try socket.send(pong.parts)
            let before = socket.receivedBytes
            _ = try socket.turn(&poller) { try listener.answer(frame) && false }
            let after = socket.receivedBytes
            #expect(after > before)
        }
        try ask(&socket, &poller, of: &first, .error(PeerError(.retryLater, "no")))
        try ask(&socket, &poller, of: &second, .pong(0))
        try ask(&socket, &poller, of: &second, .pong(0))
        try ask(&socket, &poller, of: &second, .error(PeerError(.retryLater, "no")))
        try ask(&socket, &poller, of: &first, .pong(0))
        let places = socket.places
        #expect(places == 2)
    }
}

/// Sets how many descriptors this process may have.
///
/// - Returns: how many it could have before.
private func limitDescriptors(to count: rlim_t) -> rlim_t {
    #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    #expect(getrlimit(resource, &limit) == 0)
    let former = limit.rlim_cur
    limit.rlim_cur = count
    #expect(setrlimit(resource, &limit) == 0)
    return former
}
