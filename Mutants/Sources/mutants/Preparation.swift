import Instrumentation
import Mutator

/// The number is that of the mutant's place among all of the sources.
typealias NumberedMutant = (number: Int, mutant: Mutant)

/// The build of many mutants at once, without those that are no Swift.
struct Preparation {
    /// Each finds what the one before could not, as the compiler does not look further when it has found something.
    private static let attempts = 12

    private let workplace: Workplace
    private let sources: Sources
    private let jobs: Int

    init(_ workplace: Workplace, _ sources: Sources, jobs: Int) {
        self.workplace = workplace
        self.sources = sources
        self.jobs = jobs
    }

    /// Of each order, takes the first ones that compile, as many as are wanted. One that several orders have is built once.
    func build(_ orders: [[NumberedMutant]], count: Int) throws -> [[NumberedMutant]] {
        var broken: Set<Int> = []
        for _ in 1...Self.attempts {
            let runs = orders.map { Array($0.lazy.filter { !broken.contains($0.number) }.prefix(count)) }
            let chosen = Dictionary(runs.joined().map { ($0.number, $0.mutant) }) { one, _ in one }
            let instrumented = sources.instrumented(chosen.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            try workplace.fill(replacing: instrumented.mapValues(\.text))
            let errors = try workplace.build(withTests: true, jobs: jobs)
            if errors.isEmpty { return runs }
            let known = broken
            for error in errors {
                for number in instrumented[error.path]?.suspects(line: error.line, column: error.column) ?? [] {
                    guard broken.insert(number).inserted, let mutant = chosen[number] else { continue }
                    say("\(mutant.line(of: number)): does not compile: \(error.text)")
                }
            }
            guard broken != known else { throw Failure("no mutant explains this: \(errors[0])") }
        }
        throw Failure("after \(Self.attempts) builds there are still mutants that do not compile")
    }
}

extension Mutant {
    func line(of number: Int?) -> String {
        "\(number.map { "\($0) " } ?? "")\(file):\(line) \(function): \(change.rawValue): \(original)"
    }
}
