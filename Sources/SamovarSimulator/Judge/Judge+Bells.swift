import SamovarCore
import SamovarProtocol

/// Who listens, and what they hear.
extension Judge {
    /// A message that a subscription sends.
    func fired(_ id: EffectID, nominal: Timestamp, _ message: Mill.Message, _ record: Record) throws(Violation) {
        guard let peal = chronicle.belfry.peal(id) else {
            return try require(
                false, .i14, expected: "a message of a subscription that is wanted",
                seen: "turn \(record.turn), of the activation \(id), which is over")
        }
        try require(
            message == peal.hung.message, .i14, expected: "\(peal.hung.message), as the state wants it",
            seen: "\(message) at turn \(record.turn)")
        if peal.bell.kind.isMoment { return try heardOfMoment(peal, record) }
        try require(
            peal.last.map { nominal.microseconds > $0 } ?? true, .i14,
            expected: "each time of \(id) once, the newest was \(peal.last ?? 0)",
            seen: "\(nominal.microseconds) at turn \(record.turn)")
        let expected = chronicle.belfry.nominal(of: peal, now: record.time)
        try require(
            expected == nominal.microseconds, .i14,
            expected: expected.map { "a message for the time \($0) of \(peal.bell)" } ?? "no message before \(peal.due ?? .max)",
            seen: "one for \(nominal.microseconds) at turn \(record.turn), \(record.time.microseconds)")
        chronicle.count(peal.due == nominal.microseconds ? .rang : .rangForSeveral)
        chronicle.belfry.rang(id, nominal: nominal.microseconds)
    }

    /// At most once in each life of the store, and by who listened before.
    private func heardOfMoment(_ peal: Belfry.Peal, _ record: Record) throws(Violation) {
        try require(
            peal.heardIn < chronicle.starts, .i14, expected: "\(peal.id) to hear of its moment once in start \(chronicle.starts)",
            seen: "it hears of it again at turn \(record.turn)")
        try require(
            peal.bell.kind == .draining || peal.id.turn < chronicle.startTurn, .i14,
            expected: "those to hear of start \(chronicle.starts) that were there before", seen: "\(peal.id) at turn \(record.turn)"
        )
        chronicle.belfry.heard(peal.id, start: chronicle.starts)
        chronicle.count(.heardOfMoment)
    }

    /// No timer waits that is long due.
    func requireBells() throws(Violation) {
        guard let (peal, due) = chronicle.belfry.longestDue else { return }
        let late = (chronicle.storeTime(at: world.now) - Timestamp(microseconds: due)).microseconds
        try require(
            late < 2 * seconds, .i9, expected: "no timer that is long due",
            seen: "\(peal.bell), \(peal.id), is due since \(describe(late)) s")
    }

    /// What a program told others is heard in order, without a hole.
    func heard(_ client: ClientProcess, _ page: OutputPage, timeline: Timeline) throws(Violation) {
        guard let chronicle = chronicle(of: timeline) else {
            return try require(false, .i7, expected: "a timeline that there was", seen: "\(timeline)")
        }
        let rest = chronicle.outputs.drop { $0.id <= page.after }
        try require(
            page.lost == nil && page.outputs.elementsEqual(rest.prefix(page.outputs.count)), .i7,
            expected: "the outputs after \(page.after), in order", seen: "\(client.name) reads \(page.outputs.map(\.id))")
        if !page.outputs.isEmpty { chronicle.count(.outputRead) }
    }
}
