import Foundation
import ProcessSupport
import Testing

/// A disk that is filled and freed while clients send.
@Suite(.serialized, .enabled("a small file system is mounted for it, which needs root and Linux") { SmallDisk.isAvailable })
struct FullDiskTests {
    @Test func `Clients wait for space, status and views go on, and nothing is lost or doubled`() async throws {
        let scratch = try Scratch()
        let disk = try SmallDisk(at: scratch.folder("disk"), megabytes: 32)
        let store = try await CounterStore(in: scratch, data: disk.path + "/data")
        let monitor = try store.start(["monitor"])
        let input = (1...300).map { _ in "increment" }.joined(separator: "\n")
        var clients = try (1...2).map { _ in try store.start(["send", "-", "--timeout", "60s"], input: input) }
        try await eventually("the clients are at work") { clients.allSatisfy { !$0.output.isEmpty } }

        try disk.fill()
        // The others may have been quick. With an outbox it takes its inputs, whether the store welcomes it now or later.
        let outbox = scratch.folder("late.outbox")
        clients.append(try store.start(["send", "-", "--timeout", "60s", "--outbox", outbox], input: input))
        try await eventually("the disk is full") {
            try await store.run("status", "--json").output.contains(#""phase":"disk full""#)
        }
        let taken = try await store.status("turn")
        let status = try await store.run("status")
        #expect(status.output.contains("the disk is full since"), "\(status.output)")
        let durability = try await store.run("status", "--json").json["durability"] as? String
        #expect(durability == "process: the data folder is on a file system in memory, so nothing outlives the machine")
        let late = try await store.run("send", "increment", "--timeout", "5s")
        #expect(late.end == .exited(75) && late.errors.contains("the disk of the store is full"), "\(late.errors)")
        let effects = try await store.run("effects")
        #expect(effects.end == .exited(75) && effects.errors.contains("the disk of the store is full"), "\(effects.errors)")
        let queues = try await store.run("queues")
        #expect(queues.end == .exited(75) && queues.errors.contains("“disk full”") && queues.output == "", "\(queues.errors)")
        // Longer than the silence after which a subscriber takes its store for dead.
        try await eventually("five seconds have passed") {
            try await store.status("diskFullSeconds") >= 5
        }
        #expect(!monitor.errors.contains("no sign of the store"), "\(monitor.errors)")
        #expect(try await store.status("turn") == taken)
        #expect(clients.contains { $0.end == nil })

        try disk.free()
        for client in clients {
            #expect(try await client.wait() == .exited(0), "\(client.errors)")
            #expect(client.output.split(separator: "\n").count == 300)
        }
        #expect(try await store.run("view").output.contains(#""sync":"900""#))
        try await eventually("the monitor shows it") { monitor.output.contains("900") }
        #expect(try await store.status("applied") == 900)
    }
}

/// A disk that has no room for a snapshot, and some for the journal.
@Suite(.serialized, .enabled("a small file system is mounted for it, which needs root and Linux") { SmallDisk.isAvailable })
struct FullSnapshotDiskTests {
    @Test func `A snapshot that does not fit is given up and said, turns go on, and one is made when there is room`() async throws {
        let scratch = try Scratch()
        // The folder of the snapshots is a disk of its own.
        let disk = try SmallDisk(at: scratch.folder("data") + "/snapshots", megabytes: 1)
        try disk.fill()
        let store = try await CounterStore(
            workers: 0, in: scratch, variables: ["SAMOVAR_STORE_SNAPSHOT_TURNS": "20"])
        try await store.increment(40)
        try await eventually("the store says so") { store.up.errors.contains("no snapshot: ") }
        #expect(store.up.errors.contains("No space left on device"), "\(store.up.errors)")
        #expect(try disk.names == ["ballast"])
        try await store.increment(40)
        #expect(try await store.status("starts") == 1)

        try disk.free()
        try await eventually("it is tried again, and kept") {
            try await store.increment(40)
            // Beside it there may be one that is being written.
            return try disk.names.contains { Int($0) != nil }
        }
        let sum = try #require(try await store.run("view").output.firstMatch(of: /"sync":"\d+"/)).output
        try disk.fill()
        try await store.kill()
        let again = try await CounterStore(workers: 0, in: scratch)
        #expect(try await again.run("view").output.contains(sum))
        #expect(try await again.status("starts") == 2)
        // The last one does not fit: a stop in order is one all the same.
        try await again.stop()
        #expect(again.up.errors.contains("no snapshot: "), "\(again.up.errors)")
        let verified = try await again.run("journal", "verify")
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
    }
}
