import Foundation
import Mutator

/// The mutants of `Mutants/judged.md`, which survive for a reason.
struct JudgedMutants {
    enum Verdict: String, CaseIterable {
        /// Nobody could see a difference.
        case equivalent
        /// A difference that no promise is about.
        case accepted
        /// A hole in the tests.
        case toBeTested = "to be tested"
    }

    private var verdicts: [Mutant.Key: (verdict: Verdict, reason: String)] = [:]

    init(in root: URL) throws {
        self.init(try String(contentsOf: root.appending(path: "Mutants/judged.md"), encoding: .utf8))
        guard unreadable.isEmpty else { throw Failure("Mutants/judged.md: cannot be read: \(unreadable[0])") }
    }

    /// Lines that begin as a mutant does, and go on otherwise.
    private(set) var unreadable: [String] = []

    /// A heading `## File: function` has its mutants below it: ``- change: `code` – verdict: reason``.
    init(_ text: String) {
        var file = ""
        var function = ""
        for line in text.split(separator: "\n") {
            if let heading = line.wholeMatch(of: /## (.*?\.swift): (.*)/) {
                (file, function) = (String(heading.1), String(heading.2))
            } else if line.hasPrefix("- ") {
                guard let entry = line.wholeMatch(of: /- ([a-z ]+): `(.*)`(?: \((\d+)\))? – ([a-z ]+): (.+)/),
                    let verdict = Verdict(rawValue: String(entry.4))
                else {
                    unreadable.append(String(line))
                    continue
                }
                let key = Mutant.Key(
                    file: file, function: function, change: String(entry.1), original: String(entry.2),
                    occurrence: entry.3.flatMap { Int($0) } ?? 1)
                verdicts[key] = (verdict, String(entry.5))
            }
        }
    }

    subscript(mutant: Mutant) -> (verdict: Verdict, reason: String)? { verdicts[mutant.key] }

    /// Entries that are of no mutant.
    func keys(without mutants: [Mutant]) -> [String] {
        let present = Set(mutants.map(\.key))
        return verdicts.keys.filter { !present.contains($0) }.map { "\($0.file): \($0.function): \($0.change): \($0.original)" }
            .sorted()
    }
}

extension Mutant {
    /// Its entry in `judged.md`, but for the verdict.
    var entry: String { "- \(change.rawValue): `\(original)`\(occurrence > 1 ? " (\(occurrence))" : "") – " }
}
