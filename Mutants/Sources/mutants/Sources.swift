import Foundation
import Instrumentation
import Mutator

/// The sources of the machines, and every mutant of them.
struct Sources {
    private var texts: [String: String] = [:]
    private(set) var mutants: [Mutant] = []

    init(in root: URL) throws {
        for folder in Rules.folders.sorted() {
            for path in try Workplace.sources(below: "Sources/\(folder)", in: root) {
                let file = String(path.dropFirst("Sources/".count))
                guard Rules.isChanged(file) else { continue }
                let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                texts[file] = text
                mutants += Finder.mutants(in: text, file: file)
            }
        }
    }

    /// The files that these mutants are in, by their paths in the checkout.
    func instrumented(_ mutants: [NumberedMutant]) -> [String: Instrumented] {
        var result: [String: Instrumented] = [:]
        for (file, group) in Dictionary(grouping: mutants, by: \.mutant.file) {
            result["Sources/\(file)"] = Instrumented(texts[file] ?? "", group)
        }
        return result
    }
}
