import Foundation
import SamovarText

/// The whole text of a small file, or an error that says what the system said.
func readText(of path: String, atMost limit: Int) throws(SettingsError) -> String {
    let shown = escapeForTerminal(path)
    guard let file = fopen(path, "r") else {
        throw SettingsError("cannot read \(shown): \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0 else {
        throw SettingsError("cannot read \(shown): \(String(cString: strerror(errno)))")
    }
    guard count <= limit else { throw SettingsError("\(shown) has more than \(limit) bytes") }
    guard let text = String(validating: bytes[..<count], as: UTF8.self) else { throw SettingsError("\(shown) is not UTF-8") }
    return text
}
