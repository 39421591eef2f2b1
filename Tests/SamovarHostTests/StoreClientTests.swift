import Foundation
import Logging
import ProcessSupport
import SamovarCore
import SamovarPeers
import SamovarWire
import Synchronization
import Testing
import ZeroMQ

@testable import SamovarHost

private struct Gong: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case strike }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Gong> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Gong> { .none }
}

private final class Watcher: Sendable {
    private let heard = Mutex<[StoreClient.ViewEvent]>([])

    var events: [StoreClient.ViewEvent] { heard.withLock { $0 } }

    /// Until the client ends, or `isDone`.
    func follow(_ client: StoreClient, until isDone: @Sendable (StoreClient.ViewEvent) -> Bool = { _ in false }) async {
        for await event in client.views() {
            heard.withLock { $0.append(event) }
            if isDone(event) { return }
        }
    }
}

extension StoreClient.ViewEvent {
    fileprivate var isView: Bool { if case .view = self { true } else { false } }
}

/// What who waits for a client is told, whatever becomes of the store and of the client.
@Suite struct StoreClientTests {
    private let logger = Logger(label: "test")
    private let store: StoreDouble

    init() throws { store = try StoreDouble(try Context()) }

    private func access() throws -> StoreAccess { try StoreAccess("ipc://\(store.folder)") }

    @Test func `An input whose effects nobody can tell of was applied all the same, and its receipt says so`() async throws {
        store.answers = { frame in
            guard case .send(let inputs, _) = frame else { return [] }
            return [.receipt(inputs.map { Outcome(sequence: $0.sequence, turn: 5, verdict: .applied) }, credit: 9)]
        }
        let connector = try Connector(Gong.self, at: try access(), logger: logger)
        let run = Task { try await connector.run() }
        let receipt = Task { await connector.send(.strike, wait: .settled) }
        try await eventually("it asks for the effects") {
            try store.work()
            return store.heard.contains { $0.kind == .settle }
        }
        connector.close()
        #expect(await receipt.value == .unsettled(turn: 5, reason: "the client left before the answer came"))
        try await run.value
    }

    @Test(arguments: [(16_384, 1), (16, 1 << 20)])
    func `Inputs that its loop has not taken are bounded, by their number and by their bytes`(
        _ count: Int, _ bytes: Int
    ) async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let input = [UInt8](repeating: 0, count: bytes)
        let submitted = (0..<count).map { _ in client.submit(input) }
        let full = StoreClient.Result.rejected("too many inputs are unanswered, or have an outcome that was not seen")
        #expect(await client.submit(input).result() == full)
        client.close()
        try await client.run()
        #expect(await submitted[0].result() == .unknown("the client left before the answer came"))
        let ended = StoreClient.Result.rejected("it was not sent, for the client has ended")
        for _ in 0...count { #expect(await client.submit(input).result() == ended, "what was taken makes room") }
    }

    @Test func `Of the effects of an input nobody can tell once the store has another timeline`() async throws {
        store.answers = { frame in
            switch frame {
            case .send(let inputs, _):
                [.receipt(inputs.map { Outcome(sequence: $0.sequence, turn: 5, verdict: .applied) }, credit: 9)]
            case .viewRequest: [.view(instance: .main, turn: 7, bytes: [7])]
            case .settle(let turn): [.settled(turn: turn, dead: ["of another"])]
            default: []
            }
        }
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let results = Mutex<[StoreClient.Result]>([])
        let send = Task {
            let result = await client.send([1])
            results.withLock { $0.append(result) }
        }
        try await eventually("it is applied") {
            try store.work()
            return results.withLock { !$0.isEmpty }
        }
        await send.value
        let result = results.withLock { $0.first }
        guard case .answered(let outcome)? = result else {
            Issue.record("\(String(describing: result))")
            return
        }
        try store.goodbye()
        store.timeline = Timeline(high: 8, low: 8)
        let views = Mutex<[StoreClient.View?]>([])
        let looking = Task {
            let view = try await client.view()
            views.withLock { $0.append(view) }
        }
        try await eventually("the client knows the other timeline") {
            try store.work()
            return views.withLock { !$0.isEmpty }
        }
        try await looking.value
        #expect(views.withLock { $0 } == [StoreClient.View(timeline: store.timeline, turn: 7, bytes: [7])])
        let settlements = Mutex<[StoreClient.Settlement]>([])
        let waiting = Task {
            let settlement = await client.settle(outcome)
            settlements.withLock { $0.append(settlement) }
        }
        try await eventually("it is told") {
            try store.work()
            return settlements.withLock { !$0.isEmpty }
        }
        await waiting.value
        #expect(settlements.withLock { $0 } == [.unknown("the store has another journal now")])
        #expect(!store.heard.contains { $0.kind == .settle })
        client.close()
        try await run.value
    }

    @Test func `A reader that has missed many signs of life finds the newest view, and what came last`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let view = StoreClient.View(timeline: .zero, turn: 7, bytes: [0xc0])
        var events = client.views().makeAsyncIterator()
        let told: [StoreClient.ViewEvent] = [.view(view)] + Array(repeating: .idle(turn: 7), count: 20) + [.stale]
        for case .watch(_, let watcher) in client.mailbox.takeAll() {
            for event in told { watcher.tell(event, newest: view) }
            watcher.finish()
        }
        let first = await events.next()
        #expect(first == .view(view))
        let second = await events.next()
        #expect(second == .stale)
    }

    @Test func `A request beyond those that may be open waits for the answer to another`() async throws {
        let limit = ClientMachine.Settings.standard.requests
        let turns = 1...limit + 100
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let answers = Mutex<[StoreClient.Settlement]>([])
        let waiting = Task {
            await withTaskGroup(of: StoreClient.Settlement.self) { group in
                for turn in turns { group.addTask { await client.settle(turn) } }
                for await answer in group { answers.withLock { $0.append(answer) } }
            }
        }
        var asked: Set<Int> = []
        try await eventually("all that may be open are asked for") {
            try store.work(publishes: false)
            for case .settle(let turn) in store.heard { asked.insert(turn) }
            return asked.count == limit
        }
        store.answers = { frame in if case .settle(let turn) = frame { [.settled(turn: turn, dead: [])] } else { [] } }
        let open = Array(asked)
        var told = 0
        try await eventually("all are answered") {
            // Some at a time, and again what a full socket has dropped.
            for turn in open[told..<min(told + 200, limit)] { try store.tell(.settled(turn: turn, dead: [])) }
            told = told + 200 < limit ? told + 200 : 0
            try store.work(publishes: false)
            return answers.withLock { $0.count } == turns.count
        }
        await waiting.value
        #expect(answers.withLock { $0.allSatisfy { $0 == .settled(dead: []) } })
        client.close()
        try await run.value
    }

    @Test func `Waits for views that were given up take no place from other requests`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let turns = (1...ClientMachine.Settings.standard.requests + 100).map { 1_000_000 + $0 }
        final class Taken: Sendable { let turns = Mutex<Set<Int>>([]) }
        let taken = Taken()
        let waiting = Task {
            await withTaskGroup(of: Void.self) { group in
                for turn in turns {
                    // It is given up, and so is what it ends with.
                    group.addTask {
                        _ = try? await client.view(atLeast: turn) { _ in taken.turns.withLock { _ = $0.insert(turn) } }
                    }
                }
            }
        }
        try await eventually("all are waited for") {
            try store.work(publishes: false)
            try store.tell(.waiting(turn: 1, on: "there is no such turn yet"))
            return taken.turns.withLock { $0.count } == turns.count
        }
        waiting.cancel()
        await waiting.value
        store.answers = { frame in if case .settle(let turn) = frame { [.settled(turn: turn, dead: [])] } else { [] } }
        let answer = Mutex<StoreClient.Settlement?>(nil)
        let settling = Task {
            let settlement = await client.settle(3)
            answer.withLock { $0 = settlement }
        }
        let settlement = try await eventually("another request is answered") {
            try store.work(publishes: false)
            return answer.withLock { $0 }
        }
        #expect(settlement == .settled(dead: []))
        await settling.value
        client.close()
        try await run.value
    }

    /// From now on, a write to this file fails as on a full disk for who has it open.
    private static func fill(_ file: String) {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let folder = "/proc/self/fd"
        // What cannot be listed or read has been closed meanwhile.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            if target == file, let number = CInt(name) { dup2(full, number) }
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `Whoever waits for a client is told of its end when its outbox cannot be written`() async throws {
        let scratch = try Scratch()
        let outbox = scratch.folder("outbox")
        let client = try StoreClient(at: try access(), outbox: outbox, logger: logger)
        // All that is handed over here is taken at once: one that is too large, and so is answered there, and then the others.
        let tooLarge = [UInt8](repeating: 0, count: ClientMachine.Settings.standard.inputBytes + 1)
        client.mailbox.post(.send(0, tooLarge, .main, isSeenAtOnce: true) { _ in Self.fill(outbox) })
        let inputs = [client.submit([1]), client.submit([2])]
        let views = client.views()
        let results = Mutex<[StoreClient.Result]>([])
        let hasEnded = Mutex(false)
        let waiting = Task {
            for input in inputs {
                let result = await input.result()
                results.withLock { $0.append(result) }
            }
            for await _ in views {}
            hasEnded.withLock { $0 = true }
        }
        defer { waiting.cancel() }
        await #expect(throws: OutboxError.self) { try await client.run() }
        try await eventually("all are told") { hasEnded.withLock { $0 } }
        #expect(
            results.withLock { $0 } == [
                .unknown("the client has ended"), .unknown("the client has ended"),
            ])
    }

    @Test func `With the last who watches the subscription ends, and who watches next has the view of then`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let watchers = [Watcher(), Watcher()]
        let watching = Task {
            await withTaskGroup(of: Void.self) { group in
                for watcher in watchers { group.addTask { await watcher.follow(client, until: \.isView) } }
            }
        }
        var wasWatched = false
        try await eventually("both have seen a view") {
            store.turn += 1
            try store.work()
            wasWatched = wasWatched || store.isWatched
            return watchers.allSatisfy { $0.events.contains(where: \.isView) }
        }
        #expect(wasWatched)
        await watching.value
        try await eventually("there is no subscription") {
            store.turn += 1
            try store.work()
            return !store.isWatched
        }
        let turn = store.turn
        let next = Watcher()
        let watch = Task { await next.follow(client) }
        try await eventually("the next one has the view of then") {
            try store.work()
            return next.events.contains(where: \.isView)
        }
        let view = StoreClient.View(timeline: store.timeline, turn: turn, bytes: [UInt8(truncatingIfNeeded: turn)])
        #expect(next.events.first(where: \.isView) == .view(view))
        client.close()
        try await run.value
        await watch.value
    }

    @Test func `Who leaves while nothing is heard of the store is forgotten, and then there is no subscription`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let watcher = Watcher()
        let watching = Task { await watcher.follow(client, until: { $0 == .stale }) }
        try await eventually("the view is shown") {
            try store.work()
            return watcher.events.contains(where: \.isView)
        }
        try await eventually("it may be old") {
            try store.work(publishes: false)
            return watcher.events.last == .stale
        }
        await watching.value
        store.answers = { frame in if case .settle(let turn) = frame { [.settled(turn: turn, dead: [])] } else { [] } }
        let hasSettled = Mutex(false)
        let settling = Task {
            _ = await client.settle(1)
            hasSettled.withLock { $0 = true }
        }
        try await eventually("the loop has gone on since, and there is no subscription") {
            try store.work(publishes: false)
            return hasSettled.withLock { $0 } && !store.isWatched
        }
        await settling.value
        let next = Watcher()
        let watch = Task { await next.follow(client) }
        try await eventually("the next one is told of a subscription that begins") {
            try store.work(publishes: false)
            return !next.events.isEmpty
        }
        #expect(next.events.first == .resyncing, "the view that the one before was shown is no more")
        client.close()
        try await run.value
        await watch.value
    }

    @Test func `A client is told of each reader that leaves, and is kept by none that it has not taken`() throws {
        weak var dropped: StoreClient?
        do {
            let client = try StoreClient(at: try access(), logger: logger)
            dropped = client
            var (came, left): ([UInt64], [UInt64]) = ([], [])
            for _ in 1...3 { _ = client.views() }
            for command in client.mailbox.takeAll() {
                switch command {
                case .watch(let id, _): came.append(id)
                case .forget(let id): left.append(id)
                default: Issue.record("\(command)")
                }
            }
            #expect(came.count == 3 && came == left)
            _ = client.views()
        }
        #expect(dropped == nil)
    }

    @Test func `The wait for a view of a turn ends with its timeline, and who wants any has one of the next`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let told = Mutex(0)
        let waiting = Task { @Sendable in
            defer { told.withLock { $0 += 1 } }
            return try await client.view(atLeast: 900)
        }
        try await eventually("it is asked for") {
            try store.work()
            return store.heard.contains(.viewRequest(instance: .main, atLeast: 900))
        }
        let looking = Task { @Sendable in
            defer { told.withLock { $0 += 1 } }
            return try await client.view()
        }
        try await eventually("any view is asked for") {
            try store.work()
            return store.heard.contains(.viewRequest(instance: .main, atLeast: 0))
        }
        try store.goodbye()
        store.timeline = Timeline(high: 8, low: 8)
        store.answers = { frame in
            if case .viewRequest = frame { [.view(instance: .main, turn: 3, bytes: [3])] } else { [] }
        }
        try await eventually("both are told") {
            try store.work()
            return told.withLock { $0 == 2 }
        }
        await #expect(throws: OtherTimeline(timeline: store.timeline)) { try await waiting.value }
        #expect(try await looking.value == StoreClient.View(timeline: store.timeline, turn: 3, bytes: [3]))
        client.close()
        try await run.value
    }

    @Test func `Who begins to watch while nothing is heard of the store is told that its view may be old`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let (early, late) = (Watcher(), Watcher())
        let watching = Task { await early.follow(client) }
        try await eventually("the view is shown") {
            try store.work()
            return early.events.contains(where: \.isView)
        }
        try await eventually("it may be old") {
            try store.work(publishes: false)
            return early.events.last == .stale
        }
        let watchingLate = Task { await late.follow(client) }
        try await eventually("that is told with the view") {
            try store.work(publishes: false)
            return late.events.count == 2
        }
        let view = StoreClient.View(timeline: store.timeline, turn: store.turn, bytes: [UInt8(store.turn)])
        #expect(late.events == [.view(view), .stale])
        client.close()
        try await run.value
        await watching.value
        await watchingLate.value
    }

    @Test func `Whoever waits for the first answer of the store need not wait for another`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let count = Mutex(0)
        let waiting = Task {
            for _ in 1...2 {
                try await client.waitUntilConnected()
                count.withLock { $0 += 1 }
            }
        }
        try await eventually("the first is told") {
            try store.work()
            return count.withLock { $0 >= 1 }
        }
        // The store says nothing any more.
        try await eventually("the second is told") { count.withLock { $0 == 2 } }
        try await waiting.value
        client.close()
        try await run.value
    }

    @Test(arguments: [nil, PeerError(.schema, "it runs another program")])
    func `A client that has ended ends again when it is run again, and in the same way`(_ refusal: PeerError?) async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let errors = Mutex<[PeerError.Code?]>([])
        let runs = Task {
            for _ in 1...2 {
                do {
                    try await client.run()
                    errors.withLock { $0.append(nil) }
                } catch {
                    errors.withLock { $0.append((error as? PeerError)?.code) }
                }
            }
        }
        try await eventually("it is connected") {
            try store.work(publishes: false)
            return store.greetings >= 1
        }
        if refusal == nil { client.close() }
        try await eventually("both runs have ended") {
            try store.work(publishes: false)
            // Again and again, since a client that was answered late has another connection.
            if let refusal { try store.tell(.error(refusal)) }
            return errors.withLock { $0.count == 2 }
        }
        await runs.value
        #expect(errors.withLock { $0 } == [refusal?.code, refusal?.code])
        guard refusal != nil else { return }
        for _ in 1...2 { await #expect(throws: PeerError.self) { try await client.waitUntilConnected() } }
    }

    @Test func `A client that runs already is not run a second time, and goes on`() async throws {
        store.answers = { frame in if case .settle(let turn) = frame { [.settled(turn: turn, dead: [])] } else { [] } }
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        try await eventually("it is connected") {
            try store.work(publishes: false)
            return store.greetings >= 1
        }
        await #expect(throws: PeerError(.misuse, "this client runs already")) { try await client.run() }
        let hasSettled = Mutex(false)
        let settling = Task {
            _ = await client.settle(1)
            hasSettled.withLock { $0 = true }
        }
        try await eventually("the first one is at work") {
            try store.work(publishes: false)
            return hasSettled.withLock { $0 }
        }
        await settling.value
        client.close()
        try await run.value
    }

    @Test func `A client of an instance whose key is longer than any store takes cannot be made`() throws {
        _ = try StoreClient(at: try access(), instance: Instance(String(repeating: "é", count: 64)), logger: logger)
        let long = Instance(String(repeating: "a", count: 129))
        #expect(throws: PeerError(.misuse, "an instance key of 129 bytes; 128 at most")) {
            try StoreClient(at: try access(), instance: long, logger: logger)
        }
    }

    @Test func `Why there is no view is in the log, once, for who waits for one and has not asked to be told`() async throws {
        let reason = "there is no view: it is off"
        store.answers = { frame in if case .viewRequest = frame { [.waiting(turn: 1, on: reason)] } else { [] } }
        let lines = Lines()
        let client = try StoreClient(at: try access(), logger: Logger(label: "test") { _ in LineHandler(lines: lines) })
        let run = Task { try await client.run() }
        defer { client.close() }
        let told = Mutex<[String]>([])
        let asking = Task { try await client.view { why in told.withLock { $0.append(why) } } }
        try await eventually("who has asked is told") {
            try store.work(publishes: false)
            return told.withLock { $0.count >= 1 }
        }
        #expect(!lines.all.contains { $0.contains(reason) })
        var waiting: [Task<StoreClient.View?, any Error>] = []
        for count in 2...3 {
            waiting.append(Task { try await client.view() })
            try await eventually("another one waits") {
                try store.work(publishes: false)
                return told.withLock { $0.count >= count }
            }
        }
        client.close()
        try await run.value
        for task in waiting + [asking] { #expect(try await task.value == nil) }
        #expect(told.withLock { Set($0) } == [reason])
        #expect(lines.all.filter { $0.contains(reason) } == ["warning: views are waited for: \(reason)"])
    }

    @Test func `A client that has ended before the store has answered is no connected one`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        client.close()
        try await client.run()
        await #expect(throws: PeerError(.misuse, "this client has ended")) { try await client.waitUntilConnected() }
    }

    @Test func `Whoever is cancelled waits neither for effects nor for a view`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        let settlement = Task { await client.settle(3) }
        let view = Task { try await client.view(atLeast: 9) }
        try await eventually("both are asked for") {
            try store.work(publishes: false)
            return store.heard.contains { $0.kind == .settle } && store.heard.contains { $0.kind == .viewRequest }
        }
        settlement.cancel()
        view.cancel()
        #expect(await settlement.value == .unknown("the task was cancelled"))
        #expect(try await view.value == nil)
        client.close()
        try await run.value
    }

    /// What waits for an answer, and what it ends with when it is cancelled before the client runs.
    private static let requests: [(@Sendable (StoreClient) async throws -> String, answer: String)] = [
        ({ "\(await $0.send([1]))" }, #"rejected("it was not sent, for the task was cancelled")"#),
        ({ "\(await $0.settle(3))" }, #"unknown("the task was cancelled")"#),
        ({ "\(try await $0.view(atLeast: 9).map(\.turn) ?? 0)" }, "0"),
        ({ "\(await $0.page(.views(after: 3, in: nil)))" }, #"none("the task was cancelled")"#),
    ]

    @Test(arguments: [false, true], 0..<4)
    func `Who is cancelled before the client runs is answered at once, and nothing of it is sent`(
        _ isPosted: Bool, _ index: Int
    ) async throws {
        let (request, words) = Self.requests[index]
        let client = try StoreClient(at: try access(), logger: logger)
        let answer = Mutex<String?>(nil)
        let waiting = Task {
            let text = try await request(client)
            answer.withLock { $0 = text }
        }
        if isPosted {
            try await eventually("it is posted") {
                var mailbox = pollfd(fd: client.mailbox.wakeup.fileDescriptor, events: Int16(POLLIN), revents: 0)
                return poll(&mailbox, 1, 0) == 1
            }
        }
        waiting.cancel()
        let told = try await eventually("it is answered") { answer.withLock { $0 } }
        #expect(told == words)
        try await waiting.value
        let left = client.mailbox.takeAll()
        #expect(left.isEmpty, "\(left)")
    }

    @Test func `Who is cancelled while the client runs hears what became of its input all the same`() async throws {
        store.answers = { frame in
            guard case .send(let inputs, _) = frame else { return [] }
            return [.receipt(inputs.map { Outcome(sequence: $0.sequence, turn: 5, verdict: .applied) }, credit: 9)]
        }
        let client = try StoreClient(at: try access(), logger: logger)
        let run = Task { try await client.run() }
        defer { client.close() }
        try await eventually("it is connected") {
            try store.work(publishes: false)
            return store.greetings >= 1
        }
        let result = Mutex<StoreClient.Result?>(nil)
        let sending = Task {
            let answer = await client.send([1])
            result.withLock { $0 = answer }
        }
        sending.cancel()
        let told = try await eventually("it is answered") {
            try store.work(publishes: false)
            return result.withLock { $0 }
        }
        #expect(told == .answered(Outcome(sequence: 1, turn: 5, verdict: .applied)))
        await sending.value
        client.close()
        try await run.value
    }

    @Test func `Who gives up the wait for the first answer takes it from nobody, and is not told that it came`() async throws {
        let client = try StoreClient(at: try access(), logger: logger)
        let impatient = Task { try await client.waitUntilConnected() }
        let hasWaited = Mutex(false)
        let patient = Task {
            try await client.waitUntilConnected()
            hasWaited.withLock { $0 = true }
        }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        let late = Task { try await client.waitUntilConnected() }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(!hasWaited.withLock { $0 })
        let run = Task { try await client.run() }
        // A client that has its answer greets no more: one that is taken from who waits does not come again.
        try await eventually("the other one is told") {
            try store.work()
            return hasWaited.withLock { $0 }
        }
        try await patient.value
        client.close()
        try await run.value
    }
}
