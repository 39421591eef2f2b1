import Foundation
import SamovarCore
import SamovarWire
import Testing
import ZeroMQ

@testable import SamovarHost

/// What a store reads from its folder of keys.
struct StoreKeysTests {
    private func write(_ text: String, to path: String) {
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
    }

    private func key(_ name: String) throws -> KeyFile { KeyFile(try #require(KeyName(name)), try CurveKeyPair(), servers: []) }

    private func objection(_ folder: borrowing PrivateFolder) -> String? {
        let path = folder.path
        return complaint { () throws(KeyFileError) in _ = try StoreKeys(folder: path) }
    }

    @Test func `Has the key of the store, the other one if there is one, and the table`() throws {
        let folder = try PrivateFolder()
        let (server, other) = (try key("server"), try key("server"))
        try server.write(to: folder.path + "/server.key", mayReplace: false)
        write("# keys\nshop 3f1c0d528f5e4b0e9a570c1d2e3f4a5b client\n", to: folder.path + "/table")
        var keys = try StoreKeys(folder: folder.path)
        #expect(keys.server.publicKey == server.pair.publicKey)
        #expect(keys.servers == [server.pair.publicKey])
        #expect(keys.table.keys.map(\.name.description) == ["shop"])

        try other.write(to: folder.path + "/server.next.key", mayReplace: false)
        keys = try StoreKeys(folder: folder.path)
        #expect(keys.servers == [server.pair.publicKey, other.pair.publicKey])
    }

    @Test func `A key that goes while it is read has gone`() throws {
        let folder = try PrivateFolder()
        let (present, other) = (folder.path + "/server.key", folder.path + "/server.next.key")
        for file in [present, other] { try key("server").write(to: file, mayReplace: false) }
        let server = try KeyFile(present).fingerprint
        let keys = try ServerKeys(in: folder.path) { file throws(KeyFileError) in
            if file == other { unlink(file) }
            return try KeyFile(file)
        }
        #expect(keys.present.fingerprint == server && keys.other == nil)
    }

    @Test func `What is wrong in one of the files is told of that file`() throws {
        let folder = try PrivateFolder()
        #expect(objection(folder)?.contains("/server.key cannot be opened") == true)
        try key("server").write(to: folder.path + "/server.key", mayReplace: false)
        #expect(objection(folder)?.contains("/table cannot be opened") == true)
        write("shop\n", to: folder.path + "/table")
        #expect(objection(folder)?.contains("/table, line 1: behind the name") == true)
        #expect(FileManager.default.createFile(atPath: folder.path + "/table", contents: Data([0xff])))
        chmod(folder.path + "/table", 0o600)
        #expect(objection(folder)?.contains("no text in UTF-8") == true)
        write("", to: folder.path + "/table")
        #expect(objection(folder) == nil)
        write("", to: folder.path + "/server.next.key")
        #expect(objection(folder)?.contains("/server.next.key is no key") == true)
    }

    @Test func `A folder that others may enter is none for keys`() throws {
        let folder = try PrivateFolder()
        try key("server").write(to: folder.path + "/server.key", mayReplace: false)
        write("", to: folder.path + "/table")
        for mode: mode_t in [0o755, 0o710, 0o701] {
            chmod(folder.path, mode)
            #expect(
                objection(folder) == "\(folder.path) is open to others (mode \(String(mode, radix: 8))): protect it with chmod 700")
        }
        chmod(folder.path, 0o500)
        #expect(objection(folder) == nil)
        chmod(folder.path, 0o700)
    }
}
