import Foundation
import Testing
import ZeroMQ

@Suite struct EndpointTests {
    @Test func `Bind conflict names the endpoint`() throws {
        let context = try Context()
        var first = try Socket(context, .router, options: .front)
        try first.bind("tcp://127.0.0.1:*")
        let endpoint = try first.lastEndpoint
        var second = try Socket(context, .router, options: .front)
        let error = #expect(throws: ZeroMQError.self) { try second.bind(endpoint) }
        #expect(error?.code == .addressInUse)
        #expect(error?.code == .errno(EADDRINUSE))
        #expect(error?.description == "bind \(endpoint): Address already in use")
    }

    @Test func `Unbind frees the endpoint`() throws {
        let context = try Context()
        var first = try Socket(context, .router, options: .front)
        try first.bind("tcp://127.0.0.1:*")
        let endpoint = try first.lastEndpoint
        #expect(endpoint.hasPrefix("tcp://127.0.0.1:"))
        try first.unbind(endpoint)
        var second = try Socket(context, .router, options: .front)
        try eventually {
            // The I/O thread closes the listener a moment later.
            do throws(ZeroMQError) { try second.bind(endpoint) } catch  where error.code == .addressInUse { return false }
            return true
        }
        #expect(throws: ZeroMQError.self) { try first.unbind(endpoint) }
    }

    @Test func `Nonsense is refused`() throws {
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        let error = #expect(throws: ZeroMQError.self) { try dealer.connect("samovar") }
        #expect(error?.description == "connect samovar: Invalid argument")
        #expect(try dealer.lastEndpoint == "")
    }

    @Test func `Ipc path has a limit`() throws {
        let directory = try RuntimeDirectory()
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        let longest = directory.path + "/" + String(repeating: "x", count: limit - directory.path.utf8.count - 1)
        try router.bind("ipc://" + longest)

        let tooLong = "ipc://" + longest + "x"
        let refusal = "\(tooLong): the path has \(limit + 1) bytes, the limit is \(limit)"
        let bound = #expect(throws: ZeroMQError.self) { try router.bind(tooLong) }
        #expect(bound?.code == .invalidEndpoint)
        #expect(bound?.description == "bind " + refusal)
        let connected = #expect(throws: ZeroMQError.self) { try router.connect(tooLong) }
        #expect(connected?.description == "connect " + refusal)
    }

    @Test func `Abstract names are refused`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        let error = #expect(throws: ZeroMQError.self) { try router.bind("ipc://@samovar") }
        #expect(error?.code == .invalidEndpoint)
    }

    @Test func `Ipc file is for the same user only`() throws {
        let directory = try RuntimeDirectory()
        let context = try Context()
        var router = try Socket(context, .router, options: .admin)
        let path = directory.path + "/admin"
        try router.bind("ipc://" + path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }
}
