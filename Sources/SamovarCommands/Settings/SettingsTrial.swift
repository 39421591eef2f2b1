/// What a file of settings with this text would give, for those who try any text.
package struct SettingsTrial {
    package let isRead: Bool
    /// Why not, or what a person should know.
    package let words: String

    package static func read(yaml: String) -> SettingsTrial {
        do throws(SettingsError) {
            let file = try SettingsFile(path: "settings.yaml", yaml: yaml)
            let settings = try ProcessSettings.read(flags: [:], file: file, environment: [:])
            return SettingsTrial(isRead: true, words: settings.warnings.joined(separator: "; "))
        } catch {
            return SettingsTrial(isRead: false, words: error.description)
        }
    }
}
