package import SamovarCore
package import SamovarWire
package import ZeroMQ

/// What a store has in its folder of keys: its own key, and the table of those that may come.
///
/// | file | holds |
/// |---|---|
/// | `server.key` | the key of the store |
/// | `server.next.key` | while that is renewed, the other one: the next before the switch, the former one after it |
/// | `table` | the keys of peers, without their secrets; see ``KeyTableText`` |
package struct StoreKeys: Sendable {
    package let server: CurveKeyPair
    /// While the key of the store is renewed, the public half of the other one.
    package let otherServer: CurvePublicKey?
    package let table: KeyTable

    static let serverName = "server"
    static let maximumTableBytes = 16 << 20

    static func serverFile(in folder: String) -> String { "\(folder)/server.key" }
    static func otherServerFile(in folder: String) -> String { "\(folder)/server.next.key" }
    static func tableFile(in folder: String) -> String { "\(folder)/table" }

    /// Reads the folder. To read it again, make another one: whoever could not has the former one still.
    ///
    /// - Throws: `KeyFileError` if something in it is wrong, or if others may have read or changed it.
    package init(folder: String) throws(KeyFileError) {
        try SecretText.requireName(folder)
        try PrivateFile.requirePrivateFolder(folder)
        server = try KeyFile(Self.serverFile(in: folder)).pair
        let other = Self.otherServerFile(in: folder)
        otherServer = try PrivateFile.exists(other) ? KeyFile(other).pair.publicKey : nil
        table = try Self.table(in: folder).table
    }

    /// Every public key that the store may have, the present one first.
    package var servers: [CurvePublicKey] { [server.publicKey] + (otherServer.map { [$0] } ?? []) }

    /// The same for people: what they are called, and what stands in files.
    package var serverTexts: [(fingerprint: Fingerprint, text: String)] { servers.map { (Fingerprint(of: $0), $0.z85) } }

    static func table(in folder: String) throws(KeyFileError) -> KeyTableText {
        let path = tableFile(in: folder)
        return try PrivateFile.read(path, upTo: maximumTableBytes) { bytes throws(KeyFileError) in
            guard let text = String(validating: bytes, as: UTF8.self) else { throw KeyFileError("\(path) is no text in UTF-8") }
            do throws(KeyTableError) {
                return try KeyTableText(text)
            } catch {
                throw KeyFileError("\(path), \(error)")
            }
        }
    }
}
