import Foundation
import Instrumentation
import Mutator
import Synchronization

/// What came of the mutants of a run.
final class Tally: Sendable {
    private struct Counts {
        var noticed = 0
        /// Of those, by their courses alone.
        var byCourses = 0
        var survivors: [Mutant] = []
        var judged: [JudgedMutants.Verdict: [(mutant: Mutant, reason: String)]] = [:]
        /// Judged to survive, and noticed.
        var refuted: [Mutant] = []
    }

    private let judged: JudgedMutants
    private let counts = Mutex(Counts())

    init(_ judged: JudgedMutants) { self.judged = judged }

    /// Prints a line of it.
    func enter(_ mutant: Mutant, number: Int, _ notice: Trial.Notice?, isReached: Bool) {
        let entry = judged[mutant]
        counts.withLock { counts in
            if let notice {
                counts.noticed += 1
                if notice.isOnlyCourses { counts.byCourses += 1 }
                if entry != nil { counts.refuted.append(mutant) }
            } else if let entry {
                counts.judged[entry.verdict, default: []].append((mutant, entry.reason))
            } else {
                counts.survivors.append(mutant)
            }
        }
        let survived = isReached ? "SURVIVED" : "SURVIVED, for nobody comes there"
        let end = notice.map { String($0.text.prefix(200)) } ?? entry.map { "\(survived) (\($0.verdict.rawValue))" } ?? survived
        say("\(mutant.line(of: number)) → \(end)")
    }

    var hasUnjudged: Bool { counts.withLock { !$0.survivors.isEmpty } }

    func summarise(after time: Duration) {
        counts.withLock { counts in
            for verdict in JudgedMutants.Verdict.allCases {
                guard let entries = counts.judged[verdict] else { continue }
                say("\nsurvived and judged, \(verdict.rawValue):")
                for (mutant, reason) in entries { say("  \(mutant.line(of: nil)): \(reason)") }
            }
            if !counts.refuted.isEmpty {
                say("\njudged to survive, and noticed:")
                for mutant in counts.refuted { say("  \(mutant.line(of: nil))") }
            }
            if !counts.survivors.isEmpty {
                say("\nsurvived, and not judged; as Mutants/judged.md wants them:")
                for mutant in counts.survivors { say("\n## \(mutant.file): \(mutant.function)\n\n\(mutant.entry)") }
            }
            let equivalent = counts.judged[.equivalent]?.count ?? 0
            let others = counts.survivors.count + counts.judged.values.reduce(0) { $0 + $1.count } - equivalent
            let share = Double(counts.noticed) * 100 / Double(max(1, counts.noticed + others))
            say(
                """

                \(counts.noticed) noticed, \(counts.byCourses) of them only by the course of worlds, \(others) survived, \(equivalent) equivalent; of those that are not equivalent \
                \(share.formatted(.number.precision(.fractionLength(1)))) % were noticed; \(time.minutes)
                """)
        }
    }
}
