import Instrumentation
import Mutator

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

    /// Takes the first ones that compile, as many as are wanted; the number of a mutant is its place in the order, from 1 on.
    func build(_ order: [Mutant], count: Int) throws -> [(number: Int, mutant: Mutant)] {
        var taken = order.prefix(count).enumerated().map { (number: $0.offset + 1, mutant: $0.element) }
        var next = taken.count
        for _ in 1...Self.attempts {
            let instrumented = sources.instrumented(taken)
            try workplace.fill(replacing: instrumented.mapValues(\.text))
            let errors = try workplace.build(withTests: true, jobs: jobs)
            if errors.isEmpty { return taken }
            var reasons: [Int: String] = [:]
            for error in errors {
                let suspects = instrumented[error.path]?.suspects(line: error.line, column: error.column) ?? []
                for number in suspects { reasons[number] = error.text }
            }
            guard !reasons.isEmpty else { throw Failure("no mutant explains this: \(errors[0])") }
            for (number, mutant) in taken {
                if let reason = reasons[number] { say("\(mutant.line(of: number)): does not compile: \(reason)") }
            }
            taken.removeAll { reasons[$0.number] != nil }
            while taken.count < count, next < order.count {
                taken.append((next + 1, order[next]))
                next += 1
            }
        }
        throw Failure("after \(Self.attempts) builds there are still mutants that do not compile")
    }
}

extension Mutant {
    func line(of number: Int?) -> String {
        "\(number.map { "\($0) " } ?? "")\(file):\(line) \(function): \(change.rawValue): \(original)"
    }
}
