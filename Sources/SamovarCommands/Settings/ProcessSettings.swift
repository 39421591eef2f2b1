import Foundation
import Logging
import SamovarStore
import SamovarWire

/// The settings of a process. Each comes from a flag, else a `SAMOVAR_*` variable, else the file of `--config`, else it is
/// nil or the default.
///
/// The key `store.viewIntervalMilliseconds` of the file is the variable `SAMOVAR_STORE_VIEW_INTERVAL_MILLISECONDS`.
/// `config/local.yaml` explains each of them.
package struct ProcessSettings: Equatable, Sendable {
    package var data: String?
    /// The address of the journal; nil for the one in the data folder.
    package var journal: String?
    /// Where the store is reached; nil for the sockets that belong to the data folder.
    package var endpoint: String?
    /// The path of the file with a peer's key.
    package var key: String?
    package var insecureTcp = false
    /// The keys folder of a store.
    package var keys: String?
    package var logLevel: String?
    var slots: Int?
    /// What a worker may be told, by whatever source.
    static let slotRange = 1...65_536
    var readAhead: Int?
    /// The queues that a worker serves; empty for what the program says.
    var queues: [String] = []
    /// What a worker can do, for effects that need it.
    var capabilities: [String] = []
    var workers: Int?
    /// The newest turns that the journal keeps at least; nil keeps all.
    var retain: Int?
    var store = StoreSettings()
    /// How long a store keeps the connections after GOODBYE.
    var goodbye = Duration.seconds(1)
    /// What a person should know and what is no error, such as a misspelt variable.
    package var warnings: [String] = []
    /// What names the store, for whoever does not want it named: flags, variables, lines of the file.
    package var storePlaces: [String] = []
    /// The data folder, be it the default, may be another store's than the endpoint's, which a stronger source has named. An endpoint of a
    /// file goes with the folder of the file, or else with the default.
    var isDataOfAnother = false

    /// - Parameter flags: the texts of the flags that were given, by the keys of their settings (`log.level`).
    /// - Throws: `SettingsError` for a value that does not fit, wherever it stands, and for an unknown key in the file.
    static func read(
        flags: [String: String], configFile: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> ProcessSettings {
        var file: SettingsFile?
        if let configFile { file = try SettingsFile(path: configFile) }
        return try read(flags: flags, file: file, environment: environment)
    }

    package static func read(
        flags: [String: String], file: SettingsFile?, environment: [String: String]
    ) throws(SettingsError) -> ProcessSettings {
        var reader = SettingsReader(flags: flags, environment: environment, file: file)

        var settings = ProcessSettings()
        settings.data = try reader.text("data", "the path of a folder")
        settings.journal = try reader.text("journal", "the address of a journal, such as postgresql://HOST/DATABASE")
        settings.endpoint = try reader.text("endpoint", "ipc:///FOLDER or tcp://HOST:PORT")
        settings.key = try reader.text("key", "the path of a file")
        settings.insecureTcp = try reader.choice("insecureTcp", of: ["false", "true"]) == "true"
        settings.keys = try reader.text("keys", "the path of a folder")
        settings.logLevel = try reader.choice("log.level", of: Logger.Level.allCases.map(\.rawValue))
        settings.slots = try reader.integer("slots", in: slotRange)
        settings.readAhead = try reader.integer("readAhead", in: 0...65_536)
        settings.queues =
            try reader.names("queues", "a list of queues, each \(queueForm)") { $0.allSatisfy { queueArgument($0) != nil } } ?? []
        let (most, bytes) = (WorkerOffer.capabilityLimit, WorkerOffer.capabilityBytes)
        settings.capabilities =
            try reader.names("capabilities", "a list of 1 to \(most) names of at most \(bytes) bytes") { names in
                Set(names).count <= most && names.allSatisfy { $0.utf8.count <= bytes }
            } ?? []
        settings.workers = try reader.integer("workers", in: 0...1_024)
        settings.retain = try reader.integer("retain", in: 1...1_000_000_000_000)
        settings.store.checksInvariants = try reader.choice("checkInvariants", of: ["false", "true"]) == "true"
        try settings.store.read(from: &reader)
        if let seconds = try reader.integer("store.goodbyeSeconds", in: 0...60) { settings.goodbye = .seconds(seconds) }
        settings.warnings = try reader.finish()
        settings.storePlaces = ["data", "endpoint"].compactMap { reader.places[$0] }
        settings.isDataOfAnother = reader.rank(of: "endpoint") < reader.rank(of: "data")
        return settings
    }
}

extension StoreSettings {
    mutating func read(from reader: inout SettingsReader) throws(SettingsError) {
        func set<Value>(
            _ property: WritableKeyPath<StoreSettings, Value>, _ name: String, _ range: ClosedRange<Int>, _ value: (Int) -> Value
        ) throws(SettingsError) {
            if let number = try reader.integer("store." + name, in: range) { self[keyPath: property] = value(number) }
        }

        try set(\.window, "window", 1...65_536) { $0 }
        try set(\.inbox, "inbox", 1...10_000_000) { $0 }
        try set(\.inboxBytes, "inboxMebibytes", 1...65_536) { $0 << 20 }
        try set(\.sessions, "sessions", 1...10_000_000) { $0 }
        try set(\.clients, "clients", 1...10_000_000) { $0 }
        try set(\.sessionIdle, "sessionIdleSeconds", 1...31_536_000) { .seconds($0) }
        // Inputs are refused from four fifths on, so fewer than five would refuse all.
        try set(\.openEffects, "openEffects", 5...100_000_000) { $0 }
        try set(\.deadEffects, "deadEffects", 1...10_000_000) { $0 }
        try set(\.silence, "silenceSeconds", 3...3_600) { .seconds($0) }
        try set(\.timeoutGrace, "timeoutGraceSeconds", 0...3_600) { .seconds($0) }
        try set(\.suspectDeaths, "suspectDeaths", 1...100) { $0 }
        try set(\.slowCall, "slowCallSeconds", 1...86_400) { .seconds($0) }
        try set(\.unservedWarning, "unservedWarningSeconds", 0...3_600) { .seconds($0) }
        try set(\.viewInterval, "viewIntervalMilliseconds", 0...60_000) { .milliseconds($0) }
        try set(\.viewCostFactor, "viewCostFactor", 0...1_000) { $0 }
        try set(\.viewTopics, "viewTopics", 1...100_000) { $0 }
        try set(\.feedViews, "feedViews", 1...100_000_000) { $0 }
        try set(\.feedBytes, "feedMebibytes", 1...65_536) { $0 << 20 }
        try set(\.feedReaders, "feedReaders", 1...10_000) { $0 }
        try set(\.snapshotBytes, "snapshotMebibytes", 1...1_048_576) { $0 << 20 }
        try set(\.snapshotTurns, "snapshotTurns", 1...1_000_000_000) { $0 }
        try set(\.drain, "drainSeconds", 0...3_600) { .seconds($0) }
        try set(\.waiters, "waiters", 1...1_000_000) { $0 }
    }
}
