import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What an operator may ask, and how: what is not understood is refused and named, never passed over.
@Suite struct StoreAdminTests {
    private func refusal(of verb: String, _ arguments: MessagePackValue, _ rig: Rig) -> String? {
        rig.requests += 1
        let request = AdminRequest(id: rig.requests, verb: verb, arguments: arguments)
        for case .reply(let reply) in rig.exchange(.request(request), from: admin) { return reply.refusal ?? "" }
        return nil
    }

    @Test(
        arguments: [
            ("requeue", ["efect": "3/0"], "requeue has no argument “efect”; it takes all, effect, effects"),
            ("requeue", ["all": true, "queue": "mail"], "requeue has no argument “queue”; it takes all, effect, effects"),
            ("drop", ["effect": "3/0", "force": true], "drop has no argument “force”; it takes all, effect, effects"),
            ("drop", ["all": 1], "the argument all of drop is neither true nor false"),
            ("drop", ["all": true, "effect": "3/0"], "drop takes one argument of all, effect, effects"),
            ("status", ["verbose": true], "status has no argument “verbose”; it takes none"),
            ("metrics", ["verbose": true], "metrics has no argument “verbose”; it takes none"),
            ("inspect", ["turn": 3], "inspect has no argument “turn”; it takes none"),
            ("drain", ["within": 3], "drain has no argument “within”; it takes none"),
            ("export", ["id": "a", "folder": "/a", "upto": 3], "export has no argument “upto”; it takes folder, id"),
            ("effects", ["dead"], "the arguments of effects are a map, by their names, or nil"),
            ("effects", .map([MessagePackPair(1, 2)]), "the name of an argument of effects is no text"),
        ] as [(String, MessagePackValue, String)])
    func `An argument that is not understood is refused and named`(_ verb: String, _ arguments: MessagePackValue, _ text: String)
        throws
    {
        let rig = try StoreRequestTests.rig()
        #expect(refusal(of: verb, arguments, rig) == text)
        #expect(refusal(of: "status", .nil, rig) == "", "nothing was done")
    }

    @Test func `A long name is cut`() throws {
        let rig = try StoreRequestTests.rig()
        let name = String(repeating: "x", count: 100_000)
        let text = try #require(refusal(of: "status", .map([MessagePackPair(.string(name), .nil)]), rig))
        #expect(text.utf8.count < 200)
    }

    @Test func `An empty map is no argument`() throws {
        let rig = try StoreRequestTests.rig()
        for verb in ["status", "inspect", "effects"] { #expect(refusal(of: verb, .map([]), rig) == "") }
    }

    @Test func `Status tells what is asked for at the view socket`() throws {
        let rig = try StoreRequestTests.rig()
        for topic in [viewTopic(of: .main), [7]] { _ = rig.machine.viewTopics.received([1] + topic) }
        #expect(rig.ask("status")?.value["viewTopics"] == ["count": 2, "foreign": 1, "overruns": 0])
    }

    @Test func `Status tells what a turn on disk outlives by now, and each change is noted once`() throws {
        let rig = try StoreRequestTests.rig()
        _ = rig.takeNotes()
        for durability in ["disk", "disk", "replicated"] {
            rig.machine.journalOutlives(durability)
            #expect(rig.ask("status")?.value["durability"] == .string(durability))
        }
        #expect(rig.takeNotes() == ["disk", "replicated"].map { "what is on disk has another durability now: \($0)" })
    }
}
