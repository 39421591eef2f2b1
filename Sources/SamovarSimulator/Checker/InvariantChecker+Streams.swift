import SamovarCore
import SamovarWire

/// What jobs send before their end.
extension InvariantChecker {
    /// A streamed message is in the journal.
    func streamed(_ bytes: [UInt8], checkpoint: [UInt8]?, _ record: Record) throws(Violation) {
        guard case .effect(let id, let lease, let index) = record.origin else {
            return try require(false, .i2, expected: "a stream of an effect", seen: "turn \(record.turn) of \(record.origin)")
        }
        guard var order = reference.open[id] else {
            return try require(
                false, .i16, expected: "streams of open effects", seen: "a message of effect \(id) at turn \(record.turn)")
        }
        try require(
            index == (order.place?.index ?? 0) + 1, .i16, expected: "message \((order.place?.index ?? 0) + 1) of effect \(id)",
            seen: "message \(index) at turn \(record.turn), under lease \(lease)")
        let drop = Assignment.Drop(message: bytes, checkpoint: checkpoint)
        let assignment = reference.assignments[lease]
        try require(
            assignment?.effect == id && assignment?.drops[index] == drop, .i2,
            expected: "what a worker streamed for effect \(id) under lease \(lease)",
            seen: "message \(index) at turn \(record.turn), which is another")
        try require(
            order.failed.map { lease > $0 } ?? true, .i16, expected: "messages of attempts that have not failed",
            seen: "message \(index) of effect \(id) under lease \(lease) at turn \(record.turn)")
        try require(
            order.streamedBy.map { lease >= $0 } ?? true, .i16,
            expected: "no older attempt of effect \(id) than lease \(order.streamedBy ?? lease)",
            seen: "message \(index) under lease \(lease) at turn \(record.turn)")
        try require(
            !order.isOvertaken(lease), .i16, expected: "messages of the attempt that has gone on since the restart",
            seen: "message \(index) of effect \(id) under lease \(lease) at turn \(record.turn)")
        order.place = StreamPlace(index: index, checkpoint: checkpoint ?? order.place?.checkpoint)
        (order.streamedBy, order.streamedIn) = (lease, reference.starts)
        order.streamed[lease, default: []].insert(index)
        if checkpoint != nil {
            order.failures = 0
            order.deaths = 0
        }
        reference.open[id] = order
        reference.count(.streamed)
        try apply(bytes, record)
    }

    /// The answer that ends an effect comes after all that its attempt has streamed.
    func requireWhole(_ id: EffectID, _ lease: Lease, _ record: Record) throws(Violation) {
        guard !world.swarm.isHarsh, let missing = missingDrop(id, lease) else { return }
        try require(
            false, .i16, expected: "message \(missing), which effect \(id) has streamed under lease \(lease), before its end",
            seen: "its end at turn \(record.turn)")
    }

    /// The first message that an attempt has streamed and that was not applied.
    func missingDrop(_ id: EffectID, _ lease: Lease) -> Int? {
        let applied = reference.open[id]?.streamed[lease] ?? []
        return reference.assignments[lease]?.drops.keys.sorted().first { !applied.contains($0) }
    }

    /// What is acknowledged is on disk, or will never be wanted.
    func check(_ mark: StreamMark) throws(Violation) {
        guard let assignment = reference.assignments[mark.lease] else {
            return try require(false, .i16, expected: "a lease that was handed out", seen: "\(mark)")
        }
        guard let order = reference.open[assignment.effect] else { return }
        if mark.index > order.place?.index ?? 0 {
            try require(
                assignment.isSettled, .i16,
                expected: "CANCEL of lease \(mark.lease), whose messages are not wanted, before word of them",
                seen: "\(mark)")
        }
        try require(
            reference.isFenced(mark.lease, of: assignment.effect) || mark.index <= order.place?.index ?? 0, .i5,
            expected: "message \(order.place?.index ?? 0) of effect \(assignment.effect), the newest on disk", seen: "\(mark)")
    }
}
