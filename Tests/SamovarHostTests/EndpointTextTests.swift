import SamovarPeers
import SamovarWire
import Testing

@testable import SamovarHost

/// What is an endpoint, who may listen there, and who may connect.
struct EndpointTextTests {
    private func endpoint(_ text: String) throws -> Endpoint { try Endpoint(text, dataFolder: ".") }

    /// Why it is none.
    private func fault(_ text: String) -> String {
        do throws(EndpointError) {
            return "none: it is \(try Endpoint(text, dataFolder: "."))"
        } catch {
            return error.description
        }
    }

    // MARK: Spelling

    @Test(arguments: [
        ("tcp://127.0.0.1:7700", "tcp://127.0.0.1:7700"), ("tcp://localhost:7700", "tcp://127.0.0.1:7700"),
        ("tcp://10.1.2.3", "tcp://10.1.2.3:7410"), ("tcp://[::1]", "tcp://[::1]:7410"),
        ("tcp://[2001:DB8:0:0::1]:7000", "tcp://[2001:db8::1]:7000"), ("tcp://[fe80::1%eth0]:7000", "tcp://[fe80::1%eth0]:7000"),
        ("tcp://store.example:7000", "tcp://store.example:7000"), ("tcp://db_1", "tcp://db_1:7410"),
        ("tcp://0f3e2a:7000", "tcp://0f3e2a:7000"), ("tcp://store.example.:7000", "tcp://store.example.:7000"),
        ("tcp://*:7000", "tcp://*:7000"), ("tcp://0.0.0.0:7000", "tcp://0.0.0.0:7000"), ("tcp://[::]", "tcp://[::]:7410"),
        ("ipc:///run/a,b", "ipc:///run/a,b"),
    ])
    func `An endpoint is an address by its number, a name, or all addresses, and has a port if it names none`(
        _ text: String, _ spelling: String
    ) throws {
        #expect(try endpoint(text).description == spelling)
    }

    @Test(arguments: [
        "127.1", "127.0.0.0x1", "127.0.0.256", "0127.0.0.1", "0x7f000001", "[127.0.0.1]", "[::1%]", "[::1", "::1", "", "a..b", "-a",
        "a-", "a b", "ä.example", "a/b", "a@b", String(repeating: "a", count: 64),
    ])
    func `What is neither names no host`(_ host: String) {
        #expect(fault("tcp://\(host):7700").contains(" names no host: write "), "\(fault("tcp://\(host):7700"))")
    }

    @Test(arguments: ["0", "32765", "65536", "x", "", "7410/front"])
    func `All four ports are below those of connections`(_ port: String) throws {
        let fault = fault("tcp://127.0.0.1:\(port)")
        #expect(fault.contains("has no port between 1 and 32764: "), "\(fault)")
        #expect(try endpoint("tcp://127.0.0.1:32764").address(of: .admin) == "tcp://127.0.0.1:32767")
    }

    @Test func `Other texts are none, with what to write`() {
        #expect(fault("127.0.0.1:7410") == "127.0.0.1:7410 is no endpoint: write ipc:///FOLDER or tcp://HOST:PORT")
        #expect(fault("ipc://run") == "ipc://run is no endpoint: ipc:// needs an absolute folder")
        for list in ["tcp://a:1,tcp://b:2", "ipc:///a,tcp://b:2"] {
            #expect(fault(list).contains("a store listens at one, and a list is for those who connect"))
        }
    }

    // MARK: Addresses

    @Test func `A store with ports is in its folder as well, and there alone for operators without a key`() throws {
        let endpoint = try endpoint("tcp://127.0.0.1:7410")
        #expect(Door.allCases.map { endpoint.address(of: $0) } == (7_410...7_413).map { "tcp://127.0.0.1:\($0)" })
        #expect(Door.allCases.map { endpoint.file(of: $0) } == Door.allCases.map { "ipc://\(endpoint.folder)/\($0)" })
        #expect(endpoint.target(of: .admin, hasKey: true) == .address("tcp://127.0.0.1:7413"))
        #expect(endpoint.target(of: .admin, hasKey: false) == .address(endpoint.admin))
        #expect(Endpoint.local(folder: "/run").address(of: .view) == "ipc:///run/view")
    }

    @Test func `Peers look for all endpoints of a list in their order, and for operators without a key in the folder`() throws {
        let access = try StoreAccess("ipc:///run/a,b, tcp://127.0.0.1:7000,tcp://[::1]")
        #expect(access.endpoints.map(\.description) == ["ipc:///run/a,b", "tcp://127.0.0.1:7000", "tcp://[::1]:7410"])
        #expect(access.named(.view) == "ipc:///run/a,b/view,tcp://127.0.0.1:7002,tcp://[::1]:7412")
        #expect(access.named(.admin).hasSuffix("/admin"))
        let far = try StoreAccess("tcp://store.example:7000", keyFile: "k")
        var plan = far.plan(for: .admin)
        #expect(plan.next() == .resolve("store.example"))
        guard case .open(let place) = plan.resolved(["10.0.0.1"]) else { return #expect(Bool(false)) }
        #expect(far.address(of: place, for: .admin) == "tcp://10.0.0.1:7003")
    }

    // MARK: Who may be there

    private func refusal(_ text: String, hasKeys: Bool, allowsInsecure: Bool = false) throws -> String {
        do throws(EndpointError) {
            try Endpoint(text, dataFolder: ".").requireListening(hasKeys: hasKeys, allowsInsecure: allowsInsecure)
            return ""
        } catch {
            return error.description
        }
    }

    @Test(arguments: ["127.0.0.1", "127.9.8.7", "localhost", "[::1]", "[0:0:0:0:0:0:0:1]"])
    func `A store listens on loopback with keys, or with consent`(_ host: String) throws {
        #expect(try refusal("tcp://\(host)", hasKeys: true).isEmpty)
        #expect(try refusal("tcp://\(host)", hasKeys: false, allowsInsecure: true).isEmpty)
        #expect(try refusal("tcp://\(host)", hasKeys: false).contains("is open to every user of this machine, since there are no"))
        _ = try StoreAccess("tcp://\(host)")
    }

    @Test(arguments: ["10.0.0.1", "128.0.0.1", "[::2]", "[::ffff:127.0.0.1]", "*", "0.0.0.0", "[::]"])
    func `Beyond loopback a store listens with keys alone, whatever is allowed`(_ host: String) throws {
        #expect(try refusal("tcp://\(host)", hasKeys: true).isEmpty)
        for allowed in [false, true] {
            let refusal = try refusal("tcp://\(host)", hasKeys: false, allowsInsecure: allowed)
            #expect(refusal.contains("is beyond loopback") && refusal.contains("name their folder with --keys"), "\(refusal)")
        }
    }

    @Test func `A store listens at no name, since its machine may not have that address`() throws {
        #expect(try refusal("tcp://store.example", hasKeys: true).contains("a name is for those who connect: write the address"))
    }

    @Test(arguments: ["10.0.0.1", "[::ffff:127.0.0.1]", "store.example", "localhost.example"])
    func `Beyond loopback a peer connects with a key alone`(_ host: String) throws {
        _ = try StoreAccess("tcp://\(host)", keyFile: "k")
        let error = #expect(throws: EndpointError.self) { try StoreAccess("tcp://127.0.0.1,tcp://\(host)") }
        #expect(error?.description.contains("connect there with a key, --key FILE") == true, "\(error?.description ?? "")")
    }

    @Test(arguments: ["*", "0.0.0.0", "[::]"])
    func `Nobody connects to all addresses of a machine`(_ host: String) throws {
        let error = #expect(throws: EndpointError.self) { try StoreAccess("tcp://\(host)", keyFile: "k") }
        #expect(error?.description.contains("connect to one of them") == true)
    }

    @Test func `A list has a limit`() throws {
        let list = (1...9).map { "tcp://127.0.0.\($0)" }.joined(separator: ",")
        let error = #expect(throws: EndpointError.self) { try StoreAccess(list) }
        #expect(error?.description == "9 endpoints; from 1 to 8 are possible")
    }

    @Test func `Sockets in a folder are not insecure`() throws {
        #expect(try !endpoint("ipc:///run/samovar").isInsecure)
    }
}
