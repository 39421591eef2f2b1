#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file that is removed with its owner.
final class TemporaryFile: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "samovar-\(UUID().uuidString).yaml").path()

    init(bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }

    convenience init(_ text: String) throws {
        try self.init(bytes: Array(text.utf8))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)  // The system clears its temporary folder, too.
    }
}
