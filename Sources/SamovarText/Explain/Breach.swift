package import SamovarStore
package import SamovarWire

/// The first turn after which an invariant of the program is broken.
package struct Breach: Sendable {
    package let invariant: String
    package let record: Record

    /// One for each invariant that is ever broken, in the order of the turns.
    ///
    /// - Parameter names: of the program's invariants, in its order.
    package static func first(of names: [String], in past: any PastReader) throws -> [Breach] {
        var breaches: [Breach] = []
        var kept = Array(names.indices)
        func look(at record: Record) throws {
            for index in kept where try !past.keeps(invariant: index) {
                breaches.append(Breach(invariant: names[index], record: record))
                kept.removeAll { $0 == index }
            }
        }
        try past.move(to: past.span.known.lowerBound)
        if let first = try past.record(of: past.turn) { try look(at: first) }
        try past.walk(through: past.span.known.upperBound) { record in
            if past.mayDiffer(after: record) { try look(at: record) }
            return !kept.isEmpty
        }
        return breaches
    }

    /// For a person.
    package var text: String {
        "turn \(record.turn) (\(record.messageName)), \(record.originText), breaks the invariant “\(escapeForTerminal(invariant))”"
    }
}
