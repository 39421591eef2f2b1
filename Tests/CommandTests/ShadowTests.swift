import Foundation
import MessagePack
import ProcessSupport
import SamovarHost
import SamovarStore
import Testing

/// `store --shadow`: a process that follows a running store and compares, with real processes.
@Suite struct ShadowTests {
    private static let fickle = Executable.path("FickleProgram")
    private static let names = #"{"add":{"names":["Ada","Alan","Barbara","Donald","Edsger","Frances","Grace","John"]}}"#

    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func start(_ words: [String], input: String = "", order: String? = nil) throws -> Child {
        try Child(
            Self.fickle, words + ["--data", scratch.folder("data")], in: scratch, input: input,
            variables: order.map { ["FICKLE_ORDER": $0] } ?? [:])
    }

    private func serving(order: String) async throws -> Child {
        let store = try start(["store"], order: order)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        return store
    }

    private func following(order: String) async throws -> Child {
        let shadow = try start(["store", "--shadow"], order: order)
        try await eventually("the shadow follows: \(shadow.errors)") { shadow.errors.contains("nothing differs up to turn") }
        return shadow
    }

    private func send(_ inputs: String) async throws {
        let sent = try start(["send", "-"], input: inputs)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
    }

    private func status() async throws -> [String: Any] {
        let status = try start(["status", "--json"])
        try await status.wait()
        return try status.json
    }

    @Test func `A state that depends on the order of a set ends the shadow within one comparison, and the store goes on`()
        async throws
    {
        let store = try await serving(order: "forward")
        let shadow = try await following(order: "backward")
        try await send(Self.names + "\nlook\n")
        #expect(try await shadow.wait() == .exited(65), "\(shadow.errors)")
        let alarm = try #require(
            shadow.errors.firstMatch(of: /turn (\d+): the state before it is not the one that the store had/), "\(shadow.errors)")
        // Within one comparison: the next digest after the turn that did it.
        let turn = try #require(Int(alarm.1))
        #expect(turn > 3 && turn < 20)
        #expect(store.end == nil)
        #expect(try await status()["stateDigestTurn"] as? Int != nil)
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }

    @Test func `A program that keeps the rule is followed over the death of its store, and nothing is told`() async throws {
        let store = try await serving(order: "forward")
        let shadow = try await following(order: "forward")
        try await send(Self.names + "\nlook\nvisit\ngreet\n")
        store.send(SIGKILL)
        try await store.wait()
        try await eventually("the shadow waits: \(shadow.errors)") { shadow.errors.contains("waiting: no store answers") }
        let next = try await serving(order: "forward")
        try await eventually("the shadow is heard again: \(shadow.errors)") { shadow.errors.contains("the store answers again") }
        try await send(Self.names + "\nlook\n")
        // The state after these was compared, too.
        try await eventually("the newest state is compared: \(shadow.errors)") {
            let status = try await status()
            let compared = (status["follower"] as? [String: Any])?["comparedTurn"] as? Int
            return compared != nil && compared == status["stateDigestTurn"] as? Int && compared ?? 0 >= 13
        }
        #expect(shadow.end == nil && !shadow.errors.contains("differ:") && !shadow.errors.contains("error"), "\(shadow.errors)")
        shadow.send(SIGTERM)
        #expect(try await shadow.wait() == .exited(0), "\(shadow.errors)")
        next.send(SIGTERM)
        #expect(try await next.wait() == .exited(0), "\(next.errors)")
    }

    @Test func `A shadow begins with the newest snapshot, and ends in order without a store`() async throws {
        let store = try await serving(order: "forward")
        try await send(Self.names + "\nlook\n")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        let shadow = try start(["store", "--shadow"], order: "forward")
        try await eventually("the shadow waits: \(shadow.errors)") { shadow.errors.contains("waiting: no store answers") }
        // It has no lock that the store needs.
        let next = try await serving(order: "forward")
        try await eventually("the shadow follows: \(shadow.errors)") { shadow.errors.contains("nothing differs up to turn") }
        #expect(shadow.errors.contains(/following timeline \S+ from the snapshot of turn \d+/), "\(shadow.errors)")
        next.send(SIGTERM)
        #expect(try await next.wait() == .exited(0), "\(next.errors)")
        shadow.send(SIGTERM)
        #expect(try await shadow.wait() == .exited(0), "\(shadow.errors)")
    }

    @Test func `A command that depends on the order of a set ends the shadow at its turn`() async throws {
        let store = try await serving(order: "forward")
        let shadow = try await following(order: "backward")
        try await send(Self.names + "\nvisit\n")
        #expect(try await shadow.wait() == .exited(65), "\(shadow.errors)")
        #expect(shadow.errors.contains(/error: turn \d+: `update` orders another command than it did/), "\(shadow.errors)")
        #expect(shadow.errors.contains(#"run {"visit":{"name":"John"}} in queue default"#), "\(shadow.errors)")
        #expect(store.end == nil)
    }

    @Test func `What an operator has accepted is no difference`() async throws {
        let store = try await serving(order: "forward")
        try await send(Self.names + "\nvisit\n")
        store.send(SIGKILL)
        try await store.wait()
        let other = try start(["store", "--accept-divergence", "3"], order: "backward")
        try await eventually("the store serves: \(other.errors)") { other.errors.contains("serving") }
        let shadow = try await following(order: "backward")
        #expect(shadow.errors.contains("turn 3 orders something else, which was accepted: beginning anew"), "\(shadow.errors)")
        shadow.send(SIGTERM)
        #expect(try await shadow.wait() == .exited(0), "\(shadow.errors)")
    }

    // MARK: What the store hands out

    /// The answer of the store to one question.
    private func follow(after place: HistoryRequest.Place?) async throws -> HistoryReply {
        let sockets = try Endpoint("ipc://\(scratch.folder("sockets"))", dataFolder: scratch.folder("data"))
        let value = try await AdminClient(at: StoreAccess(folderOf: sockets)).ask(
            "history", HistoryRequest(after: place).value, patience: .seconds(20))
        return try #require(HistoryReply(value))
    }

    private func servingThere(_ words: [String] = []) async throws -> Child {
        let store = try start(["store", "--endpoint", "ipc://\(scratch.folder("sockets"))"] + words, order: "forward")
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        return store
    }

    private func sendThere(_ inputs: String) async throws {
        let sent = try start(["send", "-", "--endpoint", "ipc://\(scratch.folder("sockets"))"], input: inputs)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
    }

    @Test func `A long journal comes in answers of 1 MiB at most, without a hole`() async throws {
        let store = try await servingThere()
        let name = String(repeating: "x", count: 30_000)
        try await sendThere((1...100).map { #"{"add":{"names":["\#($0)\#(name)"]}}"# }.joined(separator: "\n"))
        var place = HistoryRequest.Place(timeline: try await follow(after: nil).timeline, turn: 0)
        var answers: [Int] = []
        while true {
            let reply = try await follow(after: place)
            guard case .batches(let batches) = reply.content, let last = batches.last else { break }
            var turn = place.turn
            for batch in batches {
                #expect(batch.first == turn + 1)
                turn = batch.last
            }
            let size = batches.reduce(0) { $0 + $1.bytes.count }
            #expect(size <= 1 << 20 || batches.count == 1)
            #expect(last.last <= reply.head)
            answers.append(size)
            place.turn = last.last
        }
        #expect(answers.reduce(0, +) > 3_000_000 && place.turn > 100)
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }

    @Test func `Whoever is behind what was trimmed is told so`() async throws {
        for number in 1...3 {
            let store = try await servingThere(number == 3 ? ["--retain", "5"] : [])
            if number < 3 {
                try await sendThere(Array(repeating: Self.names, count: 20).joined(separator: "\n"))
            } else {
                try await eventually("the journal is trimmed: \(store.errors)") {
                    store.errors.contains("trimmed the journal up to turn")
                }
                let timeline = try await follow(after: nil).timeline
                #expect(try await follow(after: HistoryRequest.Place(timeline: timeline, turn: 1)).content == .anew(.trimmed))
                guard case .beginning(let beginning, _, _) = try await follow(after: nil).content else {
                    Issue.record("no beginning")
                    return
                }
                #expect(beginning.first > 2 && beginning.snapshots.contains { $0 + 1 >= beginning.first })
            }
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0), "\(store.errors)")
        }
    }

    // MARK: up

    /// The processes that `up` has started, by what they are.
    private func children(of up: Child) -> (stores: [ProcessTable.Entry], shadows: [ProcessTable.Entry]) {
        let all = ProcessTable.all(naming: scratch.folder("data")).filter { $0.parent == up.id && $0.command == "store" }
        return (all.filter { !$0.arguments.contains("--shadow") }, all.filter { $0.arguments.contains("--shadow") })
    }

    @Test func `up tells once of a difference that its shadow has found, and goes on without it`() async throws {
        // Each process has an order of its own.
        let up = try start(["up", "--shadow", "--workers", "1"])
        try await eventually("the shadow follows: \(up.errors)") { up.errors.contains("nothing differs up to turn") }
        let store = try #require(children(of: up).stores.first)
        try await send(Self.names + "\nlook\n")
        let told = "the shadow has found a difference; see its message above. The store goes on, and nothing is compared any more"
        try await eventually("the difference is told: \(up.errors)") { up.errors.contains(told) }
        #expect(up.errors.contains("the state before it is not the one that the store had"), "\(up.errors)")
        try await send(Self.names)
        #expect(children(of: up).shadows.isEmpty && children(of: up).stores.map(\.id) == [store.id])
        #expect(up.errors.components(separatedBy: told).count == 2)
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test func `up starts a shadow again that has died, and ends it with the others`() async throws {
        let up = try start(["up", "--shadow", "--workers", "0"], order: "forward")
        func following(_ count: Int) async throws {
            try await eventually("a shadow follows: \(up.errors)") {
                up.errors.components(separatedBy: "following timeline").count == count + 1
            }
        }
        try await following(1)
        let shadow = try #require(children(of: up).shadows.first)
        #expect(shadow.send(SIGKILL))
        try await following(2)
        #expect(children(of: up).shadows.count == 1 && !up.errors.contains("nothing is compared any more"))
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
        #expect(ProcessTable.all(naming: scratch.folder("data")).isEmpty)
    }

    // MARK: Usage

    @Test(arguments: [
        (["store", "--shadow", "--standby"], "--shadow follows a store, and has no use for --standby"),
        (["store", "--shadow", "--fresh"], "--shadow follows a store, and has no use for --fresh"),
        (["store", "--shadow", "--accept-divergence", "3"], "has no use for --accept-divergence"),
        (["store", "--shadow", "--journal", "postgresql://localhost/x"], "a journal at a place has --standby for that"),
        (["up", "--shadow", "--journal", "postgresql://localhost/x"], "with --journal, --stores 2 starts a standby that compares"),
        (["up", "--shadow", "--stores", "2"], "--shadow follows one store: leave --stores out"),
    ])
    func `What a shadow has no use for is refused`(_ words: [String], _ text: String) async throws {
        let child = try start(words)
        #expect(try await child.wait() == .exited(64), "\(child.errors)")
        #expect(child.errors.contains(text), "\(child.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("data")))
    }
}
