import Foundation
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarText
@testable import SamovarWire

/// Spans in OTLP/JSON, and what is redacted in them.
@Suite struct TraceLinesTests {
    private static let timeline = Timeline(high: 1, low: 2)

    /// Of each message its turn, the effect that it orders, and the turn of the answer; the newest has no answer yet.
    private static func lines(
        messages: [MessagePackValue], effect: MessagePackValue = "run", redacting paths: String...
    ) throws -> (lines: [String], missed: [String]) {
        var lines = TraceLines(of: "Shop", timeline: timeline, redactions: try paths.map { try Redaction(parsing: $0) })
        var texts: [String] = []
        func add(_ span: TraceSpan) { texts += lines.add(span) }
        for (place, message) in messages.enumerated() {
            let turn = 2 * place + 1
            let order = OpenEffect(
                id: EffectID(turn: turn, ordinal: 0), root: turn, payload: effect.encoded, now: time(turn))
            let client = Origin.client(session: UniqueID(high: 0, low: 9), sequence: place + 1)
            add(Self.span(of: turn, client, message, root: turn, nil, ordering: [order]))
            guard place < messages.count - 1 else { break }
            add(
                Self.span(
                    of: turn + 1, .effect(order.id, lease: Lease(start: 1, counter: place), index: 0), "done", root: turn,
                    .effect(order.id)))
            add(
                TraceSpan(
                    .effect(order.id), .turn(turn), root: turn, from: time(turn), to: time(turn + 1), failure: nil,
                    .effect(order, .answered, attempts: 1)))
        }
        if let line = lines.end() { texts.append(line) }
        return (texts, lines.missed.map(\.description))
    }

    private static func time(_ second: Int) -> Timestamp { Timestamp(microseconds: Int64(second) * 1_000_000) }

    private static func span(
        of turn: Int, _ origin: Origin, _ message: MessagePackValue, root: Int, _ parent: TraceSpan.Place?,
        ordering effects: [OpenEffect] = []
    ) -> TraceSpan {
        let event = Record.Event.applied(message: message.encoded, hash: 0, closes: false)
        let record = Record(turn: turn, time: time(turn), origin: origin, root: root, event: event)
        return TraceSpan(
            .turn(turn), parent, root: root, from: time(turn), to: time(turn), failure: nil, .turn(record, ordered: effects))
    }

    private static func spans(in lines: [String]) throws -> [[String: Any]] {
        try lines.flatMap { line -> [[String: Any]] in
            let request = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            try OTLPSchema.check(request)
            let resources = try #require(request["resourceSpans"] as? [[String: Any]])
            return resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }.flatMap {
                $0["spans"] as? [[String: Any]] ?? []
            }
        }
    }

    @Test func `A line is a request as OTLP has it, letter by letter`() throws {
        let (lines, _) = try Self.lines(messages: [["order": ["name": "tea"]], "last"])
        let spans = try Self.spans(in: lines)
        #expect(spans.map { $0["name"] as? String } == ["order", "done", "run", "last"])
        let first = try #require(lines.first)
        #expect(
            first.hasPrefix(
                #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"Shop"}},{"key":"service.instance.id","value":{"stringValue":"00000000-0000-0001-0000-000000000002"}}]},"scopeSpans":[{"scope":{"name":"samovar"},"spans":[{"traceId":""#
            ))
        let effect = try #require(spans.first { $0["name"] as? String == "run" })
        let order = try #require(spans.first { $0["name"] as? String == "order" })
        #expect(effect["parentSpanId"] as? String == order["spanId"] as? String && order["parentSpanId"] == nil)
        #expect(effect["traceId"] as? String == order["traceId"] as? String)
        #expect(effect["startTimeUnixNano"] as? String == "1000000000" && effect["endTimeUnixNano"] as? String == "2000000000")
        #expect(order["kind"] as? Int == 2 && effect["kind"] as? Int == 3 && order["events"] != nil && effect["status"] == nil)
    }

    @Test func `A line has at most 512 spans, and all of them are there once`() throws {
        let (lines, _) = try Self.lines(messages: (0..<600).map { ["order": ["number": .int($0)]] })
        let counts = try lines.map { try Self.spans(in: [$0]).count }
        // Of each message three spans, but of the last one, which has no answer.
        #expect(counts == [512, 512, 512, 262])
        let ids = try Self.spans(in: lines).compactMap { $0["spanId"] as? String }
        #expect(Set(ids).count == ids.count)
    }

    @Test func `A large message is cut, a line is no longer for it, and what is no ASCII stays what it was`() throws {
        let (lines, _) = try Self.lines(messages: [
            ["order": ["name": .string(String(repeating: "é", count: 1 << 20))]], ["ö\n\"": 1],
        ])
        #expect(lines.joined().utf8.count < 32_000)
        #expect(lines.joined().contains("(cut: it has "))
        let last = try #require(try Self.spans(in: lines).last)
        let attributes = try #require(last["attributes"] as? [[String: Any]])
        let message = attributes.first { $0["key"] as? String == "samovar.message" }?["value"] as? [String: String]
        #expect(message == ["stringValue": #"{"ö\n\"":1}"#], "\(last)")
    }

    @Test func `An attempt that is remembered is a span below the life of its effect in which it was`() throws {
        let order = OpenEffect(
            id: EffectID(turn: 1, ordinal: 0), root: 1, payload: MessagePackValue("run").encoded, now: Self.time(1))
        let failed = RememberedAttempt(
            effect: order.id, number: 1, worker: "w-1", handedOut: Self.time(2), startedBy: Self.time(3), ended: Self.time(4),
            how: "failed")
        let answered = RememberedAttempt(
            effect: order.id, number: 1, handedOut: Self.time(7), ended: Self.time(8), how: "answered")
        let other = RememberedAttempt(effect: EffectID(turn: 1, ordinal: 1), number: 1, handedOut: Self.time(2))
        var lines = TraceLines(
            of: "Shop", timeline: Self.timeline, redactions: [], attempts: [other, answered, failed])
        _ = lines.add(
            TraceSpan(
                .effect(order.id), .turn(1), root: 1, from: Self.time(1), to: Self.time(4), failure: "no luck",
                .effect(order, .dead, attempts: 1)))
        _ = lines.add(
            TraceSpan(
                .again(order.id, endedIn: 9), .turn(1), root: 1, from: Self.time(6), to: Self.time(8), failure: nil,
                .effect(order, .answered, attempts: 1)))
        let ended = lines.end()
        let spans = try Self.spans(in: [try #require(ended)])
        #expect(spans.map { $0["name"] as? String } == ["run", "attempt", "run", "attempt"])
        #expect(spans[1]["parentSpanId"] as? String == spans[0]["spanId"] as? String)
        #expect(spans[3]["parentSpanId"] as? String == spans[2]["spanId"] as? String)
        #expect(spans[1]["startTimeUnixNano"] as? String == "2000000000" && spans[1]["endTimeUnixNano"] as? String == "4000000000")
        #expect((spans[1]["status"] as? [String: Any])?["code"] as? Int == 2 && spans[3]["status"] == nil)
        #expect((spans[1]["events"] as? [[String: Any]])?.first?["timeUnixNano"] as? String == "3000000000")
        #expect(Set(spans.compactMap { $0["spanId"] as? String }).count == 4)
    }

    @Test func `An attempt of an effect that ended twice is told once, below the first end behind it`() throws {
        let order = OpenEffect(
            id: EffectID(turn: 1, ordinal: 0), root: 1, payload: MessagePackValue("run").encoded, now: Self.time(1))
        let attempts = [7, 2].map { second in
            RememberedAttempt(
                effect: order.id, number: 1, handedOut: Self.time(second), ended: Self.time(second + 1), how: "failed")
        }
        var lines = TraceLines(of: "Shop", timeline: Self.timeline, redactions: [], attempts: attempts)
        // Both spans begin with the order.
        for (place, end) in [(TraceSpan.Place.effect(order.id), 4), (.again(order.id, endedIn: 9), 8)] {
            _ = lines.add(
                TraceSpan(
                    place, .turn(1), root: 1, from: Self.time(1), to: Self.time(end), failure: "no luck",
                    .effect(order, .dead, attempts: 1)))
        }
        let ended = lines.end()
        let spans = try Self.spans(in: [try #require(ended)])
        #expect(spans.map { $0["name"] as? String } == ["run", "attempt", "run", "attempt"])
        let begins = spans.map { $0["startTimeUnixNano"] as? String }
        #expect(begins[1] == "2000000000" && begins[3] == "7000000000")
        #expect(spans[1]["parentSpanId"] as? String == spans[0]["spanId"] as? String)
        #expect(spans[3]["parentSpanId"] as? String == spans[2]["spanId"] as? String)
        #expect(Set(spans.compactMap { $0["spanId"] as? String }).count == 4)
    }

    @Test func `A line has no more spans for an effect that was tried very often`() throws {
        let order = OpenEffect(
            id: EffectID(turn: 1, ordinal: 0), root: 1, payload: MessagePackValue("run").encoded, now: Self.time(1))
        let attempts = (0..<1_200).map { number in
            RememberedAttempt(
                effect: order.id, number: number + 1, handedOut: Self.time(2 + number), ended: Self.time(3 + number), how: "failed")
        }
        var lines = TraceLines(of: "Shop", timeline: Self.timeline, redactions: [], attempts: attempts)
        var texts = lines.add(
            TraceSpan(
                .effect(order.id), .turn(1), root: 1, from: Self.time(1), to: Self.time(2_000), failure: nil,
                .effect(order, .answered, attempts: 1_200)))
        if let line = lines.end() { texts.append(line) }
        let counts = try texts.map { try Self.spans(in: [$0]).count }
        #expect(counts == [512, 512, 177])
        let ids = try Self.spans(in: texts).compactMap { $0["spanId"] as? String }
        #expect(Set(ids).count == 1_201)
    }

    // MARK: Redacting

    @Test(arguments: [
        ("message.order.card.number", false), ("message.order.card", false), ("message", false), ("*.number", false),
        ("message.*.card[\"number\"]", false), ("message.order.*.number", false), ("effect.run.card.number", true),
        ("message.order.crad", true),
    ])
    func `What is redacted is in no line, and a path that has met nothing is told`(_ path: String, _ isMissed: Bool) throws {
        let message: MessagePackValue = ["order": ["name": "tea", "card": ["number": "4111-1111", "holder": "Ada"]]]
        let (lines, missed) = try Self.lines(messages: [message, "last"], redacting: path)
        #expect(lines.joined().contains("4111-1111") == isMissed, "\(lines)")
        #expect(missed == (isMissed ? [path] : []))
        if !isMissed { #expect(lines.joined().contains("(redacted)")) }
    }

    @Test func `An effect and the words of a failure are redacted as well`() throws {
        let effect: MessagePackValue = ["charge": ["card": "4111-1111"]]
        let (lines, missed) = try Self.lines(messages: ["one", "last"], effect: effect, redacting: "effect.charge.card", "failure")
        #expect(!lines.joined().contains("4111-1111") && missed == ["failure"])
        let failed = TraceSpan(
            .turn(9), nil, root: 9, from: Self.time(9), to: Self.time(9), failure: "token 4111-1111 was refused",
            .turn(Record(turn: 9, time: Self.time(9), event: .quarantined("4111-1111")), ordered: []))
        var hidden = TraceLines(of: "Shop", timeline: Self.timeline, redactions: [try Redaction(parsing: "failure")])
        _ = hidden.add(failed)
        let ended = hidden.end()
        let line = try #require(ended)
        #expect(!line.contains("4111-1111") && line.contains(#""status":{"code":2,"message":"(redacted)"}"#), "\(line)")
        #expect(hidden.missed.isEmpty)
    }

    @Test func `Elements are redacted by their place, or all`() throws {
        let value: MessagePackValue = ["cards": [["n": 1], ["n": 2]]]
        func redacted(_ path: String) throws -> String {
            JSONTranscoder.text(of: try Redaction(parsing: path).applied(to: value, of: .message) {})
        }
        #expect(try redacted("message.cards[1].n") == #"{"cards":[{"n":1},{"n":"(redacted)"}]}"#)
        #expect(try redacted("message.cards[*].n") == #"{"cards":[{"n":"(redacted)"},{"n":"(redacted)"}]}"#)
        #expect(try redacted("message.cards[2]") == #"{"cards":[{"n":1},{"n":2}]}"#)
        #expect(try redacted("*.n") == #"{"cards":[{"n":"(redacted)"},{"n":"(redacted)"}]}"#)
    }

    @Test(arguments: [
        ("state.x", "column 1: what is redacted begins with `message`, `effect`, `refusal`, `failure` or `*`"),
        ("*", "column 2: expected a name behind `*`: *.password"),
        ("failure.text", "column 1: a failure is words, and has no parts"),
        ("message.", "column 9: expected a name after `.`, found the end; quote others: state[\"odd key\"]"),
        ("message[", "column 9: expected a number from 0 or a key in quotes after `[`, found the end"),
        ("message!", "column 8: expected `.`, `[` or the end, found “!”"),
    ])
    func `A path that cannot be read is refused at its place`(_ path: String, _ words: String) throws {
        let error = #expect(throws: ExpressionError.self) { try Redaction(parsing: path) }
        #expect(error?.description == words)
    }
}

/// What OTLP/JSON demands of a request.
private enum OTLPSchema {
    struct Violation: Error { let text: String }

    static func check(_ request: [String: Any]) throws {
        try keys(request, ["resourceSpans"])
        for resource in try objects(request["resourceSpans"]) {
            try keys(resource, ["resource", "scopeSpans"])
            for scope in try objects(resource["scopeSpans"]) {
                try keys(scope, ["scope", "spans"])
                for span in try objects(scope["spans"]) { try check(span: span) }
            }
        }
    }

    private static func check(span: [String: Any]) throws {
        try keys(
            span,
            [
                "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "events",
                "droppedEventsCount", "status",
            ])
        try identity(span["traceId"], digits: 32)
        try identity(span["spanId"], digits: 16)
        if let parent = span["parentSpanId"] { try identity(parent, digits: 16) }
        let (begin, end) = (try number(span["startTimeUnixNano"]), try number(span["endTimeUnixNano"]))
        guard begin <= end else { throw Violation(text: "it ends before it begins") }
        guard let kind = span["kind"] as? Int, (1...5).contains(kind) else { throw Violation(text: "no kind") }
        guard let name = span["name"] as? String, !name.isEmpty else { throw Violation(text: "no name") }
        try attributes(span["attributes"])
        for event in try objects(span["events"] ?? []) {
            try keys(event, ["timeUnixNano", "name", "attributes"])
            _ = try number(event["timeUnixNano"])
            try attributes(event["attributes"])
        }
        if let status = span["status"] as? [String: Any] {
            try keys(status, ["code", "message"])
            guard status["code"] as? Int == 2, status["message"] is String else { throw Violation(text: "\(status)") }
        }
    }

    private static func attributes(_ value: Any?) throws {
        var names: Set<String> = []
        for attribute in try objects(value) {
            try keys(attribute, ["key", "value"])
            guard let name = attribute["key"] as? String, names.insert(name).inserted else { throw Violation(text: "twice") }
            guard let value = attribute["value"] as? [String: Any], value.count == 1 else { throw Violation(text: "no value") }
            if let whole = value["intValue"] {
                _ = try integer(whole)
            } else if !(value["stringValue"] is String) {
                throw Violation(text: "\(value)")
            }
        }
    }

    private static func objects(_ value: Any?) throws -> [[String: Any]] {
        guard let objects = value as? [[String: Any]] else { throw Violation(text: "no list of objects") }
        return objects
    }

    private static func keys(_ object: [String: Any], _ known: Set<String>) throws {
        let others = Set(object.keys).subtracting(known)
        guard others.isEmpty else { throw Violation(text: "fields that OTLP does not have: \(others)") }
    }

    private static func identity(_ value: Any?, digits: Int) throws {
        guard let text = value as? String, text.count == digits, text.allSatisfy(\.isHexDigit), text.contains(where: { $0 != "0" })
        else { throw Violation(text: "no identity of \(digits) digits: \(value ?? "nothing")") }
    }

    private static func number(_ value: Any?) throws -> UInt64 {
        guard let text = value as? String, let number = UInt64(text) else { throw Violation(text: "no 64-bit number as text") }
        return number
    }

    private static func integer(_ value: Any?) throws -> Int64 {
        guard let text = value as? String, let number = Int64(text) else { throw Violation(text: "no 64-bit number as text") }
        return number
    }
}
