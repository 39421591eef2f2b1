import SamovarCore

/// Compares what everybody says with the journal. It uses none of the store's machines: the journal gives the order, so each
/// invariant is one pass.
public struct Checker {
    /// What was seen, for the table at the end.
    public private(set) var counts: [(what: String, count: Int)] = []
    public private(set) var violations: [Violation] = []

    let evidence: Evidence
    let plot: Plot

    /// - Throws: what reading a message of the journal throws.
    public init(_ evidence: Evidence) throws {
        self.evidence = evidence
        plot = try Plot(evidence.story, viewsAt: Set(evidence.sightings.values.joined().map(\.turn)))
        checkAnswers()
        checkLines()
        checkSessions()
        checkHeads()
        checkAttempts()
        checkOrders()
        checkSightings()
        checkFencing()
        for text in evidence.unfinished { report(.liveness, text) }
        for text in evidence.excesses { report(.bounds, text) }
        for text in evidence.unexpectedEnds { report(.restart, text) }
    }

    private mutating func report(_ invariant: Invariant, _ evidence: String) {
        violations.append(Violation(invariant: invariant, evidence: evidence))
    }

    private mutating func count(_ what: String, _ count: Int) {
        counts.append((what, count))
    }

    // MARK: Clients

    /// I1, I12, and the half of I9 that clients see.
    private mutating func checkAnswers() {
        let lines = Dictionary(plot.written.map { ($0.turn, $0.line) }) { first, _ in first }
        var answered = 0
        for (client, calls) in evidence.calls.sorted(by: { $0.key < $1.key }) {
            var open: [String: Call] = [:]
            for call in calls {
                if call.step == .called { open[call.line.name] = call } else { open[call.line.name] = nil }
                switch call.step {
                case .called: break
                case .applied:
                    answered += 1
                    guard let turn = call.turn, lines[turn] == call.line else {
                        report(
                            .lost,
                            "\(client) was told that \(call.line.name) is turn \(call.turn ?? 0); the journal has \(told(at: call.turn)) there"
                        )
                        continue
                    }
                case .refused:
                    answered += 1
                    let session = plot.refused[call.turn ?? 0]
                    if session == nil || plot.sessions[call.line.column]?.contains(session ?? .zero) == false {
                        report(
                            .lost,
                            "\(client) was told that \(call.line.name) was refused as turn \(call.turn ?? 0); the journal has \(told(at: call.turn)) there"
                        )
                    }
                case .rejected, .unknown:
                    report(.honesty, "\(client) was told that \(call.line.name) is \(call.step.rawValue): \(call.reason ?? "")")
                }
            }
            for call in open.values where !evidence.killedLives.contains(call.line.life) {
                report(.liveness, "\(client) never had an answer to \(call.line.name)")
            }
        }
        count("answers that clients had", answered)
    }

    private func told(at turn: Int?) -> String {
        guard let turn, turn > 0, turn <= plot.head else { return "no such turn" }
        return plot.written.first { $0.turn == turn }?.line.name ?? (plot.refused[turn] == nil ? "no input" : "a refusal")
    }

    /// I2, and the half of I3 that the lines themselves show.
    private mutating func checkLines() {
        var sent: [String: Slate.Line] = [:]
        for call in evidence.calls.values.joined() { sent[call.line.name] = call.line }
        var newest: [String: Int] = [:]
        var seen: Set<String> = []
        for written in plot.written {
            let line = written.line
            if sent[line.name] != line { report(.phantom, "turn \(written.turn) writes \(line.name), which no client sent") }
            let last = newest[line.column] ?? 0
            if !seen.insert(line.name).inserted {
                report(.order, "turn \(written.turn) writes \(line.name) a second time")
            } else if line.number < last {
                report(.order, "turn \(written.turn) writes \(line.name) after number \(last)")
            } else if line.number != (Slate.isUnlucky(last + 1) ? last + 2 : last + 1) {
                report(.order, "turn \(written.turn) writes \(line.name), and the numbers after \(last) are missing")
            }
            newest[line.column] = max(last, line.number)
        }
        for stray in plot.strays { report(.phantom, stray) }
        for fault in plot.state.faults { report(.order, "the program noted: \(fault)") }
        count("lines in the journal", plot.written.count)
    }

    private mutating func checkSessions() {
        for (session, numbers) in plot.sequences.sorted(by: { $0.key < $1.key }) {
            for (index, number) in numbers.enumerated() where number != index + 1 {
                report(.order, "session \(session) has number \(number) in the journal as its \(index + 1)th")
                break
            }
        }
        for (column, sessions) in plot.sessions where sessions.count > 1 {
            report(.order, "column \(column) was written by \(sessions.count) sessions")
        }
        count("sessions", plot.sequences.count)
    }

    // MARK: Effects

    /// I5, and that every attempt of an effect is of the same job.
    private mutating func checkAttempts() {
        let prefix = "\(evidence.story.timeline)/"
        var keys: Set<String> = []
        for attempt in evidence.attempts where keys.insert("\(attempt.key) \(attempt.job)").inserted {
            guard attempt.key.hasPrefix(prefix) else {
                report(.early, "\(attempt.job) ran as \(attempt.key), which is of another timeline")
                continue
            }
            let parts = attempt.key.dropFirst(prefix.count).split(separator: "/").compactMap { Int($0) }
            let effect = parts.count == 2 ? EffectID(turn: parts[0], ordinal: parts[1]) : EffectID(turn: 0, ordinal: 0)
            let ordered = plot.orders[effect]?.job
            if ordered != attempt.job {
                report(.early, "\(attempt.job) ran as effect \(effect), for which the journal has \(ordered ?? "nothing")")
            }
        }
        count("attempts that started", evidence.attempts.count { $0.step == .started })
    }

    /// I6, and I9 for effects.
    private mutating func checkOrders() {
        var started: Set<String> = []
        var answered: Set<String> = []
        for attempt in evidence.attempts {
            if attempt.step == .started {
                started.insert(attempt.job)
            } else if attempt.step == .answered {
                answered.insert(attempt.job)
            }
        }
        for order in plot.orders.values.sorted(by: { $0.effect < $1.effect }) {
            let name = "effect \(order.effect) (\(order.job))"
            switch order.closings.count {
            case 0: report(.liveness, "\(name) is open")
            case 1: break
            default: report(.completion, "\(name) was completed \(order.closings.count) times, in turns \(order.closings)")
            }
            if order.answers.count > 1 { report(.completion, "the answer of \(name) was applied in turns \(order.answers)") }
            if !order.closings.isEmpty, !started.contains(order.job) {
                report(.completion, "\(name) is closed (\(order.endedBy)) and never ran")
            }
            if order.endedBy == "answered", !answered.contains(order.job) {
                report(.phantom, "\(name) was answered, and no worker says so")
            }
        }
        count("effects ordered", plot.orders.count)
        count("effects dead", plot.orders.values.count { $0.isDead })
    }

    /// I8.
    private mutating func checkFencing() {
        for (index, number) in plot.starts.enumerated() {
            let former = index == 0 ? 0 : plot.starts[index - 1]
            guard evidence.story.startsMayHaveGaps ? number <= former : number != index + 1 else { continue }
            report(.fencing, "start \(index + 1) of the store calls itself \(number)")
            break
        }
        var effects: [Lease: EffectID] = [:]
        for (lease, effect, start) in plot.leases {
            if lease.start > start { report(.fencing, "lease \(lease) answered in start \(start)") }
            if let other = effects.updateValue(effect, forKey: lease), other != effect {
                report(.fencing, "lease \(lease) was given for effects \(other) and \(effect)")
            }
        }
        count("starts of the store", plot.starts.count)
    }

    // MARK: Views

    /// I4.
    private mutating func checkHeads() {
        let head = plot.views[plot.head]
        for (who, view) in evidence.heads where view != head {
            report(.replay, "\(who) has at the head \(view); the journal says \(head.map { "\($0)" } ?? "nothing")")
        }
        count("turns", plot.head)
    }

    /// I7.
    private mutating func checkSightings() {
        let timeline = "\(evidence.story.timeline)"
        for (subscriber, sightings) in evidence.sightings.sorted(by: { $0.key < $1.key }) {
            var last = 0
            for sighting in sightings {
                if sighting.timeline != timeline { report(.views, "\(subscriber) was shown timeline \(sighting.timeline)") }
                if sighting.turn <= last { report(.views, "\(subscriber) was shown turn \(sighting.turn) after turn \(last)") }
                if plot.views[sighting.turn] != sighting.view {
                    report(
                        .views, "\(subscriber) was shown at turn \(sighting.turn) \(sighting.view), which the journal does not give"
                    )
                }
                last = max(last, sighting.turn)
            }
        }
        for subscriber in evidence.lastSubscribers.sorted()
        where evidence.sightings[subscriber]?.last?.view != plot.views[plot.head] {
            let turn = evidence.sightings[subscriber]?.last?.turn
            report(.views, "\(subscriber) ended with turn \(turn.map { "\($0)" } ?? "none"), and the head is \(plot.head)")
        }
        count("views seen", evidence.sightings.values.reduce(0) { $0 + $1.count })
    }
}
