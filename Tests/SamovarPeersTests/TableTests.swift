import Foundation
import Testing

/// The tables of `docs/protocol.md` are those above the machines.
@Suite struct TableTests {
    @Test(arguments: [
        "Connection/Connection.swift", "Worker/WorkerMachine.swift", "Client/ClientMachine.swift",
        "Client/SubscriberMachine.swift",
    ])
    func `The document has the table of`(_ file: String) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent()
        let source = try String(contentsOf: root.appending(path: "Sources/SamovarPeers/\(file)"), encoding: .utf8)
        let document = try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
        let rows = source.split(separator: "\n").filter { $0.hasPrefix("/// |") }.map { $0.dropFirst(4) }
        #expect(rows.count > 4)
        #expect(document.contains(rows.joined(separator: "\n")), "docs/protocol.md has another table of \(file)")
    }
}
