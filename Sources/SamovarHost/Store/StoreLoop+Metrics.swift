import SQLiteJournal
import SamovarCore
import SamovarStore

extension StoreLoop {
    /// What `metrics` tells of this process and of the files of its journal, and how far the machine's clock is ahead of the loop's.
    func ownProcess(now: Timestamp) -> ProcessFacts {
        ProcessFacts(
            ProcessMeter.own, journalBytes: DataFolder.journalBytes(at: configuration.journal.dataFolder),
            freeBytes: DataFolder.freeBytes(at: configuration.journal.dataFolder), clockStep: HostClock.wall() - now)
    }
}
