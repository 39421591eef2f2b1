import Benchmark
import Foundation
import Journal
import SQLiteJournal

/// Appends of 4 KiB, each with its sync. Times say something about the disk.
func journalBenchmarks() {
    let folder = NSTemporaryDirectory() + "/samovar-operations-\(ProcessInfo.processInfo.processIdentifier)"
    let bytes = [UInt8](repeating: 7, count: 4_096)
    var journal: SQLiteJournal?
    // A tenth of the others, for the disk is what takes the time.
    var configuration = Benchmark.defaultConfiguration
    configuration.maxIterations = 5
    // Always all of them: when the log is moved into the database, some more is allocated, and a slow disk would not come to that.
    configuration.maxDuration = .seconds(60)
    configuration.warmupIterations = 1
    configuration.setup = {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        journal = try SQLiteJournal(at: folder + "/data")
    }
    configuration.teardown = {
        try journal?.close()
        try FileManager.default.removeItem(atPath: folder)
    }
    measure("journal, append 4 KiB", configuration) {
        guard let journal else { preconditionFailure("there is no journal") }
        let turn = journal.last + 1
        try journal.append(Batch(first: turn, last: turn, bytes: bytes))
        return turn
    }
}
