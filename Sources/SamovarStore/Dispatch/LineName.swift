import SamovarCore
import SamovarWire

/// Where effects wait together: in a queue, for a worker that can do these things.
struct LineName: Hashable, Comparable, CustomStringConvertible {
    let queue: Queue
    var needs: Set<String> = []

    /// Such as “video (needs av1, gpu)”.
    var description: String {
        needs.isEmpty ? "\(queue)" : "\(queue) (needs \(needs.sorted().joined(separator: ", ")))".bounded()
    }

    /// By queue; within one, those that need most come first, and else it goes by what they need.
    static func < (a: LineName, b: LineName) -> Bool {
        if a.queue != b.queue { return a.queue < b.queue }
        if a.needs.count != b.needs.count { return a.needs.count > b.needs.count }
        return a.needs.sorted().lexicographicallyPrecedes(b.needs.sorted())
    }
}

extension OpenEffect {
    var line: LineName { isUsual ? LineName(queue: .default) : LineName(queue: options.queue, needs: options.needs) }
}
