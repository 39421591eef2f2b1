import SQLiteJournal
import SamovarStore

extension StoreLoop {
    /// What `metrics` tells of this process and of the files of its journal.
    func ownProcess() -> ProcessFacts {
        let sample = ProcessMeter.own
        return ProcessFacts(
            processorSeconds: sample.processorSeconds, residentBytes: Int(sample.residentBytes),
            journalBytes: DataFolder.journalBytes(at: configuration.journal.dataFolder),
            freeBytes: DataFolder.freeBytes(at: configuration.journal.dataFolder))
    }
}
