import MessagePack
import SamovarLoad

extension LoadReport {
    /// The report as one value, whose text is JSON. Latencies are in microseconds.
    var value: MessagePackValue {
        [
            "program": .string(program),
            "started": .string(started),
            "sound": .bool(isSound),
            "durationSeconds": .double(duration),
            "settings": .map(settings.map { MessagePackPair(.string($0.name), .string($0.value)) }),
            "machines": .array(machines.map { .string($0) }),
            "throughput": .double(throughput),
            "inputs": [
                "due": number(counts.due), "sent": number(counts.sent), "applied": number(counts.applied),
                "refused": number(counts.refused), "rejected": number(counts.rejected), "unknown": number(counts.unknown),
            ],
            "lost": number(judgement.findings.lost),
            "duplicated": number(judgement.findings.duplicated),
            "outOfOrder": number(judgement.findings.outOfOrder),
            "contradicted": number(judgement.findings.contradicted),
            "unanswered": number(judgement.findings.unanswered),
            "judgedBy": judgedBy,
            "findings": .array(judgement.findings.examples.map { .string($0) }),
            "latencyMicroseconds": [
                "applied": latency(latencies.applied), "settled": latency(latencies.settled), "view": latency(latencies.view),
            ],
            "deadEffects": number(counts.dead),
            "withoutView": number(withoutView),
            "withoutEnd": number(withoutEnd),
            "bytesPerInput": [
                "sent": .double(bytes.sent), "received": .double(bytes.received), "journal": optional(bytes.journal),
            ],
            "bytesPerView": optional(bytes.view),
            "kills": .array(kills.map { ["time": .double($0.time), "process": .string($0.process)] }),
            "processes": .array(processes.map(process)),
            "seconds": .array(seconds.map(second)),
            "problems": .array(problems.map { .string($0) }),
            "notes": .array(notes.map { .string($0) }),
        ]
    }

    private var judgedBy: MessagePackValue {
        switch judgement.evidence {
        case .journal(let turns): ["evidence": "journal", "turns": number(turns)]
        case .receipts(let reason): ["evidence": "receipts", "because": .string(reason)]
        }
    }

    private func latency(_ summary: LatencySummary) -> MessagePackValue {
        let headline = LatencySummary.headline.map { name, percentile in
            MessagePackPair(.string(name), summary.value(at: percentile).map { .int($0) } ?? .nil)
        }
        let curve: [MessagePackValue] = summary.curve.map { .array([.double($0.percentile), .int($0.microseconds)]) }
        return .map(
            [MessagePackPair("count", number(summary.count)), MessagePackPair("mean", .double(summary.mean))] + headline
                + [MessagePackPair("curve", .array(curve))])
    }

    private func process(_ figures: ProcessFigures) -> MessagePackValue {
        [
            "name": .string(figures.name),
            "processorSeconds": .double(figures.processorSeconds),
            "meanLoad": .double(figures.meanLoad),
            "highestLoad": .double(figures.highestLoad),
            "highestResidentBytes": .int(figures.highestMemory),
            "points": .array(
                figures.points.map { .array([.double($0.time), .double($0.load), .int($0.residentBytes)]) }),
        ]
    }

    private func second(_ second: Second) -> MessagePackValue {
        [
            "time": .double(second.time), "sent": number(second.sent), "applied": number(second.applied),
            "answered": number(second.answered),
            "views": number(second.views), "unanswered": number(second.unanswered),
            "p50": second.p50.map { .int($0) } ?? .nil, "p99": second.p99.map { .int($0) } ?? .nil,
            "max": second.max.map { .int($0) } ?? .nil,
        ]
    }

    private func number(_ number: Int) -> MessagePackValue { .int(Int64(number)) }
    private func optional(_ number: Double?) -> MessagePackValue { number.map { .double($0) } ?? .nil }
}
