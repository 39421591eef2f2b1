import ChaosSupport
import Foundation
import ProcessSupport
import Testing

extension KeyedTests {
    /// So many are promised; twice as many where the limit of descriptors has room for them.
    private static let crowd = 5_000

    private static func size(room: Int) -> Int {
        guard ChaosSettings.isLong else { return 300 }
        return room >= 2 * crowd ? 2 * crowd : min(room, crowd)
    }

    @Test(.timeLimit(.minutes(10)))
    func `A client with a key costs little memory on both doors, and all are back soon after the store was killed`() async throws {
        let ticket = await TurnstileTicket(.clusters)
        defer { withExtendedLifetime(ticket) {} }
        let processes = ChaosSettings.isLong ? 8 : 2
        let store = try await KeyedStore(
            in: scratch,
            keys: [("operator", ["--role", "operator"])] + KeyedCrowd.keys(processes, sessions: 10_000, hellos: 1_000))
        let room = try await store.number("maximumClients")
        let count = Self.size(room: room)
        print("\(count) clients with keys, each on both doors; the descriptors have room for \(room)")

        let (empty, own) = (try #require(try store.process.residentKibibytes), try store.process.processorSeconds)
        let began = machineTime()
        let crowd = try KeyedCrowd(count, of: store, processes: processes)
        try await crowd.isInside(since: began, within: .seconds(120))
        let entered = Double(machineTime() - began) / 1_000
        let spent = try store.process.processorSeconds - own
        let full = try #require(try store.process.residentKibibytes)
        let each = Double(full - empty) / Double(2 * count)
        let attempts = try #require(try crowd.report()).attempts
        print(
            "all in after \(entered) s: \(Int(Double(attempts) / entered)) connections begun a second, with "
                + "\(spent * 1_000 / Double(attempts)) ms of the store and "
                + "\(crowd.processorSeconds * 1_000 / Double(attempts)) ms of the clients for each; "
                + "\(Int(Double(2 * count) / entered)) handshakes a second stayed; \(each) KiB for each")
        #expect(try await store.number("clients") == count)
        #expect(each <= 100, "from \(empty) to \(full) KiB for \(2 * count) connections")

        let killed = machineTime()
        try await store.restart()
        let served = machineTime()
        try await crowd.isInside(since: killed, within: .seconds(30))
        let back = machineTime()
        let report = try #require(try crowd.report())
        print(
            "all back \(Double(back - served) / 1_000) s after the restart, \(Double(back - killed) / 1_000) s after the kill, "
                + "with \(report.attempts - attempts) connections begun, those included that nobody answered")
        #expect(report.refusals == 0)
        #expect(try await store.number("clients") == count)
        let again = Double(try #require(try store.process.residentKibibytes) - empty) / Double(2 * count)
        #expect(again <= 100, "\(again) KiB for each connection after the restart")
    }
}
