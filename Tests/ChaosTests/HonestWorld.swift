import ChaosSupport
import MessagePack
import SamovarCore
import SamovarWire

/// A small story in which all went well, told by everybody alike: what the checker must find no fault in. Tests then doctor one
/// thing and ask whether it is seen.
///
/// | turn | |
/// |---|---|
/// | 1 | started |
/// | 2 | `a/1#1`, which orders job 2/0 |
/// | 3 | `a/1#2`, refused by nobody, with its follow-up 4 |
/// | 5 | the answer of job 2/0 |
/// | 6 | started again |
/// | 7 | `b/1#1`, which orders a doomed job 7/0 |
/// | 8 | 7/0 is dead |
/// | 9 | drained |
struct HonestWorld {
    static let timeline = UniqueID(high: 1, low: 2)
    static let a = UniqueID(high: 10, low: 1)
    static let b = UniqueID(high: 10, low: 2)
    static let first = Slate.Line(column: "a.0/1", number: 1, job: .quick)
    static let second = Slate.Line(column: "a.0/1", number: 2, job: nil)
    static let third = Slate.Line(column: "b.0/1", number: 1, job: .doomed)

    static func evidence() throws -> Evidence {
        let job = EffectID(turn: 2, ordinal: 0)
        let doomed = EffectID(turn: 7, ordinal: 0)
        let story = Story(
            timeline: timeline, secret: Secret(high: 3, low: 4),
            records: [
                record(1, .store, started(1)),
                record(2, .client(session: a, sequence: 1), try applied(.written(first))),
                record(3, .client(session: a, sequence: 2), try applied(.written(second))),
                record(4, .followUp(of: 3), try applied(.balanced)),
                record(
                    5, .effect(job, lease: Lease(start: 1, counter: 1), index: 0),
                    try applied(.answered(job: first.name), closes: true)),
                record(6, .store, started(2)),
                record(7, .client(session: b, sequence: 1), try applied(.written(third))),
                record(8, .store, .dead(doomed, Failure(reason: .threw, text: "cannot be done", attempts: 1))),
                record(9, .store, .drained),
            ])
        let views = try Plot(story, viewsAt: [2, 5, 9]).views
        var evidence = Evidence(story: story)
        evidence.calls = [
            "a.0": [call(first, .called), call(first, .applied, 2), call(second, .called), call(second, .applied, 3)],
            "b.0": [call(third, .called), call(third, .applied, 7)],
        ]
        evidence.attempts = [
            attempt(job, first.name, .started), attempt(job, first.name, .answered),
            attempt(doomed, third.name, .started), attempt(doomed, third.name, .failed),
        ]
        evidence.sightings = ["s.0": [2, 5, 9].compactMap { turn in views[turn].map { sighting(turn, $0) } }]
        evidence.lastSubscribers = ["s.0"]
        if let head = views[9] { evidence.heads = [("the store", head), ("replay 1", head)] }
        return evidence
    }

    static func record(_ turn: Int, _ origin: Origin, _ event: Record.Event) -> Record {
        Record(turn: turn, time: Timestamp(microseconds: Int64(turn)), origin: origin, event: event)
    }

    static func applied(_ message: Slate.Message, closes: Bool = false) throws -> Record.Event {
        .applied(message: try MessagePackEncoder().encode(message), hash: 0, closes: closes)
    }

    static func started(_ number: Int) -> Record.Event {
        .started(number: number, build: "", schema: Slate.schema, seed: [])
    }

    static func call(_ line: Slate.Line, _ step: Call.Step, _ turn: Int? = nil) -> Call {
        Call(at: 0, line: line, step: step, turn: turn)
    }

    static func attempt(_ effect: EffectID, _ job: String, _ step: Attempt.Step) -> Attempt {
        Attempt(at: 0, key: "\(timeline)/\(effect)", attempt: 1, job: job, step: step)
    }

    static func sighting(_ turn: Int, _ view: Slate.ViewState) -> Sighting {
        Sighting(at: 0, timeline: "\(timeline)", turn: turn, view: view)
    }
}
