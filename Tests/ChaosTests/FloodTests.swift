import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// A store with keys whose ports are reached by peers that nobody knows.
@Suite(
    .serialized,
    .enabled("network namespaces need root, `unshare`, `nsenter`, `ip` and `ss`: no flood of strangers is tested") {
        await Namespaces.areAvailable()
    })
struct FloodTests {
    private static let clients = 50

    @Test(.timeLimit(.minutes(10)))
    func `A thousand strangers that connect and reconnect drive nobody out, lose nothing, and slow others no more than they must`()
        async throws
    {
        let seconds = ChaosSettings.isLong ? 20 : 3
        // Strangers do not touch the disk, and the listener has none: what other tests do to it must not be measured.
        let flooded = try await FloodedStore(in: Scratch(inMemory: true), clients: Self.clients)
        let before = try #require(try flooded.crowd.report())
        var bare: [Int] = []
        var ours: [Int] = []
        // In turn, so that what else the machine does meets both.
        for round in 1...3 {
            let yardstick = try await flooded.bareLatency(seconds)
            let (latency, report) = try await flooded.latency(seconds)
            print("round \(round), bare listener: \(yardstick)")
            print("round \(round), store: \(latency)")
            #expect(yardstick.missing == 0)
            for flood in [yardstick.flood, latency.flood] {
                #expect(flood.refused > 10 && flood.noisy > 10)
                #expect(flood.share < 0.6)
            }
            #expect(report.judgedBy.evidence == "journal")
            for fault in [latency.missing, report.duplicated, report.outOfOrder, report.contradicted] {
                #expect(fault == 0, "\(report.findings)")
            }
            bare.append(yardstick.p99)
            ours.append(latency.p99)
        }
        let after = try #require(try flooded.crowd.report())
        #expect(after.inside == Self.clients && after.attempts == before.attempts, "\(before), then \(after)")
        #expect(try await flooded.workers() == 1)
        #expect(try await flooded.deadWorkers() == 0)
        #expect(flooded.store.child.end == nil, "\(flooded.store.child.errors.suffix(2_000))")

        let (p99, yardstick) = (ours.sorted()[1], bare.sorted()[1])
        let ratio = Double(p99) / Double(yardstick)
        print("p99 of the median round: \(p99) µs, at the bare listener \(yardstick) µs: \(ratio) times that")
        #expect(p99 < 250_000)
        #expect(p99 < 3 * yardstick)
    }
}
