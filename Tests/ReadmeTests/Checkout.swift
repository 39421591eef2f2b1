import Foundation

/// The files of this package, as they are in the folder that the tests were built from.
enum Checkout {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// The paths of all files below these folders whose names end so, sorted. What is hidden, as a build is, is left out.
    static func files(below folders: String..., ending suffix: String) throws -> [String] {
        var paths: [String] = []
        for folder in folders {
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            guard let files else { throw CocoaError(.fileReadNoSuchFile) }
            for case let file as URL in files where file.lastPathComponent.hasSuffix(suffix) {
                paths.append(String(file.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1)))
            }
        }
        return paths.sorted()
    }

    /// What people read: the README, that of the examples, docs, and the catalogs of the reference.
    static func documents() throws -> [String] {
        let catalogs = try files(below: "Sources", ending: ".md").filter { $0.contains(".docc/") }
        return try ["README.md", "Examples/README.md"] + files(below: "docs", ending: ".md") + catalogs
    }
}
