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

    /// Of each order, takes the first ones that compile, as many as are wanted. Each has a number of its own, which says where it stands in
    /// which order.
    func build(_ orders: [[Mutant]], count: Int) throws -> [[(number: Int, mutant: Mutant)]] {
        var runs = orders.indices.map { index in orders[index].indices.prefix(count).map { numbered($0, index, orders) } }
        var next = runs.map(\.count)
        for _ in 1...Self.attempts {
            let instrumented = sources.instrumented(runs.flatMap(\.self))
            try workplace.fill(replacing: instrumented.mapValues(\.text))
            let errors = try workplace.build(withTests: true, jobs: jobs)
            if errors.isEmpty { return runs }
            var reasons: [Int: String] = [:]
            for error in errors {
                let suspects = instrumented[error.path]?.suspects(line: error.line, column: error.column) ?? []
                for number in suspects { reasons[number] = error.text }
            }
            guard !reasons.isEmpty else { throw Failure("no mutant explains this: \(errors[0])") }
            for index in runs.indices {
                for (number, mutant) in runs[index] {
                    if let reason = reasons[number] { say("\(mutant.line(of: number)): does not compile: \(reason)") }
                }
                runs[index].removeAll { reasons[$0.number] != nil }
                while runs[index].count < count, next[index] < orders[index].count {
                    runs[index].append(numbered(next[index], index, orders))
                    next[index] += 1
                }
            }
        }
        throw Failure("after \(Self.attempts) builds there are still mutants that do not compile")
    }

    private func numbered(_ place: Int, _ index: Int, _ orders: [[Mutant]]) -> (number: Int, mutant: Mutant) {
        (orders[..<index].reduce(1) { $0 + $1.count } + place, orders[index][place])
    }
}

extension Mutant {
    func line(of number: Int?) -> String {
        "\(number.map { "\($0) " } ?? "")\(file):\(line) \(function): \(change.rawValue): \(original)"
    }
}
