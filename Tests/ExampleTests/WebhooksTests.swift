import Foundation
import ProcessSupport
import SamovarCore
import SamovarTesting
import Testing

@testable import WebhooksExample

@Suite struct WebhooksTests {
    private static let url = "http://127.0.0.1/a"

    private static func event(_ id: Int, of endpoint: String = "a") -> Webhooks.Event {
        Webhooks.Event(endpoint: endpoint, id: "\(id)", body: "{}")
    }

    private static func delivery(_ id: Int) -> Webhooks.Effect { .deliver(event(id), url: url) }

    /// A store with an endpoint for which so many events wait.
    private static func store(waiting count: Int) throws -> TestStore<Webhooks> {
        let store = try TestStore(Webhooks.self)
        store.send(.register(endpoint: "a", url: url)) { $0.endpoints["a"] = Webhooks.Endpoint(url: url) }
        for id in 0..<count { store.send(.event(endpoint: "a", id: "\(id)", body: "{}")) { $0.endpoints["a"]?.waiting += 1 } }
        return store
    }

    private static func deliver(_ id: Int, _ store: TestStore<Webhooks>) {
        store.complete(delivery(id), with: .delivered(endpoint: "a")) {
            $0.endpoints["a"]?.delivered += 1
            $0.endpoints["a"]?.waiting -= 1
        }
    }

    /// An event is given up, which stops its lane.
    private static func fail(_ id: Int, _ store: TestStore<Webhooks>) {
        store.fail(delivery(id), .threw, "status 404") {
            $0.endpoints["a"]?.dead = Webhooks.DeadEvent(id: "\(id)", reason: "failed after 1 attempt: status 404")
        }
    }

    @Test func `Events of an endpoint are delivered one after the other, as fast as the rate lets them`() throws {
        let store = try Self.store(waiting: 3)
        store.expectRules(
            QueueRules(rate: .init(500, per: .seconds(1), burst: 50), shares: .init()), of: Webhooks.deliveries)
        store.expectEffects([0, 1, 2].map(Self.delivery))
        for id in 0..<3 { Self.deliver(id, store) }
        store.finish()
    }

    @Test func `An attempt that fails is made again after a pause`() throws {
        let store = try Self.store(waiting: 1)
        store.failAttempt(Self.delivery(0), "status 500")
        store.advance(toNextAttemptOf: Self.delivery(0))
        Self.deliver(0, store)
        store.finish()
    }

    @Test func `A dead event stops its lane until a probe finds the endpoint up again`() throws {
        let store = try Self.store(waiting: 2)
        Self.fail(0, store)
        store.expectDeadEffects([Self.delivery(0)])
        store.expectEffects([Self.delivery(1)])
        store.advance(by: .seconds(2))
        let probe = Webhooks.Effect.probe(endpoint: "a", url: Self.url)
        store.complete(probe, with: .probed(endpoint: "a", isUp: false))
        store.advance(by: .seconds(2))
        store.complete(probe, with: .probed(endpoint: "a", isUp: true)) { $0.endpoints["a"]?.dead = nil }
        store.expectDeadEffects([])
        for id in 0..<2 { Self.deliver(id, store) }
        store.finish()
    }

    @Test func `A person requeues or drops the dead event, in the panel or as an operator`() throws {
        for asOperator in [false, true] {
            let store = try Self.store(waiting: 2)
            Self.fail(0, store)
            if asOperator {
                store.requeue(Self.delivery(0)) { $0.endpoints["a"]?.dead = nil }
            } else {
                store.send(.requeue(endpoint: "a")) { $0.endpoints["a"]?.dead = nil }
            }
            Self.fail(0, store)
            let forget: (inout Webhooks.State) -> Void = {
                $0.endpoints["a"]?.dead = nil
                $0.endpoints["a"]?.waiting -= 1
            }
            if asOperator { store.drop(Self.delivery(0), expect: forget) } else { store.send(.drop(endpoint: "a"), expect: forget) }
            store.expectRefusal(of: .requeue(endpoint: "a"), .nothingIsDead)
            Self.deliver(1, store)
            store.finish()
        }
    }

    @Test func `A paused endpoint and a paused service hand out nothing, over a restart, too`() throws {
        let store = try Self.store(waiting: 2)
        store.send(.pause(endpoint: "a")) { $0.endpoints["a"]?.isPaused = true }
        Self.deliver(0, store)
        store.pause(.queue(Webhooks.deliveries)) { $0.isPaused = true }
        store.restart()
        store.expectPaused([.queue(Webhooks.deliveries), .label(Webhooks.lane("a"))])
        store.send(.resume(endpoint: "a")) { $0.endpoints["a"]?.isPaused = false }
        store.send(.resume(endpoint: nil)) { $0.isPaused = false }
        // After a restart the rate begins without a burst.
        store.advance(by: .milliseconds(10))
        Self.deliver(1, store)
        store.finish()
    }

    @Test func `The panel shows the dead event with its buttons`() throws {
        let store = try Self.store(waiting: 1)
        Self.fail(0, store)
        guard case .table(let table)? = store.view.nodes.last else {
            Issue.record("no table: \(store.view)")
            return
        }
        #expect(
            table.rows == [
                [
                    .text("a"), .text("0"), .text("1"), .button("pause", send: .pause(endpoint: "a")),
                    .button("requeue", send: .requeue(endpoint: "a")), .button("drop", send: .drop(endpoint: "a")),
                    .text("0: failed after 1 attempt: status 404", .bad),
                ]
            ])
        store.expectDeadEffects([Self.delivery(0)])
        store.send(.drop(endpoint: "a")) {
            $0.endpoints["a"]?.dead = nil
            $0.endpoints["a"]?.waiting = 0
        }
        store.finish()
    }

    /// The long form, of 2,000 events, is in the README of the examples.
    @Test func `Each event arrives at least once, under one key and in order, while processes are killed and the receiver fails`()
        async throws
    {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let scratch = try Scratch()
        let bin = URL(filePath: Executable.path("webhooks")).deletingLastPathComponent().path
        let path = "\(bin):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        let script = root.appending(path: "Examples/Webhooks/trial.py").path
        let trial = try Child(
            "/usr/bin/env", ["python3", script, "--events", "300", "--endpoints", "5", "--limit", "150"], in: scratch,
            variables: ["PATH": path])
        let status = try await trial.wait(within: .seconds(300))
        #expect(status == .exited(0), "\(trial.output)\n\(trial.errors)")
        #expect(trial.output.contains("each at least once, under one key, in order for each endpoint"))
    }
}
