import Foundation
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarHost
import SamovarWire
import Synchronization
import Testing
import ZeroMQ

/// What an operator is told whose request had to be asked again.
@Suite struct AdminClientTests {
    @Test func `A refusal of what was asked before without an answer says that it may have been done`() async throws {
        let (refusal, ids) = try await refusal(afterSilent: 1)
        #expect(refusal == "no (asked again, for the first time was not answered: that may have done it)")
        #expect(ids.count == 2 && Set(ids).count == 1, "the store knows it by its number")
    }

    @Test func `A refusal of what was asked once is told as it is`() async throws {
        let (refusal, ids) = try await refusal(afterSilent: 0)
        #expect(refusal == "no")
        #expect(ids.count == 1)
    }

    @Test func `An answer that takes longer than it is waited for before it is asked again arrives`() async throws {
        let scratch = try Scratch()
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            guard ids.count == 1 else { return nil }
            Thread.sleep(forTimeInterval: 2.5)
            return AdminReply(id: ids[0], value: ["slow": true])
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let answer = try await AdminClient(at: StoreAccess([store.endpoint])).ask("status", patience: .seconds(20))
        #expect(answer == ["slow": true])
    }

    @Test func `An answer that takes longer than a store that is away is waited for arrives`() async throws {
        let scratch = try Scratch()
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            guard ids.count == 1 else { return nil }
            Thread.sleep(forTimeInterval: 4)
            return AdminReply(id: ids[0], value: ["requeued": ["3/0"]])
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let answer = try await AdminClient(at: StoreAccess([store.endpoint])).ask("requeue", ["effects": ["3/0"]])
        #expect(answer == ["requeued": ["3/0"]])
    }

    @Test(arguments: [("requeue", ": the request has left, and may be done"), ("inspect", ", for 3 s now")])
    func `A change that has left and is not answered is told as one that may be done`(_ verb: String, _ end: String) async throws {
        let scratch = try Scratch()
        let store = ScriptedStore(at: .local(folder: scratch.path)) { _ in nil }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let error = await #expect(throws: AdminError.self) {
            try await AdminClient(at: StoreAccess([store.endpoint])).ask(verb, patience: .seconds(3))
        }
        #expect(!store.requests.isEmpty)
        #expect(error?.description.hasPrefix("no store answers at ") == true)
        #expect(error?.description.hasSuffix(end) == true, "\(error?.description ?? "")")
    }

    @Test(.timeLimit(.minutes(1)))
    func `Who is cancelled waits for no store any more`() async throws {
        let scratch = try Scratch()
        let admin = AdminClient(at: try StoreAccess([.local(folder: scratch.path)]))
        let asking = Task { try await admin.ask("status", patience: .seconds(600)) }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
    }

    /// What is told if a store takes so many requests in silence and refuses the next; and the numbers of all of them.
    private func refusal(afterSilent silent: Int) async throws -> (String?, [Int]) {
        let scratch = try Scratch()
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            ids.count > silent ? AdminReply(id: ids[0], refusal: "no") : nil
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        let error = await #expect(throws: AdminError.self) {
            try await AdminClient(at: StoreAccess([store.endpoint])).ask("requeue", ["effects": ["3/0"]], patience: .seconds(20))
        }
        store.end()
        return (error?.description, store.requests)
    }
}

/// What the commands of an operator tell when a store does a part of what is asked for.
@Suite struct PartialChangeTests {
    /// A store that does the first of the effects it is asked for, and refuses every later request.
    private func run(_ words: String...) async throws -> (end: Child.End, output: String, errors: String, requests: Int) {
        let scratch = try Scratch()
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            let id = ids[ids.count - 1]
            guard id == ids[0] else { return AdminReply(id: id, refusal: "no") }
            let verb: MessagePackValue = words.contains("--drop") ? "dropped" : "requeued"
            return AdminReply(id: id, value: .map([MessagePackPair(verb, ["3/0"])]))
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let child = try Child(
            Executable.counter, ["effects"] + words + ["--data", scratch.folder("data"), "--endpoint", "\(store.endpoint)"],
            in: scratch)
        // Its output goes with the folder.
        return (try await child.wait(), child.output, child.errors, Set(store.requests).count)
    }

    @Test(arguments: [("--requeue", "requeued"), ("--drop", "dropped")])
    func `What was done before a refusal is told`(_ flag: String, _ done: String) async throws {
        let told = try await run(flag, "3/0", "4/0")
        #expect(told.end == .exited(65) && told.requests == 2)
        #expect(told.output == "\(done) 3/0\n")
        #expect(told.errors == "error: no\n")
    }

    @Test func `What was done before a refusal is told as JSON, too`() async throws {
        let told = try await run("--requeue", "3/0", "4/0", "--json")
        #expect(told.end == .exited(65))
        #expect(told.output == #"{"requeued":["3/0"]}"# + "\n")
    }

    @Test func `An effect that is named in another way is the same one`() async throws {
        let told = try await run("--requeue", "03/0")
        #expect(told.end == .exited(0) && told.requests == 1, "\(told.errors)")
        #expect(told.output == "requeued 3/0\n")
    }

    @Test(arguments: [
        (["3/0"], 75, "error: effects that were requeued are dead again; `effects --dead` lists what is left\n"),
        ([], 0, "2 effects of sources that the program does not want any more: dead, and only to be dropped\n"),
    ])
    func `With --all, what dies again at once is not requeued for ever, and what cannot be is told`(
        _ requeued: [String], _ code: Int32, _ errors: String
    ) async throws {
        let scratch = try Scratch()
        let done = MessagePackValue.array(requeued.map { .string($0) })
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            AdminReply(id: ids[ids.count - 1], value: ["requeued": done, "dead": 2])
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let child = try Child(
            Executable.counter,
            ["effects", "--requeue", "--all", "--data", scratch.folder("data"), "--endpoint", "\(store.endpoint)"], in: scratch)
        #expect(try await child.wait() == .exited(code), "\(child.errors)")
        #expect(child.output == requeued.map { "requeued \($0)\n" }.joined() && Set(store.requests).count == 1 + requeued.count)
        #expect(child.errors == errors)
    }

    @Test(
        arguments: [["--pause", "--queue", "mail"], ["--resume", "--label", "a"], ["--rule", "--queue", "mail"]], [true, false])
    func `A change of queues is told as JSON, also where the store tells nothing after it`(
        _ words: [String], refuses: Bool
    ) async throws {
        let scratch = try Scratch()
        let done: MessagePackValue = ["paused": [["queue": "mail"]], "rules": [], "changed": true]
        let store = ScriptedStore(at: .local(folder: scratch.path)) { ids in
            let id = ids[ids.count - 1]
            if id == ids[0] { return AdminReply(id: id, value: done) }
            if refuses { return AdminReply(id: id, refusal: "not now: ask again") }
            return AdminReply(id: id, value: ["phase": "disk full"])
        }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let place = ["--data", scratch.folder("data"), "--endpoint", "\(store.endpoint)"]
        let child = try Child(Executable.counter, ["queues"] + words + ["--json"] + place, in: scratch)
        #expect(try await child.wait() == .exited(75), "\(child.errors)")
        #expect(child.output == #"{"paused":[{"queue":"mail"}],"rules":[]}"# + "\n")
        let reason = refuses ? "not now: ask again" : "while its phase is “disk full” a store tells nothing of its queues"
        #expect(child.errors == "error: \(reason)\n")
    }

    @Test(arguments: [["effects"], ["effects", "--requeue", "3/0"], ["inspect"]])
    func `What a store refuses only for now is to be tried later`(_ words: [String]) async throws {
        let scratch = try Scratch()
        let text = """
            the disk of the store is full, for 3 s now: only status, metrics, history, reloadKeys and drain are taken \
            until there is space, then ask again
            """
        let store = ScriptedStore(at: .local(folder: scratch.path)) { AdminReply(id: $0[$0.count - 1], refusal: text) }
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        defer { store.end() }
        let child = try Child(
            Executable.counter, words + ["--data", scratch.folder("data"), "--endpoint", "\(store.endpoint)"], in: scratch)
        #expect(try await child.wait() == .exited(75), "\(child.errors)")
        #expect(child.errors == "error: \(text)\n")
    }

    @Test func `Nothing is sent if one of the names is none`() async throws {
        let told = try await run("--requeue", "3/0", "4")
        #expect(told.end == .exited(65) && told.requests == 0)
        #expect(told.errors.contains("“4” is not an effect"), "\(told.errors)")
    }
}

private final class ScriptedStore: Sendable {
    let endpoint: Endpoint
    private let answer: @Sendable (_ ids: [Int]) -> AdminReply?
    private let state = Mutex<(ids: [Int], isEnding: Bool)>(([], false))

    /// - Parameter answer: to the last request, of all the numbers that came; nil to say nothing.
    init(at endpoint: Endpoint, _ answer: @escaping @Sendable (_ ids: [Int]) -> AdminReply?) {
        self.endpoint = endpoint
        self.answer = answer
    }

    var requests: [Int] { state.withLock(\.ids) }

    func end() { state.withLock { $0.isEnding = true } }

    func run() {
        do { try serve() } catch { Issue.record(error) }
    }

    private func serve() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .admin)
        try router.bind(endpoint.admin)
        var poller = Poller()
        _ = poller.add(router)
        while !state.withLock(\.isEnding) {
            try poller.wait(timeoutMilliseconds: 20)
            while let message = try router.receive() {
                let frames = message.frames
                guard case .request(let request) = try Envelope(parts: Array(frames.dropFirst())).frame else { continue }
                let ids = state.withLock { state in
                    state.ids.append(request.id)
                    return state.ids
                }
                guard let answer = answer(ids) else { continue }
                let reply = Envelope(.reply(answer), timeline: .zero)
                #expect(try router.send([frames[0]] + reply.parts) == .sent)
            }
        }
    }
}
