public import Foundation

/// A copy of the machines and of what judges them, outside of the sources, in which changes can be put.
public struct Workplace: Sendable {
    /// The checkout.
    public let root: URL
    /// The package that is built.
    public let folder: URL

    /// What the copy has of the checkout.
    private static let copied = [
        "Sources/SamovarCore", "Sources/MessagePack", "Sources/SamovarWire", "Sources/SamovarPeers", "Sources/SamovarStore",
        "Sources/Journal", "Sources/SamovarSimulator", "Tests/MachineSupport", "Tests/SamovarWireTests", "Tests/SamovarPeersTests",
        "Tests/SamovarStoreTests",
    ]

    public init(root: URL, name: String) {
        self.root = root
        folder = root.appending(path: ".build-mutants/\(name)")
    }

    /// The sources below this folder of the checkout, in order.
    public static func sources(below path: String, in root: URL) throws -> [String] {
        let folder = root.appending(path: path)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))
        return names.filter { $0.hasSuffix(".swift") }.sorted().map { "\(path)/\($0)" }
    }

    /// Makes the copy equal to the checkout, but for these files. What is equal already is left alone, so that a build knows it.
    public func fill(replacing changed: [String: String] = [:]) throws {
        var files: [String: Data] = [:]
        for path in Self.copied {
            for source in try Self.sources(below: path, in: root) {
                files[source] = try changed[source].map { Data($0.utf8) } ?? Data(contentsOf: root.appending(path: source))
            }
        }
        // A test compares its bytes with those of the machines.
        files["docs/protocol.md"] = try Data(contentsOf: root.appending(path: "docs/protocol.md"))
        for (source, target) in [
            "Package.swift": "Package.swift", "Chosen.swift": "Sources/Chosen/Chosen.swift",
            "Simulate/main.swift": "Sources/Simulate/main.swift",
        ] {
            files[target] = try Data(contentsOf: root.appending(path: "Mutants/Instrumented/\(source)"))
        }
        for below in ["Sources", "Tests"] where FileManager.default.fileExists(atPath: folder.appending(path: below).path) {
            for former in try Self.sources(below: below, in: folder) where files[former] == nil {
                try FileManager.default.removeItem(at: folder.appending(path: former))
            }
        }
        for (path, bytes) in files {
            let file = folder.appending(path: path)
            if FileManager.default.contents(atPath: file.path(percentEncoded: false)) == bytes { continue }
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try bytes.write(to: file)
        }
    }
}
