import Foundation
package import SamovarCore
package import SamovarWire
package import ZeroMQ

/// The keys folder of a store, for whoever changes it: one at a time, and each change on disk when its function returns.
///
/// A store that runs reads the folder when it is told to, and may do so at any moment: what it finds is whole, before and after each change.
package struct KeysFolder: ~Copyable {
    package let path: String
    private let lock: CInt
    private var text: KeyTableText
    private var own: ServerKeys
    /// Whether it was made just now.
    package let isNew: Bool

    /// Another one who changes it takes no longer.
    package static let wait = Duration.seconds(5)
    private static let reserved = StoreKeys.serverName

    /// - Parameter mayMake: makes the folder with a key for a store if there is none.
    /// - Throws: `KeyFileError`, also if another one is changing it.
    package init(_ path: String, mayMake: Bool = false, wait: Duration = Self.wait) throws(KeyFileError) {
        try SecretText.requireName(path)
        if mayMake { try Self.make(path) }
        try PrivateFile.requirePrivateFolder(path)
        let lock = try Self.lock(path, wait)
        do throws(KeyFileError) {
            let isNew = try Self.prepare(path, mayMake: mayMake)
            let own = try ServerKeys(in: path)
            self.init(path, lock, try StoreKeys.table(in: path), own, isNew: isNew)
        } catch {
            close(lock)
            throw error
        }
    }

    private init(_ path: String, _ lock: CInt, _ text: KeyTableText, _ own: ServerKeys, isNew: Bool) {
        self.path = path
        self.lock = lock
        self.text = text
        self.own = own
        self.isNew = isNew
    }

    deinit { close(lock) }

    package var table: KeyTable { text.table }

    /// Every public key that the store may have, the present one first.
    package var servers: [CurvePublicKey] { own.publicKeys }

    // MARK: Keys of peers

    /// Makes a key and writes its file. What `draft` is good for, it is good for.
    ///
    /// - Parameter draft: makes the entry of a fingerprint.
    package mutating func issue(
        _ name: KeyName, to file: String, _ draft: (Fingerprint) -> Key
    ) throws(KeyFileError) -> Key {
        guard name.description != Self.reserved else {
            throw KeyFileError("“\(name)” is what the store calls its own key", .request)
        }
        guard keys(of: name).isEmpty else { throw KeyFileError("\(name) has a key: renew it, or revoke it first", .request) }
        return try add(name, to: file, draft) { new throws(KeyFileError) in try new.write(to: file, mayReplace: false) }
    }

    /// Makes another key for a name, which stands beside the present one until ``finish(_:)``. Its file takes the place of the former one.
    package mutating func renew(_ name: KeyName, notAfter: Timestamp?, to file: String) throws(KeyFileError) -> Key {
        let keys = keys(of: name)
        guard let present = keys.first else { throw KeyFileError("there is no key of the name \(name)", .request) }
        if keys.count > 1, let new = keys.last?.fingerprint {
            // A crash, or somebody who has lost the file, may have left a key that is of no use to anybody.
            let way = "finish that first, with --finish; or if nobody has the new key, take it away with `keys revoke \(new)`"
            throw KeyFileError("\(name) is being renewed: \(way)", .request)
        }
        let isItsFile = PrivateFile.exists(file)
        if isItsFile, try KeyFile(file).fingerprint != present.fingerprint {
            throw KeyFileError("\(file) is another key than that of \(name), and stays", .request)
        }
        let draft = { fingerprint in
            Key(
                name, fingerprint, roles: present.roles, queues: present.queues, inputs: present.inputs,
                notAfter: notAfter ?? present.notAfter, limits: present.limits)
        }
        return try add(name, to: file, draft) { new throws(KeyFileError) in try new.write(to: file, mayReplace: isItsFile) }
    }

    /// Takes the former key of a name away, once its holder has the new one.
    package mutating func finish(_ name: KeyName) throws(KeyFileError) -> Key {
        let keys = keys(of: name)
        guard keys.count == 2, let former = keys.first else { throw KeyFileError("\(name) is not being renewed", .request) }
        try remove([former])
        return former
    }

    /// Takes keys away.
    ///
    /// - Parameter what: a fingerprint, or a name for all keys that have it.
    package mutating func revoke(_ what: String) throws(KeyFileError) -> [Key] {
        let keys = Self.keys(what, in: table)
        guard !keys.isEmpty else { throw KeyFileError("there is no key of this name or fingerprint", .request) }
        try remove(keys)
        return keys
    }

    /// The keys that are meant by a fingerprint or a name.
    package static func keys(_ what: String, in table: KeyTable) -> [Key] {
        if let key = Fingerprint(what).flatMap({ table[$0] }) { return [key] }
        return table.keys.filter { $0.name == what }
    }

    private func keys(of name: KeyName) -> [Key] { table.keys.filter { $0.name == name } }

    /// The table knows it first: a crash leaves a key that nobody has, and none that was given out and is refused.
    ///
    /// - Parameter write: writes the file, and throws if it may not be on disk.
    mutating func add(
        _ name: KeyName, to file: String, _ draft: (Fingerprint) -> Key, _ write: (KeyFile) throws(KeyFileError) -> Void
    ) throws(KeyFileError) -> Key {
        let new = KeyFile(name, try Self.newPair(), servers: servers)
        let key = draft(new.fingerprint)
        let former = text
        try change { text throws(KeyTableError) in try text.add(key) }
        do throws(KeyFileError) {
            try write(new)
        } catch {
            // The file may be in its place, and only the folder's sync have failed. One that cannot be read is of no use.
            if (try? KeyFile(file))?.fingerprint != key.fingerprint { try change { $0 = former } }
            throw error
        }
        return key
    }

    private mutating func remove(_ keys: [Key]) throws(KeyFileError) {
        try change { text throws(KeyTableError) in
            for key in keys { _ = try text.remove(key.fingerprint) }
        }
    }

    /// Writes the public keys of the store into the file of a peer.
    package func update(_ file: String) throws(KeyFileError) -> KeyFile {
        let former = try KeyFile(file)
        guard table[former.fingerprint] != nil else {
            throw KeyFileError("\(file) is no key of this store: the table does not have it", .request)
        }
        let new = KeyFile(former.name, former.pair, servers: servers)
        try new.write(to: file, mayReplace: true)
        return new
    }

    // MARK: The key of the store

    /// Makes the key that the store shall have next. Files of peers list it from now on.
    package mutating func makeServerKey() throws(KeyFileError) -> Fingerprint {
        guard own.other == nil else {
            throw KeyFileError("the store's key is being renewed: switch, or finish that first", .request)
        }
        let file = KeyFile(own.present.name, try Self.newPair(), servers: [])
        try file.write(to: StoreKeys.otherServerFile(in: path), mayReplace: false)
        own.other = file
        return file.fingerprint
    }

    /// Makes the other key that of the store, and the present one the other. Doing it again takes it back.
    package mutating func switchServerKey() throws(KeyFileError) -> Fingerprint {
        guard let other = own.other else { throw KeyFileError("the store has one key: make the next one first", .request) }
        let (file, otherFile) = (StoreKeys.serverFile(in: path), StoreKeys.otherServerFile(in: path))
        // The store finds a key at each moment; a crash on the way is made good by whoever opens the folder next.
        guard link(file, Self.formerFile(in: path)) == 0, rename(otherFile, file) == 0 else {
            throw .system(file, "cannot be replaced")
        }
        try Self.finishSwitch(path)
        (own.present, own.other) = (other, own.present)
        return other.fingerprint
    }

    /// Removes the other key, once nobody needs it: every peer has the present one in its file.
    package mutating func finishServerKey() throws(KeyFileError) -> Fingerprint {
        guard let other = own.other else { throw KeyFileError("the store has one key: there is nothing to finish", .request) }
        let file = StoreKeys.otherServerFile(in: path)
        guard unlink(file) == 0 else { throw .system(file, "cannot be removed") }
        try PrivateFile.syncFolder(of: file)
        own.other = nil
        return other.fingerprint
    }

    private static func formerFile(in folder: String) -> String { "\(folder)/server.former.key" }

    /// Ends a switch: the former key becomes the other one, unless the switch was cut off before the present one was replaced.
    private static func finishSwitch(_ folder: String) throws(KeyFileError) {
        let former = formerFile(in: folder)
        guard PrivateFile.exists(former) else { return }
        let other = StoreKeys.otherServerFile(in: folder)
        let result = PrivateFile.exists(other) ? unlink(former) : rename(former, other)
        guard result == 0 else { throw .system(other, "cannot be written") }
        try PrivateFile.syncFolder(of: other)
    }

    // MARK: Files

    /// - Returns: whether the store has got a key just now.
    private static func prepare(_ path: String, mayMake: Bool) throws(KeyFileError) -> Bool {
        try finishSwitch(path)
        guard mayMake else { return false }
        if !PrivateFile.exists(StoreKeys.tableFile(in: path)) { try save(KeyTableText.heading + "\n", path) }
        let file = StoreKeys.serverFile(in: path)
        guard !PrivateFile.exists(file) else { return false }
        try KeyFile(try name(reserved), try newPair(), servers: []).write(to: file, mayReplace: false)
        return true
    }

    private static func make(_ path: String) throws(KeyFileError) {
        // So many folders are on no path; and somebody may remove one meanwhile.
        for _ in 0..<256 {
            switch SocketFolder.verdict(on: path, for: .secrets) {
            case .missing(let missing):
                guard mkdir(missing, 0o700) == 0 || errno == EEXIST else { throw .system(missing, "cannot be made") }
            case .trusted, .shared, .refused: return
            }
        }
        throw KeyFileError("\(path) cannot be made: it is removed again and again")
    }

    private static func lock(_ path: String, _ wait: Duration) throws(KeyFileError) -> CInt {
        let file = "\(path)/.lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(file, "cannot be opened") }
        let end = ContinuousClock.now + wait
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            if number == EWOULDBLOCK || number == EINTR, ContinuousClock.now < end {
                poll(nil, 0, 20)
                continue
            }
            close(descriptor)
            if number == EWOULDBLOCK { throw KeyFileError("another program is changing the keys in \(path)", .busy) }
            throw .system(file, "cannot be locked", number: number)
        }
        return descriptor
    }

    private mutating func change(_ body: (inout KeyTableText) throws(KeyTableError) -> Void) throws(KeyFileError) {
        var text = text
        do throws(KeyTableError) {
            try body(&text)
        } catch {
            throw KeyFileError("\(error)", .request)
        }
        try Self.save(text.text, path)
        self.text = text
    }

    private static func save(_ text: String, _ folder: String) throws(KeyFileError) {
        let bytes = Array(text.utf8)
        let path = StoreKeys.tableFile(in: folder)
        guard bytes.count <= StoreKeys.maximumTableBytes else {
            throw KeyFileError("\(path) would have more than \(StoreKeys.maximumTableBytes) bytes")
        }
        try bytes.withUnsafeBufferPointer { bytes throws(KeyFileError) in
            try PrivateFile.write(UnsafeRawBufferPointer(bytes), to: path, mayReplace: true)
        }
    }

    private static func name(_ text: String) throws(KeyFileError) -> KeyName {
        guard let name = KeyName(text) else { throw KeyFileError("\(text) is no name of a key") }
        return name
    }

    private static func newPair() throws(KeyFileError) -> CurveKeyPair {
        try SecretProcess.seal()
        do throws(ZeroMQError) {
            return try CurveKeyPair()
        } catch {
            throw KeyFileError("no key can be made: \(error)")
        }
    }
}
