import SamovarProtocol
struct SettingsError: Error {}
struct ProcessSettings: Sendable {
    var data: String?
    var endpoint: String?
    var logLevel: String?
    var slots: Int?
    var readAhead: Int?
    var workers: Int?
    var queues: [String] = []
    var store = StoreSettings()
    static func read(flags: [String: String], configFile: String?) throws -> ProcessSettings {
        ProcessSettings(data: flags["data"], endpoint: flags["endpoint"], logLevel: flags["log.level"])
    }
}
