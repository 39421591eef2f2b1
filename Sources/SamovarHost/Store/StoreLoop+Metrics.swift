import SQLiteJournal
import SamovarStore

extension StoreLoop {
    /// What `metrics` tells of this process and of the files of its journal.
    func ownProcess() -> ProcessFacts {
        ProcessFacts(
            ProcessMeter.own, journalBytes: DataFolder.journalBytes(at: configuration.journal.dataFolder),
            freeBytes: DataFolder.freeBytes(at: configuration.journal.dataFolder))
    }
}
