import Foundation
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import Synchronization
import Testing

@testable import ContractProgram

/// The contracts of the designs that Samovar follows, across processes. Each test is named after its contract.
@Suite(.serialized) struct SeedContractTests {
    @Test func `C1: an observer sees initial, progress and loaded, in order`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        let phases = try await cluster.connected { connector in
            var phases: [String] = []
            for try await view in connector.views(.lossless) {
                if phases.isEmpty { _ = await connector.send(.load) }
                if phases.last != view.state.phase { phases.append(view.state.phase) }
                if view.state.phase == "loaded" { break }
            }
            return phases
        }
        #expect(phases == ["initial", "progress", "loaded"])
        #expect(worker.end == nil)
    }

    @Test func `C2: all messages of three workers are counted, though one is killed`() async throws {
        let cluster = try await Cluster()
        let workers = try (0..<3).map { _ in try cluster.startWorker() }
        let jobs = 150
        try await cluster.connected { connector in
            _ = try await connector.turn(of: .work(jobs: jobs, milliseconds: 20))
            try await eventually("some are done") { (try await connector.view()?.state.count ?? 0) >= 20 }
            workers[1].send(SIGKILL)
            // The supervisor that would report the death is missing here: silence tells.
            try await eventually("all are done") { try await connector.view()?.state.count == jobs }
        }
        #expect(try await workers[1].wait() == .killed(SIGKILL))
        let status = try await cluster.run("effects", "--json")
        #expect(status.output.contains(#""openCount":0"#), "\(status.output)")
    }

    @Test func `C3: start effects run by a worker that connects after the store has started`() async throws {
        let cluster = try await Cluster(seed: #"{"loads":true}"#)
        #expect(try await cluster.connected { try await $0.view()?.state.phase } == "initial")
        let worker = try cluster.startWorker()
        try await cluster.eventuallyView("it is loaded") { $0.phase == "loaded" }
        #expect(worker.end == nil)
    }

    @Test func `C5: a decrement stops at zero, and one journal gives two processes the same states`() async throws {
        let cluster = try await Cluster()
        let count = try await cluster.connected { connector in
            for input: Contract.Message in [.increment(by: 2), .decrement, .decrement, .decrement, .increment(by: 1)] {
                _ = try await connector.turn(of: input)
            }
            return try await connector.view()?.state.count
        }
        #expect(count == 1)
        try await cluster.killStore()
        let verified = try await cluster.runOffline("verify")
        #expect(verified.end == .exited(0), "\(verified.errors)")
        #expect(verified.output.hasPrefix("ok: "), "\(verified.output)")
        #expect(verified.output.hasSuffix(" states and 0 snapshots agree\n"), "\(verified.output)")
    }

    @Test func `C6: two starts give one timer`() async throws {
        let cluster = try await Cluster()
        let first = try await cluster.connected { connector in
            let first = try await connector.turn(of: .tick(true))
            _ = try await connector.turn(of: .tick(true))
            return first
        }
        let ticks = try await cluster.eventuallyView("it ticks") { $0.ticks.count >= 5 }.ticks
        #expect(ticks.allSatisfy { $0.activation == first }, "\(ticks)")
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1.nominal - $0.nominal >= .milliseconds(100) }, "\(ticks)")
    }

    @Test func `C7: a stop ends the ticks, over a restart too`() async throws {
        let cluster = try await Cluster()
        try await cluster.connected { _ = try await $0.turn(of: .tick(true)) }
        try await cluster.eventuallyView("it ticks") { $0.ticks.count >= 2 }
        let ticks = try await cluster.connected { connector in
            let turn = try await connector.turn(of: .tick(false))
            return try await connector.view(atLeast: turn)?.state.ticks
        }
        try await cluster.killStore()
        try await cluster.startStore()
        // Nothing shall happen: five intervals of nothing.
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await cluster.connected { try await $0.view()?.state.ticks } == ticks)
    }

    @Test func `C8: observers are notified of a change`() async throws {
        let cluster = try await Cluster()
        let counts = try await cluster.connected { connector in
            var counts: [Int] = []
            for await view in connector.views {
                counts.append(view.state.count)
                if counts.count == 1 { _ = await connector.send(.increment(by: 7)) }
                if view.state.count == 7 { break }
            }
            return counts
        }
        #expect(counts == [0, 7])
    }

    @Test func `C9: the first view comes right after the start, and to a late subscriber too`() async throws {
        let cluster = try await Cluster()
        #expect(try await cluster.connected { await $0.views.firstView?.state.count } == 0)
        _ = try await cluster.connected { try await $0.turn(of: .increment(by: 3)) }
        #expect(try await cluster.connected { await $0.views.firstView?.state.count } == 3)
    }

    @Test func `C10: a chain of follow-ups shows 0, 1, 2 in every view, and 2 when settled`() async throws {
        let cluster = try await Cluster()
        let (counts, settled) = try await cluster.connected { connector in
            var counts: [Int] = []
            var settled: Int?
            for try await view in connector.views(.lossless) {
                counts.append(view.state.count)
                if counts.count == 1 {
                    let turn = try await connector.turn(of: .chain(to: 2), wait: .settled)
                    settled = try await connector.view(atLeast: turn)?.state.count
                }
                if view.state.count == 2 { break }
            }
            return (counts, settled)
        }
        #expect(counts == [0, 1, 2])
        #expect(settled == 2)
    }

    @Test func `C11: whoever runs an effect can see the view of the turn that ordered it`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        try await cluster.connected { [address = cluster.address] connector in
            for _ in 0..<5 { _ = try await connector.turn(of: .look(endpoint: address)) }
        }
        let notes = try await cluster.eventuallyView("all have looked") { $0.notes.count == 5 }.notes
        for note in notes {
            let turns = note.split(separator: " ").compactMap { Int($0) }
            #expect(turns.count == 2 && turns[0] <= turns[1], "\(note)")
        }
        #expect(worker.end == nil)
    }

    @Test func `C12: the effects of a turn come before those of its follow-up, and their identities are sorted`() async throws {
        let cluster = try await Cluster()
        try await cluster.connected { _ = try await $0.turn(of: .orderThenOrder) }
        let worker = try cluster.startWorker("--slots", "1", "--queue", "default", "search", "mail")
        let notes = try await cluster.eventuallyView("all four have run") { $0.notes.count == 4 }.notes
        #expect(notes.map { $0.prefix { $0 != " " } } == ["first", "second", "search", "mail"])
        let keys = notes.prefix(2).compactMap { $0.split(separator: " ").last }.map {
            $0.split(separator: "/").suffix(2).joined(separator: "/")
        }
        #expect(keys == keys.sorted() && keys.first?.hasSuffix("/0") == true && keys.last?.hasSuffix("/1") == true, "\(keys)")
        #expect(worker.end == nil)
    }

    @Test(.enabled(if: ProcessTable.isAvailable))
    func `C13: watchers that are gone cost the store nothing`() async throws {
        let cluster = try await Cluster()
        /// Watchers that see a view, and die without a word.
        func watch(_ number: Int) async throws {
            let watchers = try (0..<number).map { _ in try cluster.start(["monitor"]) }
            for watcher in watchers {
                try await eventually("each sees a view") { !watcher.output.isEmpty }
                watcher.send(SIGKILL)
                try await watcher.wait()
            }
            try await eventually("all are forgotten") {
                let status = try await cluster.run("status", "--json").output
                return status.contains(#""clients":0"#) && status.contains(#""sessions":0"#)
            }
        }
        let store = try #require(ProcessTable.all(naming: cluster.address).first { $0.command == "store" })
        try await watch(4)
        let before = try #require(store.residentKibibytes)
        try await watch(12)
        let after = try #require(store.residentKibibytes)
        #expect(after - before < 4 * 1_024, "from \(before) to \(after) KiB")
    }

    @Test func `C15: a read after two sends sees both`() async throws {
        let cluster = try await Cluster()
        let count = try await cluster.connected { connector in
            _ = try await connector.turn(of: .increment(by: 1))
            let turn = try await connector.turn(of: .increment(by: 10))
            return try await connector.view(atLeast: turn)?.state.count
        }
        #expect(count == 11)
    }

    @Test(arguments: [ViewMode.latest, .lossless])
    func `C16: a subscription delivers the current value first`(_ mode: ViewMode) async throws {
        let cluster = try await Cluster()
        let first = try await cluster.connected { connector in
            _ = try await connector.turn(of: .increment(by: 5))
            for try await view in connector.views(mode) { return view.state.count }
            return -1
        }
        #expect(first == 5)
    }

    @Test func `C17: later values follow in order and none is missing`() async throws {
        let cluster = try await Cluster()
        let number = Int(ProcessInfo.processInfo.environment["CONTRACT_TURNS"] ?? "") ?? 10_000
        let counts = try await cluster.connected { connector in
            try await withThrowingTaskGroup(of: [Int].self) { group in
                let hasView = Mutex(false)
                group.addTask {
                    var counts: [Int] = []
                    for try await view in connector.views(.lossless) {
                        counts.append(view.state.count)
                        hasView.withLock { $0 = true }
                        if view.state.count == number { break }
                    }
                    return counts
                }
                // Only from the subscription on nothing is missing; before, increments would be in its first view.
                try await eventually("the first view") { hasView.withLock { $0 } }
                let senders = 64
                for sender in 0..<senders {
                    group.addTask {
                        for _ in 0..<(number / senders + (sender < number % senders ? 1 : 0)) {
                            _ = try await connector.turn(of: .increment(by: 1))
                        }
                        return []
                    }
                }
                var counts: [Int] = []
                for try await result in group where !result.isEmpty { counts = result }
                return counts
            }
        }
        #expect(counts.count == number + 1)
        #expect(counts == Array(0...number))
    }
}

extension Views {
    fileprivate var firstView: Element? {
        get async {
            for await view in self { return view }
            return nil
        }
    }
}
