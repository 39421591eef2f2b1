import Foundation
import Instrumentation
import Mutator

/// The sources of the machines, and every mutant of them.
struct Sources {
    private static let folder = "Sources/SamovarProtocol"

    private var texts: [String: String] = [:]
    private(set) var mutants: [Mutant] = []

    init(in root: URL) throws {
        for path in try Workplace.sources(below: Self.folder, in: root) {
            let file = String(path.dropFirst(Self.folder.count + 1))
            guard Rules.isChanged(file) else { continue }
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            texts[file] = text
            mutants += Finder.mutants(in: text, file: file)
        }
    }

    /// The files that these mutants are in, by their paths in the checkout.
    func instrumented(_ mutants: [NumberedMutant]) -> [String: Instrumented] {
        var result: [String: Instrumented] = [:]
        for (file, group) in Dictionary(grouping: mutants, by: \.mutant.file) {
            result["\(Self.folder)/\(file)"] = Instrumented(texts[file] ?? "", group)
        }
        return result
    }
}
