/// What happened in one run, or in many.
public struct Report: Sendable {
    public private(set) var seeds = 0
    /// Microseconds.
    public private(set) var virtualTime: Int64 = 0
    public internal(set) var events = 0
    public internal(set) var inputs = 0
    public private(set) var turns = 0
    public private(set) var effects = 0
    public internal(set) var executions = 0
    public internal(set) var restarts = 0
    /// By `Fault.rawValue`.
    var faults = [Int](repeating: 0, count: Fault.allCases.count)

    /// By `DatabaseFault.rawValue`.
    var databaseFaults = [Int](repeating: 0, count: DatabaseFault.allCases.count)

    /// By `CoverageEvent.rawValue`.
    private var coverage = [Int](repeating: 0, count: CoverageEvent.allCases.count)

    public init() {}

    init(_ world: World) {
        self = world.report
        seeds = 1
        virtualTime = world.now
        turns = world.checker.reference.last + world.checker.archive.values.reduce(0) { $0 + $1.last }
        effects = world.checker.effectsEnded
        for reference in [world.checker.reference] + world.checker.archive.values {
            for index in coverage.indices { coverage[index] += reference.coverage[index] }
        }
    }

    public static func += (sum: inout Report, next: Report) {
        sum.seeds += next.seeds
        sum.virtualTime += next.virtualTime
        sum.events += next.events
        sum.inputs += next.inputs
        sum.turns += next.turns
        sum.effects += next.effects
        sum.executions += next.executions
        sum.restarts += next.restarts
        for index in sum.faults.indices { sum.faults[index] += next.faults[index] }
        for index in sum.databaseFaults.indices { sum.databaseFaults[index] += next.databaseFaults[index] }
        for index in sum.coverage.indices { sum.coverage[index] += next.coverage[index] }
    }

    public func count(of fault: Fault) -> Int { faults[fault.rawValue] }

    public func count(of fault: DatabaseFault) -> Int { databaseFaults[fault.rawValue] }

    public func count(of event: CoverageEvent) -> Int { coverage[event.rawValue] }

    /// Classes of faults that never happened: after many seeds, an error of the simulator.
    public var missingFaults: [String] {
        Fault.allCases.filter { count(of: $0) == 0 }.map { "\($0)" }
            + DatabaseFault.allCases.filter { count(of: $0) == 0 }.map { "\($0)" }
    }

    /// Coverage events that never happened. Some happen in one of a thousand worlds, and so not in each thousand that is drawn.
    public var missingEvents: [String] { CoverageEvent.allCases.filter { count(of: $0) == 0 }.map { "\($0)" } }
}

extension Report: CustomStringConvertible {
    public var description: String {
        let time = virtualTime / 1_000_000
        var lines = [
            "\(seeds) \(seeds == 1 ? "seed" : "seeds"), \(time / 3_600) h \(time / 60 % 60) min \(time % 60) s of virtual time, \(events) events",
            "\(inputs) inputs, \(turns) turns on disk, \(effects) effects ended by \(executions) executions, \(restarts) ends of the store",
        ]
        lines.append("faults:")
        lines += Self.table(Fault.allCases.map { ("\($0)", count(of: $0)) })
        lines.append("faults of stores that share a database:")
        lines += Self.table(DatabaseFault.allCases.map { ("\($0)", count(of: $0)) })
        lines.append("what the program did:")
        lines += Self.table(CoverageEvent.allCases.map { ("\($0)", count(of: $0)) })
        return lines.joined(separator: "\n")
    }

    private static func table(_ rows: [(name: String, count: Int)]) -> [String] {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.count)" }
    }
}
