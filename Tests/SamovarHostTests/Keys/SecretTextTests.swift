import CLinux
import Foundation
import Testing
import ZeroMQ

@testable import SamovarHost

/// A secret in the wrong place, and what a process that has one does not leave behind.
struct SecretTextTests {
    /// A secret key in the texts in which one may have it.
    private func texts() throws -> [String] {
        let secret = try CurveKeyPair().secretKey.withZ85 { String(decoding: $0, as: UTF8.self) }
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let base64 = Data(bytes).base64EncodedString()
        return [secret, "secret: \(secret)", hex, hex.uppercased(), base64, String(base64.dropLast())]
    }

    @Test func `A secret in place of the name of a file is refused, and not repeated`() throws {
        for text in try texts() {
            let secret = try #require(text.split(separator: " ").last)
            let objections = [
                complaint { () throws(KeyFileError) in _ = try KeyFile(text) },
                complaint { () throws(KeyFileError) in _ = try KeyFile.ofPeer(text) },
                complaint { () throws(KeyFileError) in _ = try StoreKeys(folder: text) },
                complaint { () throws(KeyFileError) in _ = try KeysFolder(text) },
                complaint { () throws(KeyFileError) in _ = try KeysFolder(text, mayMake: true) },
            ]
            for objection in objections {
                #expect(objection?.contains("may be a key itself") == true && objection?.contains(secret) == false)
            }
            #expect(!FileManager.default.fileExists(atPath: text))
        }
    }

    @Test func `A name is repeated, whatever it looks like, if there is such a file or folder`() throws {
        let folder = try PrivateFolder()
        let name = String(repeating: "k", count: 39 - folder.path.utf8.count)
        let path = "\(folder.path)/\(name)"
        #expect(path.utf8.count == 40 && SecretText.mayBeKey(path))
        #expect(complaint { () throws(KeyFileError) in _ = try KeyFile(path) }?.hasPrefix("\(path) cannot be opened") == true)
        for text in ["a.key", "keys", "/etc/samovar/shop.key", String(repeating: "k", count: 41), "a secret of forty"] {
            #expect(!SecretText.mayBeKey(text), "\(text)")
        }
    }

    @Test func `A process that has read a secret leaves no core dump`() throws {
        let folder = try PrivateFolder()
        var keys = try KeysFolder(folder.path + "/keys", mayMake: true)
        _ = try keys.makeServerKey()
        var limit = rlimit()
        #if canImport(Glibc)
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0)
        #expect(samovar_allows_dumps() == 0)
        #else
        #expect(getrlimit(RLIMIT_CORE, &limit) == 0)
        #endif
        #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
    }
}
