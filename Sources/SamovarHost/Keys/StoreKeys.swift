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
    /// Every public key that the store may have, the present one first.
    package let servers: [CurvePublicKey]
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
        let own = try ServerKeys(in: folder)
        server = own.present.pair
        servers = own.publicKeys
        table = try Self.table(in: folder).table
    }

    /// Its public keys for people: what they are called, and what stands in files.
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

/// The key of a store, and while that is renewed the other one.
struct ServerKeys: Sendable {
    var present: KeyFile
    var other: KeyFile?

    /// - Parameter read: reads a file of a key.
    init(
        in folder: String,
        read: (String) throws(KeyFileError) -> KeyFile = { path throws(KeyFileError) in try KeyFile(path) }
    ) throws(KeyFileError) {
        do throws(KeyFileError) {
            self = try Self.once(in: folder, read)
        } catch {
            // Meanwhile a switch may have taken the other one from its place for a moment, or the end of a renewal for good.
            self = try Self.once(in: folder, read)
        }
    }

    private init(_ present: KeyFile, other: KeyFile?) {
        self.present = present
        self.other = other
    }

    private static func once(
        in folder: String, _ read: (String) throws(KeyFileError) -> KeyFile
    ) throws(KeyFileError) -> ServerKeys {
        let other = StoreKeys.otherServerFile(in: folder)
        return ServerKeys(
            try read(StoreKeys.serverFile(in: folder)), other: PrivateFile.exists(other) ? try read(other) : nil)
    }

    /// Every public key that the store may have, the present one first.
    var publicKeys: [CurvePublicKey] { [present.pair.publicKey] + (other.map { [$0.pair.publicKey] } ?? []) }
}
