import MessagePack
import SamovarCore
import SamovarWire

// What `status` tells of the last seconds, and of the process and its disk.
extension StoreMachine {
    private func sample(now: Timestamp) -> RecentPast.Sample {
        let (counts, meters) = (turns.counts, scheduler.dispatcher.meters)
        return RecentPast.Sample(
            time: now, turns: head, inputs: counts.applied + counts.refused, commits: counts.commitTimes, rounds: measured.rounds,
            journalBytes: counts.journalBytes, meters: meters)
    }

    /// Called each tick. Once in a while the host is asked for what it knows.
    mutating func noteSample(now: Timestamp) {
        guard measured.recent.isDue(now: now) else { return }
        measured.recent.take(sample(now: now))
        out.emit(.measureProcess, floor: .none)
    }

    /// Rates and percentiles of the last seconds; nil before the first tick.
    func recentPast(now: Timestamp) -> RecentPast.Span? { measured.recent.span(to: sample(now: now)) }

    static func shown(_ span: RecentPast.Span?) -> [MessagePackPair] {
        guard let span else { return [] }
        func rate(_ name: MessagePackValue, _ count: (RecentPast.Sample) -> Int) -> MessagePackPair {
            MessagePackPair(name, .double((span.perSecond(count) * 100).rounded() / 100))
        }
        return [
            MessagePackPair(
                "rates",
                .map([
                    MessagePackPair("seconds", .double(span.seconds)), rate("turns", \.turns), rate("inputs", \.inputs),
                    rate("effectsClosed", \.meters.closed), rate("journalBytes", \.journalBytes),
                ])),
            MessagePackPair("commit", shown(span.histogram(\.commits))),
            MessagePackPair("round", shown(span.histogram(\.rounds))),
        ]
    }

    /// How long effects of a queue waited, and attempts took; nil for one that has no number of its own.
    static func shown(_ span: RecentPast.Span?, _ queue: Queue) -> (wait: MessagePackValue, attempt: MessagePackValue)? {
        guard let span, let number = span.to.meters.known(queue) else { return nil }
        return (shown(span.histogram { $0.meters.waits(number) }), shown(span.histogram { $0.meters.runs(number) }))
    }

    private static func shown(_ histogram: DurationHistogram) -> MessagePackValue {
        func percentile(_ percent: Int) -> MessagePackValue { histogram.percentile(percent).map { .double($0) } ?? .nil }
        return ["count": .number(histogram.count), "p50": percentile(50), "p99": percentile(99)]
    }

    /// The journal does not keep the turns up to this one any more.
    public mutating func journalTrimmed(through turn: Int) { measured.trimmed = turn }

    /// What the host told last, some seconds ago at most.
    var shownProcess: MessagePackValue {
        guard let facts = measured.process else { return .nil }
        return [
            "processorSeconds": .double(facts.process.processorSeconds),
            "residentBytes": .number(Int(facts.process.residentBytes)),
            "journalBytes": facts.journalBytes.map { .number($0) } ?? .nil,
            "freeBytes": facts.freeBytes.map { .number($0) } ?? .nil,
        ]
    }
}

extension MessagePackValue {
    static func seconds(_ duration: Duration) -> MessagePackValue { .double(Double(duration.microseconds) / 1_000_000) }
}
