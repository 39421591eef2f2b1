import SamovarCore
import SamovarWire

/// Who listens, and what they hear.
extension InvariantChecker {
    /// A message that a subscription sends.
    func fired(_ id: EffectID, nominal: Timestamp, _ message: ModelProgram.Message, _ record: Record) throws(Violation) {
        guard let activation = reference.timerOracle.activation(id) else {
            return try require(
                false, .i14, expected: "a message of a subscription that is wanted",
                seen: "turn \(record.turn), of the activation \(id), which is over")
        }
        try require(
            message == activation.armed.message, .i14, expected: "\(activation.armed.message), as the state wants it",
            seen: "\(message) at turn \(record.turn)")
        if activation.timer.kind.isLifecycle { return try heardOfLifecycle(activation, record) }
        try require(
            activation.last.map { nominal.microseconds > $0 } ?? true, .i14,
            expected: "each time of \(id) once, the newest was \(activation.last ?? 0)",
            seen: "\(nominal.microseconds) at turn \(record.turn)")
        let expected = reference.timerOracle.nominal(of: activation, now: record.time)
        try require(
            expected == nominal.microseconds, .i14,
            expected: expected.map { "a message for the time \($0) of \(activation.timer)" }
                ?? "no message before \(activation.due ?? .max)",
            seen: "one for \(nominal.microseconds) at turn \(record.turn), \(record.time.microseconds)")
        reference.count(activation.due == nominal.microseconds ? .fired : .firedForSeveral)
        reference.timerOracle.fired(id, nominal: nominal.microseconds)
    }

    /// At most once in each life of the store, and by who listened before.
    private func heardOfLifecycle(_ activation: TimerOracle.Activation, _ record: Record) throws(Violation) {
        try require(
            activation.heardIn < reference.starts, .i14,
            expected: "\(activation.id) to hear of its moment once in start \(reference.starts)",
            seen: "it hears of it again at turn \(record.turn)")
        try require(
            activation.timer.kind == .draining || activation.id.turn < reference.startTurn, .i14,
            expected: "those to hear of start \(reference.starts) that were there before",
            seen: "\(activation.id) at turn \(record.turn)"
        )
        reference.timerOracle.heard(activation.id, start: reference.starts)
        reference.count(.heardOfLifecycle)
    }

    /// No timer waits that is long due.
    func requireTimers() throws(Violation) {
        guard let (activation, due) = reference.timerOracle.longestDue else { return }
        let late = (reference.storeTime(at: world.now) - Timestamp(microseconds: due)).microseconds
        try require(
            late < 2 * seconds, .i9, expected: "no timer that is long due",
            seen: "\(activation.timer), \(activation.id), is due since \(describe(late)) s")
    }

    /// What a program told others is heard in order, without a hole.
    func heard(_ client: ClientProcess, _ page: OutputPage, timeline: Timeline) throws(Violation) {
        guard let reference = reference(of: timeline) else {
            return try require(false, .i7, expected: "a timeline that there was", seen: "\(timeline)")
        }
        let rest = reference.outputs.drop { $0.id <= page.after }
        try require(
            page.lost == nil && page.outputs.elementsEqual(rest.prefix(page.outputs.count)), .i7,
            expected: "the outputs after \(page.after), in order", seen: "\(client.name) reads \(page.outputs.map(\.id))")
        if !page.outputs.isEmpty { reference.count(.outputRead) }
    }
}
