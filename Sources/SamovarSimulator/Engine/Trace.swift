import SamovarCore

/// What happened, as a hash over everything and, if it is wanted, as text.
///
/// The text of millions of events costs more than the events. So a run only hashes; a run that must be explained is repeated
/// from its seed with the text on, which the hash shows to be the same run.
struct Trace {
    private var hash = KeyedHash(Secret(high: 0, low: 0))
    private let keeping: Simulation.Tracing
    private(set) var lines: [String] = []

    init(_ keeping: Simulation.Tracing) {
        self.keeping = keeping
    }

    mutating func note(_ time: Instant, _ a: Int, _ b: Int = 0, content: [[UInt8]] = [], _ text: () -> String) {
        hash.combine(UInt64(bitPattern: time))
        hash.combine(a)
        hash.combine(b)
        for bytes in content {
            hash.combine(bytes.count)
            hash.combine(bytes)
        }
        guard keeping != .none else { return }
        lines.append("\(describe(time))  \(text())")
        if case .last(let limit) = keeping, lines.count >= 2 * limit { lines.removeFirst(lines.count - limit) }
    }

    var digest: UInt64 { hash.finish() }

    var tail: ArraySlice<String> {
        if case .last(let limit) = keeping { lines.suffix(limit) } else { lines[...] }
    }
}

/// `12.345678`: seconds of virtual time.
func describe(_ time: Instant) -> String {
    let fraction = String(time % seconds)
    return "\(time / seconds).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
}
