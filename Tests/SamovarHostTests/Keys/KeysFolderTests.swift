import Foundation
import SamovarCore
import SamovarWire
import Testing
import ZeroMQ

@testable import SamovarHost

/// Who changes the keys of a store.
struct KeysFolderTests {
    private func name(_ text: String) throws -> KeyName { try #require(KeyName(text)) }

    /// A client's key, in the folder itself.
    private func issue(_ name: String, in keys: inout KeysFolder) throws -> Key {
        let name = try self.name(name)
        return try keys.issue(name, to: "\(keys.path)/\(name).key") { Key(name, $0, roles: [.client]) }
    }

    private func files(_ folder: borrowing PrivateFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path + "/keys").sorted()
    }

    @Test func `The first key makes the folder, with a key for the store`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/a/keys"
        #expect(complaint { () throws(KeyFileError) in _ = try KeysFolder(path) } == "the folder \(folder.path)/a is not there")
        var keys = try KeysFolder(path, mayMake: true)
        let isNew = keys.isNew
        #expect(isNew)
        let key = try issue("shop", in: &keys)
        let file = try KeyFile.ofPeer(path + "/shop.key")
        #expect(file.fingerprint == key.fingerprint)
        let servers = keys.servers
        #expect(file.servers == servers)
        let read = try StoreKeys(folder: path)
        #expect(read.table.keys == [key])
        #expect(read.servers == servers)
        for name in ["server.key", "table", "shop.key", ".lock"] {
            var status = stat()
            #expect(stat("\(path)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `A folder that is there is used as it is`() throws {
        let folder = try PrivateFolder()
        do { _ = try KeysFolder(folder.path + "/keys", mayMake: true) }
        let first = try StoreKeys(folder: folder.path + "/keys").servers
        let keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        let (isNew, servers) = (keys.isNew, keys.servers)
        #expect(!isNew && servers == first)
        chmod(folder.path + "/keys", 0o755)
        let path = folder.path + "/keys"
        #expect(complaint { () throws(KeyFileError) in _ = try KeysFolder(path, mayMake: true) }?.contains("chmod 700") == true)
    }

    @Test func `One at a time changes it`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/keys"
        let keys = try KeysFolder(path, mayMake: true)
        let said = complaint { () throws(KeyFileError) in _ = try KeysFolder(path, wait: .milliseconds(50)) }
        #expect(said == "another program is changing the keys in \(path)")
        _ = consume keys
        #expect(complaint { () throws(KeyFileError) in _ = try KeysFolder(path) } == nil)
    }

    @Test func `A name has one key, and its file is never overwritten`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        _ = try issue("shop", in: &keys)
        #expect(throws: KeyFileError.self) { try issue("shop", in: &keys) }
        #expect(throws: KeyFileError.self) { try issue("server", in: &keys) }
        #expect(try keys.revoke("shop").count == 1)
        // Its file is there still, and so the new key is taken back.
        #expect(throws: KeyFileError.self) { try issue("shop", in: &keys) }
        #expect(keys.table.keys.isEmpty)
        #expect(try StoreKeys(folder: folder.path + "/keys").table.keys.isEmpty)
    }

    @Test func `A key is renewed in two steps, between which both are good`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        let file = folder.path + "/keys/shop.key"
        let former = try issue("shop", in: &keys)
        let name = try name("shop")
        #expect(throws: KeyFileError.self) { try keys.finish(name) }
        let end = Timestamp(microseconds: 1_800_000_000_000_000)
        let new = try keys.renew(name, notAfter: end, to: file)
        #expect(new.fingerprint != former.fingerprint && new.roles == former.roles && new.notAfter == end)
        #expect(try KeyFile.ofPeer(file).fingerprint == new.fingerprint)
        #expect(keys.table.keys == [former, new])
        #expect(throws: KeyFileError.self) { try keys.renew(name, notAfter: nil, to: file) }
        #expect(try keys.finish(name) == former)
        #expect(try StoreKeys(folder: keys.path).table.keys == [new])
    }

    @Test func `A key whose file is in its place stays in the table, whatever failed then`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        let file = folder.path + "/keys/shop.key"
        let former = try issue("shop", in: &keys)
        let (name, failure) = (try name("shop"), KeyFileError("no", .inputOutput))
        let draft = { fingerprint in Key(name, fingerprint, roles: [.client]) }
        #expect(throws: failure) { try keys.add(name, to: file, draft) { _ throws(KeyFileError) in throw failure } }
        #expect(keys.table.keys == [former])
        #expect(throws: failure) {
            try keys.add(name, to: file, draft) { new throws(KeyFileError) in
                try new.write(to: file, mayReplace: true)
                throw failure
            }
        }
        let written = try KeyFile.ofPeer(file).fingerprint
        #expect(try StoreKeys(folder: keys.path).table.keys.map(\.fingerprint) == [former.fingerprint, written])
    }

    @Test func `A renewal that was cut off before its file was written can be begun anew`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        let file = folder.path + "/keys/shop.key"
        let former = try issue("shop", in: &keys)
        let name = try name("shop")
        let lost = try keys.add(name, to: file, { Key(name, $0, roles: [.client]) }) { _ in }
        let error = #expect(throws: KeyFileError.self) { try keys.renew(name, notAfter: nil, to: file) }
        #expect(error?.description.contains("`keys revoke \(lost.fingerprint)`") == true)
        #expect(try keys.revoke("\(lost.fingerprint)") == [lost])
        let new = try keys.renew(name, notAfter: nil, to: file)
        #expect(keys.table.keys == [former, new])
    }

    @Test func `A renewed key does not take the place of another file`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        _ = try issue("shop", in: &keys)
        let other = try issue("other", in: &keys)
        let name = try name("shop")
        #expect(throws: KeyFileError.self) { try keys.renew(name, notAfter: nil, to: folder.path + "/keys/other.key") }
        #expect(throws: KeyFileError.self) { try keys.renew(name, notAfter: nil, to: folder.path + "/keys/table") }
        #expect(try KeyFile.ofPeer(folder.path + "/keys/other.key").fingerprint == other.fingerprint)
        #expect(keys.table.keys.count == 2)
        // Elsewhere it may be written.
        _ = try keys.renew(name, notAfter: nil, to: folder.path + "/shop.key")
        #expect(keys.table.keys.count == 3)
    }

    @Test func `Keys are revoked by their fingerprint or all of a name`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        let (a, b) = (try issue("a", in: &keys), try issue("b", in: &keys))
        let renewed = try keys.renew(a.name, notAfter: nil, to: folder.path + "/keys/a.key")
        #expect(throws: KeyFileError.self) { try keys.revoke("c") }
        #expect(try keys.revoke("\(a.fingerprint)") == [a])
        #expect(keys.table.keys == [b, renewed])
        _ = try keys.renew(a.name, notAfter: nil, to: folder.path + "/keys/a.key")
        #expect(try keys.revoke("a").count == 2)
        #expect(try StoreKeys(folder: keys.path).table.keys == [b])
    }

    @Test func `The key of the store is renewed in three steps, and peers have both meanwhile`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        _ = try issue("before", in: &keys)
        let first = keys.servers
        #expect(throws: KeyFileError.self) { try keys.switchServerKey() }
        #expect(throws: KeyFileError.self) { try keys.finishServerKey() }

        let next = try keys.makeServerKey()
        let both = keys.servers
        #expect(both.count == 2 && both[0] == first[0] && Fingerprint(of: both[1]) == next)
        #expect(throws: KeyFileError.self) { try keys.makeServerKey() }
        _ = try issue("meanwhile", in: &keys)
        #expect(try KeyFile.ofPeer(folder.path + "/keys/meanwhile.key").servers == both)
        #expect(try KeyFile.ofPeer(folder.path + "/keys/before.key").servers == first)
        #expect(try keys.update(folder.path + "/keys/before.key").servers == both)
        #expect(try KeyFile.ofPeer(folder.path + "/keys/before.key").servers == both)

        #expect(try keys.switchServerKey() == next)
        #expect(keys.servers == both.reversed())
        #expect(try StoreKeys(folder: keys.path).servers == both.reversed())
        #expect(try keys.finishServerKey() == Fingerprint(of: first[0]))
        #expect(try StoreKeys(folder: keys.path).servers == [both[1]])
        #expect(try files(folder) == [".lock", "before.key", "meanwhile.key", "server.key", "table"])
    }

    @Test func `A switch can be taken back`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        _ = try keys.makeServerKey()
        let both = keys.servers
        for _ in 0..<2 { _ = try keys.switchServerKey() }
        #expect(try StoreKeys(folder: keys.path).servers == both)
    }

    @Test(arguments: [false, true]) func `A switch that was cut off is finished or never was`(_ hasReplaced: Bool) throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/keys"
        let both: [CurvePublicKey]
        do {
            var keys = try KeysFolder(path, mayMake: true)
            _ = try keys.makeServerKey()
            both = keys.servers
        }
        #expect(link(path + "/server.key", path + "/server.former.key") == 0)
        if hasReplaced { #expect(rename(path + "/server.next.key", path + "/server.key") == 0) }
        #expect(try StoreKeys(folder: path).server.publicKey == (hasReplaced ? both[1] : both[0]))
        let keys = try KeysFolder(path)
        #expect(keys.servers == (hasReplaced ? both.reversed() : both))
        #expect(try files(folder) == [".lock", "server.key", "server.next.key", "table"])
    }

    @Test func `A file of another store is not touched`() throws {
        let folder = try PrivateFolder()
        var others = try KeysFolder(folder.path + "/others", mayMake: true)
        _ = try issue("shop", in: &others)
        let keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        #expect(throws: KeyFileError.self) { try keys.update(folder.path + "/others/shop.key") }
        #expect(try KeyFile.ofPeer(folder.path + "/others/shop.key").servers == others.servers)
    }
}
