import MessagePack
package import SamovarCore
package import SamovarWire

/// One frame of each kind, by the name under which `docs/protocol.md` has its bytes.
package struct FrameExample: Sendable, CustomStringConvertible {
    package let name: String
    package let envelope: Envelope

    package var description: String { name }

    package init(_ name: String, _ frame: Frame, timeline: Timeline = Self.timeline, proof: TurnProof? = nil) {
        self.name = name
        envelope = Envelope(frame, timeline: timeline, proof: proof)
    }

    package static let timeline = Timeline(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
    package static let peer = UniqueID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
    package static let schema = Schema(name: "Counter", version: 1)
    package static let lease = Lease(start: 3, counter: 7)
    package static let effect = EffectID(turn: 42, ordinal: 0)
    package static let token: UInt64 = 0xfeed_face_cafe_beef
    package static let proof = TurnProof(turn: 42, code: 0x0123_4567_89ab_cdef)

    package static let all: [FrameExample] = [
        FrameExample(
            "hello from a client",
            .hello(Hello(role: .client(session: peer), schema: schema, takesProofs: false)), timeline: .zero),
        FrameExample(
            "hello from a client that takes proofs",
            .hello(Hello(role: .client(session: peer), schema: schema, witness: 42, proof: proof.code, epoch: 2))),
        FrameExample(
            "hello from a client that knows a start",
            .hello(Hello(role: .client(session: peer), schema: schema, witness: 42, proof: proof.code, start: 3, epoch: 2))),
        FrameExample(
            "hello from a durable client",
            .hello(
                Hello(
                    role: .client(session: peer), schema: schema, witness: 42, takesProofs: false, epoch: 3, isDurable: true))),
        FrameExample(
            "hello from a client that has sent an input which ends its session",
            .hello(
                Hello(role: .client(session: peer), schema: schema, witness: 42, takesProofs: false, epoch: 2, mayHaveEnded: true)
            )),
        FrameExample(
            "hello from a worker",
            .hello(
                Hello(
                    role: .worker(
                        WorkerOffer(
                            id: peer, slots: 4, queues: ["default", "http"], limits: ["http": 4],
                            running: [JobClaim(effect: effect, lease: lease, token: token)])),
                    schema: schema, witness: 42, takesProofs: false, epoch: 2))),
        FrameExample(
            "hello from a worker that can do more",
            .hello(
                Hello(
                    role: .worker(WorkerOffer(id: peer, slots: 1, queues: ["default"], capabilities: ["gpu", "av1"])),
                    schema: schema, takesProofs: false))),
        FrameExample(
            "hello from a tool", .hello(Hello(role: .client(session: peer), schema: nil, takesProofs: false)),
            timeline: .zero),
        FrameExample(
            "welcome", .welcome(Welcome(schema: schema, start: 3, expected: 3, credit: 4_098, head: 42, silence: .seconds(6)))),
        FrameExample(
            "welcome with a proof",
            .welcome(Welcome(schema: schema, start: 3, expected: 3, credit: 4_098, head: 42, silence: .seconds(6))), proof: proof),
        FrameExample(
            "error", .error(PeerError(.retryLater, "the store's inbox is full", wait: .seconds(1)))),
        FrameExample("ping", .ping(2)),
        FrameExample("pong", .pong(4_098)),
        FrameExample("pong with a proof", .pong(4_098), proof: proof),
        FrameExample("goodbye", .goodbye),
        FrameExample("drain", .drain),
        FrameExample(
            "send",
            .send(
                [
                    Submission(sequence: 3, input: [0xa3, 0x61, 0x64, 0x64]),
                    Submission(sequence: 4, instance: "left", input: [0xc0]),
                ], confirmed: 2)),
        FrameExample(
            "send of an input that ends its session",
            .send([Submission(sequence: 3, input: [0xa3, 0x61, 0x64, 0x64], endsSession: true)], confirmed: 2)),
        FrameExample(
            "receipt",
            .receipt(
                [
                    Outcome(sequence: 3, turn: 43, verdict: .applied),
                    Outcome(sequence: 4, turn: 44, verdict: .refused([0xa4, 0x66, 0x75, 0x6c, 0x6c])),
                    Outcome(sequence: 5, turn: 45, verdict: .rejected("not an input")),
                ], credit: 4_101)),
        FrameExample(
            "receipt with a proof", .receipt([Outcome(sequence: 3, turn: 42, verdict: .applied)], credit: 4_101), proof: proof),
        FrameExample("settle", .settle(turn: 43)),
        FrameExample("settled", .settled(turn: 43, dead: ["43/0 timed out after 3 attempts"])),
        FrameExample("waiting", .waiting(turn: 43, on: "1 effect waits in queue http, no worker serves it")),
        FrameExample("viewRequest", .viewRequest(instance: .main, atLeast: 43)),
        FrameExample("view", .view(instance: .main, turn: 45, bytes: [0x81, 0xa1, 0x6e, 0x05])),
        FrameExample("tick", .tick(instance: .main, head: 47, view: 45, idle: true)),
        FrameExample("outputsRequest", .outputsRequest(instance: .main, after: effect, waits: true)),
        FrameExample(
            "outputs",
            .outputs(OutputPage(after: effect, outputs: [EmittedOutput(id: EffectID(turn: 42, ordinal: 1), bytes: [0x05])]))),
        FrameExample(
            "outputs after a gap", .outputs(OutputPage(after: effect, lost: EffectID(turn: 42, ordinal: 3), outputs: []))),
        FrameExample("viewsRequest", .viewsRequest(instance: .main, after: 43)),
        FrameExample(
            "views", .views(ViewPage(after: 43, views: [TurnView(turn: 45, bytes: [0x81, 0xa1, 0x6e, 0x05])]))),
        FrameExample("credit", .credit(8)),
        FrameExample(
            "task",
            .task(
                [
                    JobTask(effect: effect, lease: lease, token: token, attempt: 1, payload: [0xa4, 0x70, 0x69, 0x6e, 0x67]),
                    JobTask(
                        effect: EffectID(turn: 42, ordinal: 1), lease: Lease(start: 3, counter: 8), token: 1, attempt: 2,
                        instance: "left", queue: "http", timeout: .milliseconds(1_500),
                        resume: StreamPlace(index: 5, checkpoint: [0x07]), payload: [0xc0]),
                ], number: 2)),
        FrameExample(
            "result",
            .result(
                [
                    JobResult(effect: effect, lease: lease, token: token, answer: .done([[0x01], [0x02]])),
                    JobResult(
                        effect: EffectID(turn: 42, ordinal: 1), lease: Lease(start: 3, counter: 8), token: 1,
                        answer: .failed(.threw, "404", permanent: true)),
                    JobResult(
                        effect: EffectID(turn: 42, ordinal: 2), lease: Lease(start: 3, counter: 9), token: 2, answer: .returned),
                    JobResult(
                        effect: EffectID(turn: 42, ordinal: 3), lease: Lease(start: 3, counter: 10), token: 3,
                        answer: .streamed(index: 1, message: [0x01], checkpoint: [0x07])),
                ], credit: 11)),
        FrameExample("acknowledge", .acknowledge([lease, Lease(start: 3, counter: 8)])),
        FrameExample("acknowledge with a proof", .acknowledge([lease]), proof: proof),
        FrameExample("cancel", .cancel([lease], number: 2)),
        FrameExample("cancel that only counts", .cancel([], number: 2)),
        FrameExample("streamed", .streamed([StreamMark(lease: lease, index: 5)])),
        FrameExample(
            "progress",
            .progress([ProgressReport(effect: effect, lease: lease, progress: JobProgress(fraction: 0.5, text: "half"))])),
        FrameExample(
            "request", .request(AdminRequest(id: 1, verb: "effects", arguments: ["limit": 10]))),
        FrameExample("reply", .reply(AdminReply(id: 1, value: ["open": 0]))),
        FrameExample("reply that refuses", .reply(AdminReply(id: 2, refusal: "there is no verb fly"))),
    ]
}
