import MessagePack
package import SamovarCore
package import SamovarStore
import SamovarWire

/// Spans as lines of OTLP/JSON, each an ExportTraceServiceRequest: the format of files of the OpenTelemetry collector.
///
/// Identities are hexadecimal there, numbers of 64 bits are text, and kinds and status codes are numbers.
///
/// Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding and https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
///
/// Written directly, and not as a value that is then encoded, which takes several times as long.
package struct TraceLines {
    /// Spans of a line.
    package static let maximumSpans = 512
    /// Bytes of a line from which it is full.
    package static let maximumBytes = 1 << 20
    /// Bytes of a message, an effect or a refusal that are shown.
    static let maximumContent = 4_096
    /// Effects that the span of the turn which ordered them names.
    static let maximumEvents = 128

    private let timeline: Timeline
    private let beginning: String
    private let redactions: [Redaction]
    /// That have no span yet.
    private var attempts: [EffectID: [RememberedAttempt]]
    private var hits: Set<Int> = []
    private var text = OTLPText()
    private var count = 0

    /// - Parameter attempts: what a store remembers: they get spans of their own below that of their effect.
    package init(of program: String, timeline: Timeline, redactions: [Redaction], attempts: [RememberedAttempt] = []) {
        self.timeline = timeline
        self.redactions = redactions
        self.attempts = Dictionary(grouping: attempts, by: \.effect)
        var text = OTLPText()
        text.raw(#"{"resourceSpans":[{"resource":{"attributes":["#)
        text.attribute("service.name", program)
        text.attribute("service.instance.id", "\(timeline)")
        text.raw(#"]},"scopeSpans":[{"scope":{"name":"samovar"},"spans":["#)
        beginning = String(decoding: text.bytes, as: UTF8.self)
    }

    /// Adds a span and those of its attempts; returns the lines that are full by then.
    package mutating func add(_ span: TraceSpan) -> [String] {
        var lines: [String] = []
        next()
        write(span)
        if let line = endIfFull() { lines.append(line) }
        // A requeued effect has a span for each of its ends, all from its order on, and each attempt belongs to the first one behind it.
        if case .effect(let effect, _, _) = span.content {
            let ended = attempts[effect.id]?.filter { $0.handedOut <= span.end } ?? []
            attempts[effect.id]?.removeAll { $0.handedOut <= span.end }
            for attempt in ended where attempt.handedOut >= span.begin {
                next()
                write(attempt, of: span)
                if let line = endIfFull() { lines.append(line) }
            }
        }
        return lines
    }

    /// Begins one more span of the line.
    private mutating func next() {
        text.raw(count == 0 ? beginning : ",")
        count += 1
    }

    private mutating func endIfFull() -> String? {
        count >= Self.maximumSpans || text.bytes.count >= Self.maximumBytes ? end() : nil
    }

    /// The last line, unless there is nothing more.
    package mutating func end() -> String? {
        guard count > 0 else { return nil }
        text.raw("]}]}]}")
        defer {
            text.removeAll()
            count = 0
        }
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// Paths at which there was never anything.
    package var missed: [Redaction] { redactions.indices.filter { !hits.contains($0) }.map { redactions[$0] } }

    // MARK: Spans

    private enum Kind: Int {
        case inner = 1
        case server = 2
        case client = 3
    }

    private mutating func write(_ span: TraceSpan) {
        begin(span.place, below: span.parent, root: span.root)
        switch span.content {
        case .turn(let record, let ordered): write(turn: record, ordered, span)
        case .effect(let effect, let end, let attempts): write(effect: effect, end, attempts, span)
        }
        if let failure = span.failure {
            text.raw(#","status":{"code":2,"message":"#)
            text.string(shown(.string(failure), as: .failure).plainText)
            text.raw("}")
        }
        text.raw("}")
    }

    /// Up to its name.
    private mutating func begin(_ place: TraceSpan.Place, below parent: TraceSpan.Place?, root: Int) {
        let trace = TraceSpan.trace(of: root, in: timeline)
        text.raw(#"{"traceId":""#)
        text.raw(hexadecimal(trace.high))
        text.raw(hexadecimal(trace.low))
        text.raw(#"","spanId":""#)
        text.raw(hexadecimal(TraceSpan.id(of: place, in: timeline)))
        if let parent {
            text.raw(#"","parentSpanId":""#)
            text.raw(hexadecimal(TraceSpan.id(of: parent, in: timeline)))
        }
        text.raw(#"","name":"#)
    }

    private mutating func write(turn record: Record, _ ordered: [OpenEffect], _ span: TraceSpan) {
        let content = record.content.map { (root: $0, value: shown(record.detail, as: $0)) }
        let isInput = if case .client = record.origin { true } else { false }
        text.string((content?.root == .message ? content?.value.caseName : nil) ?? record.kind)
        write(isInput ? .server : .inner, span.begin, span.end)
        text.raw(#","attributes":["#)
        text.attribute("samovar.turn", record.turn)
        text.attribute("samovar.kind", record.kind)
        text.attribute("samovar.origin", record.originText)
        if let sender = record.senderText { text.attribute("samovar.sender", sender) }
        if let content { text.attribute("samovar.\(content.root.rawValue)", Self.cut(content.value)) }
        text.raw("]")
        if !ordered.isEmpty { write(ordered, at: record.time) }
    }

    private mutating func write(effect: OpenEffect, _ end: TraceSpan.End, _ attempts: Int, _ span: TraceSpan) {
        let value = shown(MessagePackValue(shown: effect.payload), as: .effect)
        text.string(value.caseName ?? "effect")
        write(.client, span.begin, span.end)
        text.raw(#","attributes":["#)
        text.attribute("samovar.effect.id", "\(effect.id)")
        text.attribute("samovar.queue", "\(effect.queue)")
        if let label = effect.options.id { text.attribute("samovar.label", "\(label)") }
        text.attribute("samovar.end", end.rawValue)
        text.attribute("samovar.attempts", attempts)
        text.attribute("samovar.effect", Self.cut(value))
        text.raw("]")
    }

    /// One that still runs ends with the span of its effect: that is over, and nobody waits for it any more.
    private mutating func write(_ attempt: RememberedAttempt, of span: TraceSpan) {
        begin(.attempt(attempt.effect, handedOut: attempt.handedOut), below: span.place, root: span.root)
        text.string("attempt")
        write(.inner, attempt.handedOut, attempt.ended ?? max(span.end, attempt.handedOut))
        text.raw(#","attributes":["#)
        text.attribute("samovar.effect.id", "\(attempt.effect)")
        text.attribute("samovar.attempt", attempt.number)
        if let worker = attempt.worker { text.attribute("samovar.worker", worker) }
        text.attribute("samovar.end", attempt.how)
        text.raw("]")
        if let startedBy = attempt.startedBy {
            text.raw(#","events":[{"timeUnixNano":""#)
            text.raw(Self.nanoseconds(startedBy))
            text.raw(#"","name":"heard","attributes":[]}]"#)
        }
        if attempt.isFailure {
            text.raw(#","status":{"code":2,"message":"#)
            text.string(attempt.how)
            text.raw("}")
        }
        text.raw("}")
    }

    private mutating func write(_ kind: Kind, _ begin: Timestamp, _ end: Timestamp) {
        text.raw(#","kind":"#)
        text.raw("\(kind.rawValue)")
        text.raw(#","startTimeUnixNano":""#)
        text.raw(Self.nanoseconds(begin))
        text.raw(#"","endTimeUnixNano":""#)
        text.raw(Self.nanoseconds(end))
        text.raw("\"")
    }

    /// One event for each effect that a turn has ordered: so one that is open is seen as well.
    private mutating func write(_ ordered: [OpenEffect], at time: Timestamp) {
        text.raw(#","events":["#)
        for (place, effect) in ordered.prefix(Self.maximumEvents).enumerated() {
            text.raw(place == 0 ? #"{"timeUnixNano":""# : #",{"timeUnixNano":""#)
            text.raw(Self.nanoseconds(time))
            text.raw(#"","name":"ordered","attributes":["#)
            text.attribute("samovar.effect.id", "\(effect.id)")
            text.attribute("samovar.queue", "\(effect.queue)")
            text.raw("]}")
        }
        text.raw("]")
        let left = ordered.count - Self.maximumEvents
        if left > 0 { text.raw(#","droppedEventsCount":\#(left)"#) }
    }

    /// The format has no times before 1970.
    private static func nanoseconds(_ time: Timestamp) -> String {
        let (product, overflow) = UInt64(max(0, time.microseconds)).multipliedReportingOverflow(by: 1_000)
        return "\(overflow ? .max : product)"
    }

    // MARK: Contents

    private mutating func shown(_ value: MessagePackValue, as root: Redaction.Root) -> MessagePackValue {
        var value = value
        for (index, redaction) in redactions.enumerated() {
            value = redaction.applied(to: value, of: root) { hits.insert(index) }
        }
        return value
    }

    private static func cut(_ value: MessagePackValue) -> String {
        let text = JSONTranscoder.text(of: value)
        guard text.utf8.count > maximumContent else { return text }
        return "\(String(decoding: text.utf8.prefix(maximumContent), as: UTF8.self))… (cut: it has \(text.utf8.count) bytes)"
    }
}

extension Record {
    /// What its detail is, if that comes from the program.
    fileprivate var content: Redaction.Root? {
        switch event {
        case .applied, .streamed: .message
        case .refused(.refused): .refusal
        default: nil
        }
    }
}
