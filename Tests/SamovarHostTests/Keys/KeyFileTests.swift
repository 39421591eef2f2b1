import Foundation
import SamovarCore
import Testing
import ZeroMQ

@testable import SamovarHost

/// A folder for the files of one test.
struct PrivateFolder: ~Copyable {
    let path: String

    init() throws {
        path = "/tmp/samovar-keys-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A leftover in /tmp must not fail a test.
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// What a call throws, as a person reads it.
func complaint(_ body: () throws(KeyFileError) -> Void) -> String? {
    do throws(KeyFileError) {
        try body()
        return nil
    } catch {
        return error.description
    }
}

struct KeyFileTests {
    private let name = KeyName("render-1")

    private func peer() throws -> KeyFile {
        KeyFile(
            try #require(name), try CurveKeyPair(), servers: [try CurveKeyPair().publicKey, try CurveKeyPair().publicKey])
    }

    private func text(of file: KeyFile) -> String {
        let secret = file.pair.secretKey.withZ85 { String(decoding: $0, as: UTF8.self) }
        let servers = file.servers.map { "server: \($0.z85)\n" }.joined()
        return "samovar-key: 1\nname: \(file.name)\npublic: \(file.pair.publicKey.z85)\nsecret: \(secret)\n\(servers)"
    }

    private func complaint(about text: String) -> String? {
        Array(text.utf8).withUnsafeBytes { bytes in
            SamovarHostTests.complaint { () throws(KeyFileError) in _ = try KeyFile(reading: bytes, "a.key") }
        }
    }

    // MARK: What it says

    @Test func `A key that was written is read again, and only its user may`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/render-1.key"
        let file = try peer()
        try file.write(to: path, mayReplace: false)
        let read = try KeyFile.ofPeer(path)
        #expect(read.name == "render-1")
        #expect(read.pair.publicKey == file.pair.publicKey)
        #expect(read.servers == file.servers)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text(of: file))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["render-1.key"])
    }

    @Test func `Comments, spaces and the ends of lines of other systems do not matter, nor the order`() throws {
        let file = try peer()
        var lines = text(of: file).split(separator: "\n").map { " \($0)\t\r\n" }
        lines.swapAt(1, 4)
        #expect(complaint(about: "# mine\n\n" + lines.joined() + "#") == nil)
    }

    @Test func `What is wrong is named by its line, and secrets are not repeated`() throws {
        let file = try peer()
        let lines = text(of: file).split(separator: "\n").map(String.init)
        let secret = lines[3].dropFirst("secret: ".count)
        func expect(_ lines: [String], _ complaint: String, sourceLocation: SourceLocation = #_sourceLocation) {
            let said = self.complaint(about: lines.joined(separator: "\n"))
            #expect(said?.contains(complaint) == true, "\(said ?? "nothing")", sourceLocation: sourceLocation)
            for count in [8, 20, 40] { #expect(said?.contains(secret.prefix(count)) == false, sourceLocation: sourceLocation) }
        }
        expect([], "a.key is no key")
        // In Z85 there may be a colon, and a number sign at its beginning.
        expect([String(secret)], "a.key")
        expect(["secret: \(secret)"], "line 1: it is no key of Samovar")
        expect(["samovar-key: 2"], "line 1: this version reads")
        expect([lines[0]] + lines, "line 2: this version reads")
        expect(lines + ["color: \(secret)"], "line 7: there is no such field")
        expect(lines + ["name: again"], "line 7: one name")
        expect(lines + [lines[2]], "line 7: one public key")
        expect(lines + [lines[3]], "line 7: one secret key")
        expect(lines + ["secret \(secret)"], "line 7: there is no")
        expect(lines + [lines[3] + "x"], "line 7: one secret key")
        for missing in 1...3 { expect(lines.enumerated().filter { $0.offset != missing }.map(\.element), "it needs") }
        for (index, field) in ["", "name", "public", "secret", "server"].enumerated().dropFirst() {
            for value in ["", "#", secret + "0", secret.dropLast(), "\0" + secret.dropFirst(), "é" + secret.dropFirst(2)] {
                var lines = lines
                lines[index] = "\(field): \(value)"
                // 41 characters may not be a name, and neither may what is in Z85.
                expect(lines, "line \(index + 1): ")
            }
        }
        var others = lines
        others[2] = "public: \(try CurveKeyPair().publicKey.z85)"
        expect(others, "do not belong together")
        expect(lines + Array(repeating: lines[4], count: 7), "line 13: a server is a public key")
    }

    @Test func `Whoever has a key of a store has no key of a peer`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/server.key"
        try KeyFile(try #require(KeyName("server")), try CurveKeyPair(), servers: []).write(to: path, mayReplace: false)
        #expect(
            SamovarHostTests.complaint { () throws(KeyFileError) in _ = try KeyFile.ofPeer(path) }?.contains("names no server")
                == true)
    }

    @Test func `Keys of manuals are refused`() throws {
        // Of zmq_curve(7).
        let client = ("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs")
        let server = ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")
        for (publicKey, secret) in [client, server] {
            let text = "samovar-key: 1\nname: a\npublic: \(publicKey)\nsecret: \(secret)\n"
            #expect(complaint(about: text)?.contains("everybody knows the secret") == true)
        }
        let file = try peer()
        #expect(complaint(about: text(of: file) + "server: \(server.0)\n")?.contains("everybody knows the secret") == true)
        // Of RFC 7748, and of nobody.
        let alice: [UInt8] = [
            0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
            0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a,
        ]
        for bytes in [alice, [UInt8](repeating: 0, count: 32)] {
            #expect(Fingerprint(of: try #require(CurvePublicKey(bytes))).isPublished)
        }
    }

    @Test func `A fingerprint is the first half of the SHA-256`() throws {
        let key = try #require(CurvePublicKey(z85: "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"))
        #expect(Fingerprint(of: key).description == "522501f4e7a63f61dd776d7ed6829104")
        #expect(try !Fingerprint(of: CurveKeyPair().publicKey).isPublished)
    }

    // MARK: Where it is

    private func complaint(reading path: String) -> String? {
        SamovarHostTests.complaint { () throws(KeyFileError) in _ = try KeyFile(path) }
    }

    @Test func `A file that others may read, or that is none, is not read`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/a.key"
        #expect(complaint(reading: path) == "\(path) cannot be opened: No such file or directory")
        try peer().write(to: path, mayReplace: false)
        for mode: mode_t in [0o640, 0o604, 0o610, 0o601, 0o620, 0o602] {
            chmod(path, mode)
            #expect(
                complaint(reading: path) == "\(path) is open to others (mode \(String(mode, radix: 8))): protect it with chmod 600")
        }
        chmod(path, 0o400)
        #expect(complaint(reading: path) == nil)
        #expect(symlink("a.key", folder.path + "/b.key") == 0)
        #expect(complaint(reading: folder.path + "/b.key")?.contains("is a symbolic link") == true)
        #expect(mkfifo(folder.path + "/c.key", 0o600) == 0)
        #expect(complaint(reading: folder.path + "/c.key")?.contains("is no file") == true)
        #expect(complaint(reading: folder.path)?.contains("is no file") == true)
        #expect(FileManager.default.createFile(atPath: folder.path + "/d.key", contents: Data(count: 65_537)))
        chmod(folder.path + "/d.key", 0o600)
        #expect(complaint(reading: folder.path + "/d.key")?.contains("has more than 65536 bytes") == true)
    }

    @Test(.enabled(if: geteuid() == 0, "another owner is needed, which only root can give"))
    func `A file of another user is not read`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/a.key"
        try peer().write(to: path, mayReplace: false)
        chown(path, 65_534, 65_534)
        #expect(complaint(reading: path) == "\(path) belongs to another user (65534)")
        chown(folder.path, 65_534, 65_534)
        #expect(complaint(reading: path)?.contains("who could put other keys there") == true)
    }

    @Test(arguments: [EACCES, EPERM])
    func `A folder of keys that the system does not let its user look at is forbidden, also further up`(_ number: CInt) {
        let verdict = FolderTrust(user: 1_000, use: .secrets).verdict(on: "/srv/keys") { path in
            path == "/" ? .found(PathFacts(kind: .folder, owner: 0, mode: 0o755)) : SocketFolder.failure(number)
        }
        let error = #expect(throws: KeyFileError.self) { try PrivateFile.requireTrusted("/srv/keys", by: verdict) }
        #expect(error?.kind == .forbidden)
        let reason = "/srv cannot be looked at: \(String(cString: strerror(number)))"
        #expect(error?.description == "the folder /srv/keys is no place for keys: \(reason)")
    }

    @Test func `A file where others can put one is neither read nor written`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/a.key"
        try peer().write(to: path, mayReplace: false)
        chmod(folder.path, 0o770)
        #expect(complaint(reading: path) == "others can write in the folder \(folder.path): protect it with chmod 700")
        let file = try peer()
        #expect(SamovarHostTests.complaint { () throws(KeyFileError) in try file.write(to: path, mayReplace: true) } != nil)
        chmod(folder.path, 0o700)
    }

    @Test func `A file that is there is replaced only if it may be`() throws {
        let folder = try PrivateFolder()
        let path = folder.path + "/a.key"
        let (first, second) = (try peer(), try peer())
        try first.write(to: path, mayReplace: false)
        #expect(
            SamovarHostTests.complaint { () throws(KeyFileError) in try second.write(to: path, mayReplace: false) }
                == "\(path) is there already")
        #expect(try KeyFile(path).fingerprint == first.fingerprint)
        try second.write(to: path, mayReplace: true)
        #expect(try KeyFile(path).fingerprint == second.fingerprint)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.key"])
    }

    @Test func `What is no text does no harm`() {
        var bytes = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 3) }
        for _ in 0..<200 {
            bytes.withUnsafeBytes { bytes in
                #expect(SamovarHostTests.complaint { () throws(KeyFileError) in _ = try KeyFile(reading: bytes, "x") } != nil)
            }
            bytes.removeLast(7)
        }
    }
}
