import Testing

@testable import SamovarHost

/// What is an endpoint, and what of it is this machine alone.
struct EndpointTextTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:7700", "tcp://127.0.0.1:7700"), ("tcp://127.9.8.7:7700", "tcp://127.9.8.7:7700"),
        ("tcp://localhost:7700", "tcp://127.0.0.1:7700"), ("tcp://[::1]:7700", "tcp://[::1]:7700"),
        ("tcp://[0:0:0:0:0:0:0:1]:7700", "tcp://[::1]:7700"),
    ])
    func `Loopback is known by its number`(_ text: String, _ endpoint: String) throws {
        let read = try Endpoint(text, dataFolder: ".")
        #expect(read.front == endpoint)
        #expect(read.isInsecure)
    }

    @Test(arguments: [
        "127.evil.example", "127.0.0.1.evil.example", "127.1", "127.0.0.0x1", "127.0.0.256", "0127.0.0.1", "128.0.0.1", "0.0.0.0",
        "localhost.example", "LOCALHOST.", "[::2]", "[::]", "[::ffff:127.0.0.1]", "[::1%lo]", "::1", "[127.0.0.1]", "*", "eth0", "",
    ])
    func `What is not, is beyond loopback`(_ host: String) {
        let error = #expect(throws: EndpointError.self) { try Endpoint("tcp://\(host):7700", dataFolder: ".") }
        #expect(error?.description.contains("is beyond loopback") == true)
    }

    @Test func `Sockets in a folder are not insecure`() throws {
        #expect(try !Endpoint("ipc:///run/samovar", dataFolder: ".").isInsecure)
    }
}
