import MessagePack
import SamovarCore
import SamovarWire

/// Frames with something in each of their fields.
enum FrameSamples {
    static var all: [Envelope] { frames.map { Envelope($0, timeline: Timeline(high: 1, low: 2)) } }

    private static let peer = UniqueID(high: 3, low: 4)
    private static let schema = Schema(name: "Counter", version: 1)
    private static let lease = Lease(start: 3, counter: 7)
    private static let effect = EffectID(turn: 42, ordinal: 1)

    private static var frames: [Frame] {
        [
            .hello(Hello(role: .client(session: peer), schema: schema)), .hello(Hello(role: .worker(worker), schema: schema)),
            .welcome(Welcome(schema: schema, expected: 3, credit: 4_098, head: 42, silence: .seconds(6))),
            .error(PeerError(.retryLater, "full", wait: .seconds(1))), .ping(2), .goodbye,
            .send(
                [Submission(sequence: 3, input: [0xa1, 0x61]), Submission(sequence: 4, instance: "b", input: [0xc0])], confirmed: 2),
            .receipt(outcomes, credit: 9), .settled(turn: 4, dead: ["effect"]), .waiting(turn: 4, on: "1 effect"),
            .viewRequest(instance: .main, atLeast: 4), .view(instance: .main, turn: 4, bytes: [0x80]),
            .tick(instance: .main, head: 4, view: 3, idle: true),
            .result([JobResult(effect: effect, lease: lease, token: 5, answer: .done([[0xc0], [0x01]]))], credit: 9),
            .result([JobResult(effect: effect, lease: lease, token: 5, answer: .failed(.threw, "no", permanent: true))], credit: 9),
            .acknowledge([lease]), .cancel([lease, lease], number: 3),
            .request(AdminRequest(id: 1, verb: "requeue", arguments: ["effect": "1/0"])),
        ]
    }

    private static var worker: WorkerOffer {
        WorkerOffer(
            id: peer, slots: 4, queues: ["default", "http"], running: [JobClaim(effect: effect, lease: lease, token: 5)],
            capabilities: ["gpu"])
    }

    private static var outcomes: [Outcome] {
        [
            Outcome(sequence: 3, turn: 43, verdict: .applied), Outcome(sequence: 4, turn: 44, verdict: .refused([0xc0])),
            Outcome(sequence: 5, turn: 45, verdict: .rejected("no")),
        ]
    }
}
