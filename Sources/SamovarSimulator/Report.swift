/// What happened in one run, or in many.
public struct Report: Sendable {
    public private(set) var seeds = 0
    /// Microseconds.
    public private(set) var virtualTime: Int64 = 0
    public private(set) var events = 0
    public private(set) var inputs = 0
    public private(set) var turns = 0
    public private(set) var effects = 0
    public private(set) var executions = 0
    public private(set) var restarts = 0
    /// By `Fault.rawValue`.
    private var faults = [Int](repeating: 0, count: Fault.allCases.count)

    /// By `Deed.rawValue`.
    private var deeds = [Int](repeating: 0, count: Deed.allCases.count)

    public init() {}

    init(_ world: World) {
        seeds = 1
        virtualTime = world.now
        events = world.events
        inputs = world.sent
        turns = world.judge.chronicle.last + world.judge.archive.values.reduce(0) { $0 + $1.last }
        effects = world.judge.effectsEnded
        executions = world.executions
        restarts = world.restarts
        faults = world.faultCounts
        for chronicle in [world.judge.chronicle] + world.judge.archive.values {
            for index in deeds.indices { deeds[index] += chronicle.deeds[index] }
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
        for index in sum.deeds.indices { sum.deeds[index] += next.deeds[index] }
    }

    public func count(of fault: Fault) -> Int { faults[fault.rawValue] }

    public func count(of deed: Deed) -> Int { deeds[deed.rawValue] }

    /// Classes of faults and deeds of the program that never happened: after many seeds, an error of the simulator.
    public var missing: [String] {
        Fault.allCases.filter { count(of: $0) == 0 }.map { "\($0)" } + Deed.allCases.filter { count(of: $0) == 0 }.map { "\($0)" }
    }
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
        lines.append("deeds of the program:")
        lines += Self.table(Deed.allCases.map { ("\($0)", count(of: $0)) })
        return lines.joined(separator: "\n")
    }

    private static func table(_ rows: [(name: String, count: Int)]) -> [String] {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.count)" }
    }
}
