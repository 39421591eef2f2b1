import Logging
import SamovarCore
import SamovarWire
import SamovarWorker
import Testing

@testable import SamovarHost

private struct Shed: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case open }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Shed> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Shed> { .none }
}

/// What a worker says of itself, before it says it to a store.
@Suite struct WorkerConfigurationTests {
    private let logger = Logger(label: "test")
    private let store: StoreAccess

    init() throws { store = try StoreAccess("ipc:///tmp/none") }

    /// Why there is no worker with these changes; nil if there is one.
    private func objection(_ change: (inout WorkerConfiguration) -> Void) throws -> String? {
        var configuration = WorkerConfiguration(store: store)
        change(&configuration)
        do {
            _ = try WorkerHost(Worker<Shed>.none, configuration, logger: logger)
            return nil
        } catch let error as WorkerError {
            return error.description
        }
    }

    @Test func `What no store would answer is an error, and not a worker that waits for ever`() throws {
        let name = String(repeating: "q", count: 1_025)
        let queues = (0...1_024).map { Queue("\($0)") }
        let abilities = Set((0...64).map { "\($0)" })
        #expect(try objection { $0.slots = 65_537 } == "65537 slots; 65536 at most")
        #expect(try objection { $0.readAhead = .max } == "\(Int.max) jobs read ahead; 65536 at most")
        #expect(try objection { $0.queues = queues } == "1025 queues; 1024 at most")
        #expect(try objection { $0.queues = [Queue(name)] } == "the name of a queue has 1025 bytes; 1024 at most")
        #expect(try objection { $0.limits = [.default: 0] } == "0 jobs of queue default at once; 1 to 65536 are possible")
        #expect(try objection { $0.capabilities = abilities } == "65 capabilities; 64 at most")
        #expect(try objection { $0.capabilities = [name] } == "the name of a capability has 1025 bytes; 128 at most")
    }

    @Test func `What a store takes just so is a worker`() throws {
        let names = (0..<1_024).map { Queue(String(repeating: "q", count: 1_020) + "\($0 + 1_000)") }
        let abilities = Set((10..<74).map { String(repeating: "c", count: 126) + "\($0)" })
        let most = try objection {
            $0.readAhead = 65_536
            $0.queues = names
            $0.limits = [names[0]: 65_536, names[1]: 1]
            $0.capabilities = abilities
        }
        #expect(most == nil)
    }
    @Test func `A host serves what its worker names, unless the configuration names queues`() {
        let worker = Worker<Shed>.none.serving(.default, "mail").slots(4, queue: "http")
        var configuration = WorkerConfiguration(store: store)
        #expect(configuration.offer(of: Worker<Shed>.none).queues == [.default])
        let offer = configuration.offer(of: worker)
        #expect(offer.queues == [.default, "mail", "http"] && offer.limits == ["http": 4])
        configuration.queues = ["http", "disk"]
        let told = configuration.offer(of: worker)
        #expect(told.queues == ["http", "disk"] && told.limits == ["http": 4], "the limit is the worker's still")
    }

    @Test func `A limit of the configuration takes the place of the worker's, queue by queue`() {
        let worker = Worker<Shed>.none.slots(4, queue: "http").slots(5, queue: "mail")
        var configuration = WorkerConfiguration(store: store)
        configuration.limits = ["http": 2, "disk": 3]
        #expect(configuration.offer(of: worker).limits == ["http": 2, "mail": 5], "disk is not served")
    }
}
