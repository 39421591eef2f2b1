import Foundation
import Instrumentation
import Synchronization

/// Who is asked about each mutant: those who come to its place at all, the cheapest first.
struct Askers: Sendable {
    private enum Kind: Sendable {
        case seeds(ClosedRange<Int>)
        case suite(String)
        case smallWorld
    }

    private struct Asker: Sendable {
        let kind: Kind
        /// The numbers of the places that it reaches. Without the change it does the same up to the first of them.
        let reaches: Set<Int>
        let time: Duration
        /// The digest of its worlds, if it has any.
        let courses: String
    }

    /// So many seeds are cheap, and notice most of what the simulator can notice.
    private static let cheapSeeds = 20
    /// Suites of tests that take more than this part of the time of all are asked later.
    private static let costlyPart = 25
    /// So many suites are about a place more than others.
    private static let closeSuites = 5

    private let trial: Trial
    private let worlds: [Asker]
    /// Those that reach the fewest places come first.
    private let cheapSuites: [Asker]
    private let costlySuites: [Asker]

    /// Asks all of them without any change, and notes which places each reaches.
    ///
    /// - Throws: `Failure` if one of them notices something, for nobody has changed anything.
    init(in workplace: Workplace, count: Int, worlds: Int, jobs: Int) throws {
        trial = Trial(workplace)
        let cheap = min(worlds, Self.cheapSeeds)
        let suites = try trial.suites().map { Kind.suite($0) }
        let kinds = [.seeds(1...cheap)] + (worlds > cheap ? [.smallWorld, .seeds(cheap + 1...worlds)] : []) + suites
        let found = Mutex<[Int: Asker]>([:])
        try inParallel(Array(kinds.enumerated()), jobs: jobs) { number, kind in
            let file = workplace.folder.appending(path: ".build/reached-\(number)")
            try Data(count: count + 1).write(to: file)
            let start = ContinuousClock.now
            let outcome = try Self.ask(kind, "0", Trial(workplace, reached: file))
            if let notice = outcome.notice { throw Failure("without any change: \(notice.text)") }
            let time = start.duration(to: .now)
            let bytes = try Data(contentsOf: file)
            return Asker(
                kind: kind, reaches: Set(bytes.indices.filter { bytes[$0] != 0 }), time: time, courses: outcome.courses)
        } each: { entry, asker in
            found.withLock { $0[entry.offset] = asker }
        }
        let all = found.withLock { found in kinds.indices.compactMap { found[$0] } }
        self.worlds = all.filter { if case .suite = $0.kind { false } else { true } }
        let tests = all.filter { if case .suite = $0.kind { true } else { false } }
        let limit = tests.reduce(.zero) { $0 + $1.time } / Self.costlyPart
        cheapSuites = tests.filter { $0.time <= limit }.sorted { $0.reaches.count < $1.reaches.count }
        costlySuites = tests.filter { $0.time > limit }
    }

    private static func ask(_ kind: Kind, _ change: String, _ trial: Trial) throws -> Trial.Outcome {
        switch kind {
        case .seeds(let seeds): try trial.simulate(change, seeds: seeds)
        case .suite(let name): Trial.Outcome(notice: try trial.test(change, suites: [name]))
        case .smallWorld: Trial.Outcome(notice: try trial.simulateExhaustively(change))
        }
    }

    func isReached(_ number: Int) -> Bool {
        (worlds + cheapSuites + costlySuites).contains { $0.reaches.contains(number) }
    }

    /// Nil if nobody notices. That only the courses of the cheap worlds are others than those recorded is the last thing to be told.
    func judge(_ number: Int) throws -> Trial.Notice? {
        let suites = cheapSuites.filter { $0.reaches.contains(number) }
        if let notice = try test(suites.prefix(Self.closeSuites), number) { return notice }
        let cheap = worlds.first.flatMap { $0.reaches.contains(number) ? $0 : nil }
        let first = try cheap.map { try Self.ask($0.kind, "\(number)", trial) }
        let others = suites.dropFirst(Self.closeSuites)
        if let notice = try first?.notice ?? test(others, number) ?? test(costlySuites[...], number) ?? simulateOn(number) {
            return notice
        }
        guard let cheap, let first, cheap.courses != first.courses else { return nil }
        return .courses
    }

    /// All suites in one process.
    private func test(_ suites: ArraySlice<Asker>, _ number: Int) throws -> Trial.Notice? {
        let names = suites.compactMap { asker -> String? in
            guard case .suite(let name) = asker.kind, asker.reaches.contains(number) else { return nil }
            return name
        }
        let usual = suites.reduce(Duration.zero) { $0 + $1.time }
        return names.isEmpty ? nil : try trial.test("\(number)", suites: names, usual: usual)
    }

    private func simulateOn(_ number: Int) throws -> Trial.Notice? {
        for asker in worlds.dropFirst() where asker.reaches.contains(number) {
            if let notice = try Self.ask(asker.kind, "\(number)", trial).notice { return notice }
        }
        return nil
    }
}
