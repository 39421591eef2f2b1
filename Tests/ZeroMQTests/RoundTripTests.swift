import Foundation
import Testing
import ZeroMQ

@Suite struct RoundTripTests {
    private func exchange(over endpoint: String) throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind(endpoint)
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()

        // Short frames lie inside a message, long ones outside.
        let header: [UInt8] = [1, 2, 3]
        let body = [UInt8](repeating: 7, count: 100_000)
        #expect(try dealer.send(header, body) == .sent)
        let request = try router.next()
        #expect(request.count == 3)
        #expect(Array(request[1...]) == [header, body])

        #expect(try router.send(request[0], body, [], header) == .sent)
        #expect(try dealer.next() == [body, [], header])
        let nothing = try dealer.receive()
        expect(nothing == nil)
    }

    @Test func `Inproc`() throws {
        try exchange(over: "inproc://round-trip")
    }

    @Test func `Ipc`() throws {
        let directory = try RuntimeDirectory()
        try exchange(over: "ipc://\(directory.path)/front")
    }

    @Test func `Tcp`() throws {
        try exchange(over: "tcp://127.0.0.1:*")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/net/if_inet6"), "this machine has no IPv6"))
    func `tcp over IPv6`() throws {
        try exchange(over: "tcp://[::1]:*")
    }
}
