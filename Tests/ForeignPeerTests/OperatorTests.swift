import Foundation
import MessagePack
import ProcessSupport
import Testing

/// Section 3 of `docs/protocol.md`: the admin listener, and the end of a store.
@Suite struct OperatorTests {
    /// A store of the contract program with two dead effects.
    private func withDead(goodbye: Int = 1) async throws -> ForeignStore {
        let store = try await ForeignStore(.contract, goodbye: goodbye)
        let client = try await store.client()
        try await client.submit(.hang(id: "a"), .hang(id: "b"))
        _ = try await client.outcomes()
        return store
    }

    @Test func `Status, inspect and effects tell what the table says`() async throws {
        let store = try await withDead()
        let status = try await store.ask("status").value
        #expect(status["program"] == "Contract" && status["openEffects"] == 2)
        #expect(status["durability"]?.string != nil && status["views"] == "on" && status["snapshots"] == "on")
        let state = try await store.ask("inspect").value
        #expect(state["turn"] == 3 && state["instance"] == "main" && state["state"]?["count"] == 0)
        let effects = try await store.ask("effects").value
        #expect(effects["openCount"] == 2 && effects["deadCount"] == 0 && effects["dead"] == [])
        #expect(effects["open"]?.elements.map { $0["effect"] } == ["2/0", "3/0"])
        #expect(effects["open"]?[0]?["waitsFor"] == "worker" && effects["open"]?[0]?["attempts"] == 0)
        #expect(status["countersSince"] != nil)

        // A list of some of them counts all of these, and tells the oldest.
        let some = try await store.ask("effects", ["queue": "default", "limit": 1]).value
        #expect(some["openCount"] == 2 && some["open"]?.elements.map { $0["effect"] } == ["2/0"])
        #expect(try await store.ask("effects", ["queue": "other"]).value["openCount"] == 0)
        #expect(try await store.ask("effects", ["label": "none"]).value["openCount"] == 0)
    }

    @Test func `Drop takes one effect, a list or all that are dead, and all or none of a list`() async throws {
        let store = try await withDead()
        let none = try await store.ask("drop", ["effects": ["2/0", "9/9"]])
        #expect(none.refusal?.contains("9/9") == true)
        #expect(try await store.ask("effects").value["openCount"] == 2)
        #expect(try await store.ask("drop", ["all": true]).value == ["dropped": [], "dead": 0])
        #expect(try await store.ask("drop", ["effect": "2/0"]).value == ["dropped": "2/0"])
        #expect(try await store.ask("drop", ["effects": ["3/0"]]).value == ["dropped": ["3/0"], "dead": 0])
        #expect(try await store.ask("effects").value["openCount"] == 0)
    }

    @Test func `Requeue takes dead effects alone`() async throws {
        let store = try await withDead()
        #expect(try await store.ask("requeue", ["effect": "2/0"]).refusal == "effect 2/0 is not dead")
        #expect(try await store.ask("requeue", ["all": true]).value == ["requeued": [], "dead": 0])
    }

    @Test func `What is asked again with the same number is answered alike and not done again`() async throws {
        let store = try await withDead()
        let first = try await store.ask("drop", ["effect": "2/0"], number: 5)
        let again = try await store.ask("drop", ["effect": "2/0"], number: 5)
        #expect(first.refusal == nil && again.refusal == nil && again.value == first.value)
        #expect(try await store.ask("drop", ["effect": "2/0"], number: 6).refusal != nil)
    }

    @Test func `An unknown verb, and arguments that do not say what is needed, are refused`() async throws {
        let store = try await withDead()
        let requests: [(String, Value)] = [
            ("fly", nil), ("requeue", nil), ("requeue", ["effect": 2]), ("requeue", ["effect": "2"]), ("drop", ["effects": "2/0"]),
            ("drop", ["effects": [2]]), ("drop", []), ("export", nil), ("export", ["id": "a", "folder": "relative"]),
            ("export", ["id": 1, "folder": "/tmp"]), ("status", ["verbose": true]), ("effects", ["queue": 1]),
            ("effects", ["limit": 0]), ("effects", ["limit": 1_001]), ("effects", ["colour": "red"]),
            ("requeue", ["effect": "2/0", "force": true]), ("drain", ["now": true]), ("inspect", [1]),
        ]
        for (verb, arguments) in requests {
            let reply = try await store.ask(verb, arguments)
            #expect(reply.refusal?.isEmpty == false && reply.value == Value.nil, "\(verb) \(arguments)")
        }
        #expect(try await store.ask("effects").value["openCount"] == 2)
    }

    @Test func `Export is asked again with its id until it is done`() async throws {
        let store = try await withDead()
        let folder = store.scratch.folder("backup")
        let arguments: Value = ["id": "a", "folder": .string(folder)]
        let done = try await eventually("the backup is done") {
            let reply = try await store.ask("export", arguments)
            guard reply.refusal == nil else { throw Unexpected(reply.refusal ?? "") }
            return reply.value["done"] == true ? reply.value : Value?.none
        }
        #expect(done["turn"]?.integer ?? 0 >= 2 && done["copied"] == done["turn"], "\(done)")
        #expect(FileManager.default.fileExists(atPath: folder))
    }

    // MARK: The end of a store

    @Test func `A store that drains tells its workers, takes no input and no worker, and says GOODBYE to all`() async throws {
        let store = try await withDead(goodbye: 60)
        do {
            let (client, worker) = (try await store.client(), try await store.worker())
            let subscriber = try RawSubscriber(store.view)
            _ = try await subscriber.next(.tick)
            let task = try await worker.task()
            #expect(try await store.ask("drain").value == ["draining": true])
            _ = try await worker.first(.drain)
            try await client.submit(.case("increment", ["by": 1]))
            #expect(try await client.nextError().code == .retryLater)
            let late = try RawPeer(store.work)
            try await late.hello(
                1, schema: store.program.schema, role: "worker", [.binary(randomID()), 1, ["default"], []])
            #expect(try await late.nextError().code == .retryLater)
            try await worker.answer(task.done())
            #expect(try await worker.acknowledged() == [task.lease])
            _ = try await worker.first(.goodbye)
            _ = try await client.first(.goodbye)
            _ = try await subscriber.first(.goodbye) { _ in true }
        }
        #expect(try await store.wait() == .exited(0))
    }

    /// A socket that connects loses what has arrived and was not received when its connection breaks.
    @Test func `What a store says last is there for those who look late, and it ends when they have closed their connections`()
        async throws
    {
        let store = try await ForeignStore(.contract, goodbye: 60)
        do {
            let (client, worker) = (try await store.client(), try await store.worker())
            let subscriber = try RawSubscriber(store.view)
            _ = try await subscriber.next(.tick)
            try await client.submit(.hang(id: "a"))
            let task = try await worker.task()
            _ = try await store.ask("drain")
            _ = try await worker.first(.drain)
            _ = try await client.first(.receipt)
            try worker.passOver()
            try client.passOver()
            while try subscriber.receive() != nil {}
            try await worker.answer(task.done())
            try await eventually("the store has ended its work") { store.log.contains("stopped") }
            // Long enough to break connections that are not kept.
            try await Task.sleep(for: .milliseconds(500))
            #expect(try await worker.acknowledged() == [task.lease])
            _ = try await worker.first(.goodbye)
            _ = try await client.first(.goodbye)
            _ = try await subscriber.first(.goodbye) { _ in true }
        }
        #expect(try await store.wait() == .exited(0))
    }

    @Test func `Whoever comes to a store that closes is told so at once, and does not wait for a WELCOME`() async throws {
        let store = try await ForeignStore(goodbye: 60)
        do {
            let client = try await store.client()
            // Connected before the socket's file is gone.
            let late = try RawPeer(store.front)
            try await late.send(.ping)
            #expect(try await late.nextError().code == .unknownPeer)
            _ = try await store.ask("drain")
            try await eventually("the store has ended its work") { store.log.contains("stopped") }
            try await late.hello(1, schema: .nil, role: "client", .binary(randomID()))
            _ = try await late.next(.goodbye)
            _ = try await client.first(.goodbye)
        }
        #expect(try await store.wait() == .exited(0))
    }

    @Test func `Whoever does not close a connection after GOODBYE holds the store up for no longer than a limit`() async throws {
        // Longer than this process may be kept from reading what it is told first.
        let store = try await ForeignStore(goodbye: 10)
        let client = try await store.client()
        _ = try await store.ask("drain")
        #expect(try await store.wait() == .exited(0))
        try await client.waitForDisconnect()
    }
}
