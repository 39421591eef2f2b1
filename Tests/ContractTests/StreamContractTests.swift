import Foundation
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import Testing

@testable import ContractProgram

/// What jobs do before their end, across processes that are killed.
@Suite(.serialized) struct StreamContractTests {
    @Test func `A stream goes on after kills of its worker and of the store, and each message is applied once, in order`()
        async throws
    {
        let cluster = try await Cluster()
        let count = 120
        var worker = try cluster.startWorker()
        try await cluster.connected { _ = try await $0.turn(of: .stream(count: count, milliseconds: 20)) }
        for round in 1...4 {
            try await cluster.eventuallyView("round \(round)") { $0.streamed.count >= round * 20 }
            if round % 2 == 0 {
                try await cluster.killStore()
                try await cluster.startStore()
            } else {
                worker.send(SIGKILL)
                try await worker.wait()
                worker = try cluster.startWorker()
            }
        }
        let state = try await cluster.eventuallyView("the stream has ended") { $0.phase == "streamed" }
        #expect(state.streamed == Array(1...count))
        #expect(state.notes == [])
    }

    @Test func `A store that hangs holds a stream up, and nothing is lost or doubled`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        try await cluster.connected { _ = try await $0.turn(of: .stream(count: 500, milliseconds: 5)) }
        try await cluster.eventuallyView("it streams") { $0.streamed.count >= 20 }
        cluster.signalStore(SIGSTOP)
        // Longer than the window lasts, shorter than the silence after which peers look for another store.
        try await Task.sleep(for: .seconds(2))
        cluster.signalStore(SIGCONT)
        let state = try await cluster.eventuallyView("the stream has ended") { $0.phase == "streamed" }
        #expect(state.streamed == Array(1...500))
        #expect(worker.end == nil)
    }

    @Test func `Progress is shown while a job runs`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        try await cluster.connected { _ = try await $0.turn(of: .stream(count: 100, milliseconds: 100)) }
        try await eventually("progress is shown") {
            let output = try await cluster.run("effects", "--json").output
            return output.contains(" of 100") && output.contains(#""fraction":0."#)
        }
        #expect(worker.end == nil)
    }

    @Test func `A cancelled effect stops its handler at once`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        let file = cluster.scratch.folder("hang")
        try await cluster.connected { _ = try await $0.turn(of: .hang(file: file, id: "h")) }
        try await eventually("it runs") { text(file) == "started\n" }
        try await cluster.connected { connector in
            _ = try await connector.turn(of: .cancel(id: "h"))
            let begun = ContinuousClock.now
            try await eventually("it is cancelled") { text(file) == "started\ncancelled\n" }
            #expect(ContinuousClock.now - begun < .seconds(5))
        }
        #expect(worker.end == nil)
    }

    @Test func `A cancellation reaches a handler while its worker drains, and the worker then ends at once`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        let file = cluster.scratch.folder("hang")
        try await cluster.connected { _ = try await $0.turn(of: .hang(file: file, id: "h")) }
        try await eventually("it runs") { text(file) == "started\n" }
        try await cluster.connected { connector in
            // A connection takes its time, and the worker drains for no more than three seconds.
            _ = try await connector.view()
            worker.send(SIGTERM)
            _ = try await connector.turn(of: .cancel(id: "h"))
            try await eventually("it is cancelled", within: .seconds(2)) { text(file).contains("cancelled") }
        }
        #expect(try await worker.wait() == .exited(0), "\(worker.errors)")
        #expect(try await cluster.run("effects", "--json").output.contains(#""openCount":0"#))
    }

    @Test func `A draining worker gives its job back, and the next one does it without a new attempt`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        let file = cluster.scratch.folder("hang")
        try await cluster.connected { _ = try await $0.turn(of: .hang(file: file, id: "h")) }
        try await eventually("it runs") { text(file) == "started\n" }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0), "\(worker.errors)")
        let next = try cluster.startWorker()
        try await eventually("another runs it") { text(file) == "started\ncancelled\nstarted\n" }
        let effects = try await cluster.run("effects", "--json").output
        #expect(effects.contains(#""failures":0"#) || effects.contains(#""attempts":0"#), "\(effects)")
        #expect(next.end == nil)
    }

    @Test func `Each group gets a copy, and answers for itself`() async throws {
        let cluster = try await Cluster()
        let search = try cluster.startWorker("--queue", "search")
        try await cluster.connected { _ = try await $0.turn(of: .publish(text: "news")) }
        try await cluster.eventuallyView("search has it") { $0.notes == ["search has news"] }
        let mail = try cluster.startWorker("--queue", "mail=1")
        try await cluster.eventuallyView("mail has it") { $0.notes == ["search has news", "mail has news"] }
        #expect(search.end == nil && mail.end == nil)
    }

    @Test func `An effect that no handler takes fails at once, by name`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        try await cluster.connected { _ = try await $0.turn(of: .unknown()) }
        let notes = try await cluster.eventuallyView("the program is told") { !$0.notes.isEmpty }.notes
        #expect(notes == ["could not be handled after 1 attempt: no handler of this worker takes unknown from queue default"])
        #expect(worker.end == nil)
    }

    @Test func `An environment is torn down when its worker ends in order`() async throws {
        let cluster = try await Cluster()
        let diary = cluster.scratch.folder("run-diary")
        let worker = try cluster.startWorker()
        try await cluster.connected { _ = try await $0.turn(of: .work(jobs: 1, milliseconds: 0)) }
        try await cluster.eventuallyView("it works") { $0.count == 1 }
        worker.send(SIGTERM)
        #expect(try await worker.wait(within: .seconds(8)) == .exited(0), "\(worker.errors)")
        #expect(text(diary) == "torn down \(worker.id)\n")
    }
}

private func text(_ file: String) -> String {
    FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) } ?? ""
}
