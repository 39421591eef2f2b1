import Observation
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import Synchronization
import Testing

@testable import ContractProgram

/// What a program of a client sees of a store in another process.
@Suite(.serialized) struct ConnectorContractTests {
    @Test func `A live view can be observed, and tells when it is stale and when it is live again`() async throws {
        let cluster = try await Cluster()
        try await cluster.connected { connector in
            let live = await LiveView(connector)
            #expect(await live.status == .connecting)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await live.follow() }
                try await eventually("the first view") { await live.view?.count == 0 }
                #expect(await live.status == .live)
                let changes = await observed(live)
                _ = try await connector.turn(of: .increment(by: 4))
                try await eventually("the change") { await live.view?.count == 4 }
                #expect(changes.isSet)
                try await cluster.killStore()
                try await eventually("it is stale") { await live.status == .stale }
                #expect(await live.view?.count == 4, "what was seen stays")
                try await cluster.startStore()
                try await eventually("it is live again") { await live.status == .live }
                group.cancelAll()
            }
        }
    }

    @Test func `A part of the view comes without repetitions`() async throws {
        let cluster = try await Cluster()
        let (phases, pairs) = try await cluster.connected { connector in
            var phases: [String] = []
            for await phase in connector.views(\.phase) {
                phases.append(phase)
                if phase == "done" { break }
                _ = try await connector.turn(of: .increment(by: 1))
                _ = try await connector.turn(of: .turnedTo(phase: "done"))
            }
            var pairs: [ViewPair<Int, String>] = []
            for await pair in connector.views(\.count, \.phase) {
                pairs.append(pair)
                break
            }
            return (phases, pairs)
        }
        #expect(phases == ["initial", "done"])
        #expect(pairs.map { "\($0.first) \($0.second)" } == ["1 done"])
    }

    @Test func `A reader of every view is told aloud when the store was restarted meanwhile`() async throws {
        let cluster = try await Cluster()
        let gap: ViewGap? = try await cluster.connected { connector -> ViewGap? in
            do {
                for try await view in connector.views(.lossless) where view.state.count == 0 {
                    _ = try await connector.turn(of: .increment(by: 1))
                    try await cluster.killStore()
                    try await cluster.startStore()
                }
                return nil
            } catch let gap as ViewGap {
                return gap
            }
        }
        #expect(gap?.reason == "the store does not keep them any more, or was restarted")
    }

    @Test func `A settled send waits for what its effects cause`() async throws {
        let cluster = try await Cluster()
        let worker = try cluster.startWorker()
        let count = try await cluster.connected { connector in
            let turn = try await connector.turn(of: .work(jobs: 8, milliseconds: 30), wait: .settled)
            return try await connector.view(atLeast: turn)?.state.count
        }
        #expect(count == 8)
        #expect(worker.end == nil)
    }
}

/// Set by the first change of the view.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}

@MainActor private func observed(_ live: LiveView<Contract>) -> Flag {
    let flag = Flag()
    withObservationTracking {
        _ = live.view
    } onChange: {
        flag.set()
    }
    return flag
}
