import MessagePack

@testable import SamovarConformance

extension Sabotage {
    // MARK: Connections

    static let connections: [Sabotage] = [
        Sabotage("says no PING", .worker, foundBy: "ping") { $0.outgoing(.ping) { _ in [] } },
        Sabotage("answers no PING", .client, foundBy: "pong") { $0.outgoing(.pong) { _ in [] } },
        Sabotage("numbers each HELLO 1", .worker, foundBy: "epoch") { $0.outgoing(.hello) { [$0.with { $0.number = 1 }] } },
        Sabotage("draws its identity anew", .worker, foundBy: "epoch") { meddler in
            var number: UInt8 = 0
            meddler.outgoing(.hello) { hello in
                number += 1
                let offer = hello.body[0][3]?.replacing(0, by: .binary([UInt8](repeating: number, count: 16))) ?? .nil
                return [hello.with { $0.body[0] = $0.body[0].replacing(3, by: offer) }]
            }
        },
        Sabotage("speaks before WELCOME", .client, foundBy: "hello-first") {
            $0.outgoing(.hello) { [$0, RawFrame(.ping, timeline: $0.timeline)] }
        },
        Sabotage("keeps the timeline of its first WELCOME", .client, foundBy: "timeline") { meddler in
            var first: [UInt8]?
            meddler.outgoing(.pong) { pong in
                first = first ?? pong.timeline
                return [pong.with { $0.timeline = first ?? $0.timeline }]
            }
        },
        Sabotage("takes frames of every timeline", .worker, foundBy: "foreign-frames") { meddler in
            meddler.incoming(.ping) { [$0.with { $0.timeline = Stage.timeline(1) }] }
        },
        Sabotage("takes every frame for a sign of life", .client, foundBy: "foreign-life") { meddler in
            meddler.incoming(.pong) { [$0.with { $0.timeline = Stage.timeline(1) }] }
        },
        Sabotage("says its first proof for ever", .worker, foundBy: "witness") { meddler in
            var first: Value?
            meddler.outgoing(.hello) { hello in
                let witness = hello.body[0][1] ?? .nil
                if !witness.elements.isEmpty { first = first ?? witness }
                return [hello]
            }
            meddler.incoming(.pong) { [$0.with { $0.body = [] }] }
        },
        Sabotage("keeps its proof over the timeline", .client, foundBy: "witness-forgotten") { meddler in
            var proof: Value?
            meddler.outgoing(.hello) { hello in
                let witness = hello.body[0][1] ?? .nil
                if proof == nil, !witness.elements.isEmpty { proof = witness }
                return [hello.with { $0.body[0] = $0.body[0].replacing(1, by: proof ?? witness) }]
            }
        },
        Sabotage("believes a store of an earlier start", .worker, foundBy: "earlier-start") { meddler in
            var greatest: Int64 = 0
            meddler.incoming(.welcome) { welcome in
                greatest = max(greatest, welcome.number)
                return [welcome.with { $0.number = greatest }]
            }
        },
        Sabotage("keeps its start over the timeline", .client, foundBy: "start-forgotten") {
            $0.outgoing(.hello) { hello in
                [hello.body[0][4] == nil ? hello : hello.with { $0.body[0] = $0.body[0].replacing(4, by: 3) }]
            }
        },
        Sabotage("sets a flag of its own", .client, foundBy: "ping") { $0.outgoing(.ping) { [$0.with { $0.flags = 4 }] } },
        Sabotage("waits for a minute before it takes a silent store for dead", .worker, foundBy: "silence") {
            $0.incoming(.welcome) { [$0.with { $0.body[0] = $0.body[0].replacing(5, by: 60_000) }] }
        },
        Sabotage("comes again before the wait of retryLater", .client, foundBy: "retry-later") {
            $0.incoming(.error) { [$0.with { $0.body[0] = $0.body[0].replacing(3, by: 0) }] }
        },
        Sabotage("comes again after forbidden", .worker, foundBy: "error-forbidden") {
            $0.incoming(.error) { [$0.with { $0.body[0] = $0.body[0].replacing(0, by: 5) }] }
        },
        Sabotage("gives up after keyRefused", .worker, foundBy: "key-refused") {
            $0.incoming(.error) { [$0.with { $0.body[0] = $0.body[0].replacing(0, by: 8) }] }
        },
        Sabotage("dies of a frame with three parts", .client, foundBy: "noise") { $0.toPeer = { $0.count > 2 ? nil : [$0] } },
        Sabotage("answers noise with GOODBYE of its own", .worker, foundBy: "noise") { meddler in
            meddler.toPeer = { parts in
                (try? RawFrame(parts: parts)) == nil ? [RawFrame(.goodbye, timeline: Stage.timeline(1)).parts] : [parts]
            }
        },
        Sabotage("looks at flags that it does not know", .worker, foundBy: "flags") {
            $0.incoming(.ping) { $0.flags == 0 ? [$0] : [] }
        },
    ]

    // MARK: Workers

    static let workers: [Sabotage] = [
        Sabotage("claims nothing", .worker, foundBy: "claims") { meddler in
            meddler.outgoing(.hello) { hello in
                let offer = hello.body[0][3]?.replacing(3, by: []) ?? .nil
                return [hello.with { $0.body[0] = $0.body[0].replacing(3, by: offer) }]
            }
        },
        Sabotage("loses the highest bit of a token", .worker, foundBy: "answer") {
            $0.outgoing(.result) { [$0.entries { $0.map { $0.replacing(3, by: .int(5)) } }] }
        },
        Sabotage("gives credit by increments", .worker, foundBy: "credit") { meddler in
            var last: Int64 = 0
            meddler.toStore = { parts in
                guard var frame = try? RawFrame(parts: parts), frame.is(.result) || frame.is(.credit) else { return [parts] }
                defer { last = max(last, frame.number) }
                let number = frame.number
                frame.number = max(0, number - last)
                last = max(last, number)
                return [frame.parts]
            }
        },
        Sabotage("never gives the room of a job again that has failed", .worker, foundBy: "failure") { meddler in
            var lost: Int64 = 0
            meddler.toStore = { parts in
                guard var frame = try? RawFrame(parts: parts), frame.is(.ping) || frame.is(.credit) || frame.is(.result) else {
                    return [parts]
                }
                lost += Int64(frame.body.first?.elements.count { $0[4] == 1 } ?? 0)
                frame.number -= lost
                return [frame.parts]
            }
        },
        Sabotage("gives more credit than it has room for", .worker, foundBy: "slots") {
            $0.outgoing(.result) { [$0.with { $0.number += 3 }] }
        },
        Sabotage("sends each answer once", .worker, foundBy: "result-repeated") { meddler in
            var sent: Set<Value> = []
            meddler.outgoing(.result) { [$0.entries { $0.filter { sent.insert($0).inserted } }] }
        },
        Sabotage("takes what it sends itself for a sign of life", .worker, foundBy: "progress") { meddler in
            var hasTold = false
            meddler.toStore = { parts in
                guard let frame = try? RawFrame(parts: parts) else { return [parts] }
                hasTold = hasTold || frame.is(.progress)
                return hasTold && frame.is(.ping) ? [] : [parts]
            }
        },
        Sabotage("does a task twice", .worker, foundBy: "task-twice") { $0.outgoing(.result) { [$0, $0] } },
        Sabotage("streams from 0", .worker, foundBy: "stream") {
            $0.outgoing(.result) { result in
                [
                    result.entries { entries in
                        entries.map { $0[4] == 3 ? $0.replacing(5, by: ($0[5] ?? .nil).replacing(0, by: 0)) : $0 }
                    }
                ]
            }
        },
        Sabotage("streams with a hole", .worker, foundBy: "stream") {
            $0.outgoing(.result) { [$0.entries { $0.filter { $0[4] != 3 || $0[5]?[0] != 3 } }] }
        },
        Sabotage("sends an answer before its messages", .worker, foundBy: "stream-again") {
            $0.outgoing(.result) { [$0.entries { $0.filter { $0[4] != 3 } }, $0] }
        },
        Sabotage("begins again in spite of resume", .worker, foundBy: "stream-resume") {
            $0.incoming(.task) { [$0.entries { $0.map { $0.replacing(8, by: .nil) } }] }
        },
        Sabotage("does not see that a CANCEL was lost", .worker, foundBy: "cancel-lost") {
            $0.incoming(.cancel) { [$0.with { $0.number = 0 }] }
        },
        Sabotage("does not look at the number of a CANCEL without leases", .worker, foundBy: "cancel-missing") {
            $0.incoming(.cancel) { $0.body == [[]] ? [] : [$0] }
        },
        Sabotage("does not stop what is cancelled", .worker, foundBy: "cancel") { $0.incoming(.cancel) { _ in [] } },
        Sabotage("knows no timeouts", .worker, foundBy: "timeout") {
            $0.incoming(.task) { [$0.entries { $0.map { $0.replacing(7, by: .nil) } }] }
        },
        Sabotage("fails for good whatever it is", .worker, foundBy: "failure") {
            $0.outgoing(.result) { result in
                [
                    result.entries { entries in
                        entries.map { $0[4] == 1 ? $0.replacing(5, by: ($0[5] ?? .nil).replacing(2, by: true)) : $0 }
                    }
                ]
            }
        },
        Sabotage("counts the bytes of a text, and not its characters", .worker, foundBy: "long-text") {
            let text: Value = .string(String(repeating: "ä", count: 2_000))
            $0.outgoing(.result) { result in
                [
                    result.entries { entries in
                        entries.map { $0[4] == 1 ? $0.replacing(5, by: ($0[5] ?? .nil).replacing(1, by: text)) : $0 }
                    }
                ]
            }
        },
        Sabotage("leaves without DRAIN", .worker, foundBy: "drain-running") { $0.outgoing(.drain) { _ in [] } },
        Sabotage("leaves without GOODBYE", .worker, foundBy: "drain-idle") { $0.outgoing(.goodbye) { _ in [] } },
        Sabotage("does not count its tasks", .worker, foundBy: "tasks-missing") { meddler in
            var number: Int64 = 0
            meddler.connected = { number = 0 }
            meddler.incoming(.task) { task in
                number += Int64(task.body[0].elements.count)
                return [task.with { $0.number = number }]
            }
        },
        Sabotage("does not look at what PONG counts", .worker, foundBy: "pong-missing") {
            $0.incoming(.pong) { [$0.with { $0.number = 0 }] }
        },
        Sabotage("answers results of another timeline", .worker, foundBy: "timeline-jobs") { meddler in
            var old: Value?
            meddler.outgoing(.result) { result in
                if old == nil { old = result.body[0][0] }
                return [result.timeline == Stage.timeline(1) ? result : result.entries { $0 + [old ?? .nil] }]
            }
        },
    ]

    // MARK: Clients

    static let clients: [Sabotage] = [
        Sabotage("numbers from 2", .client, foundBy: "inputs") {
            $0.outgoing(.send) { [$0.entries { $0.map { $0.replacing(0, by: .int(($0[0]?.integer ?? 0) + 1)) } }] }
        },
        Sabotage("does not look at the credit", .client, foundBy: "credit") {
            $0.incoming(.welcome) { [$0.with { $0.body[0] = $0.body[0].replacing(3, by: 4_096) }] }
        },
        Sabotage("confirms what it has not heard", .client, foundBy: "confirmation") {
            $0.outgoing(.ping) { [$0.with { $0.number += 1 }] }
        },
        Sabotage("never confirms", .client, foundBy: "confirmation") { $0.outgoing(.ping) { [$0.with { $0.number = 0 }] } },
        Sabotage("sends each input once", .client, foundBy: "resend") { meddler in
            var sent: Set<Value> = []
            meddler.outgoing(.send) { send in
                let send = send.entries { $0.filter { sent.insert($0).inserted } }
                return send.body[0].elements.isEmpty ? [] : [send]
            }
        },
        Sabotage("goes on from what WELCOME expects, without the outcomes before", .client, foundBy: "resend-taken") { meddler in
            var expected: Int64 = 1
            meddler.toPeer = { parts in
                if let frame = try? RawFrame(parts: parts), frame.is(.welcome) { expected = frame.body[0][2]?.integer ?? 1 }
                return [parts]
            }
            meddler.outgoing(.send) { send in
                let send = send.entries { $0.filter { ($0[0]?.integer ?? 0) >= expected } }
                return send.body[0].elements.isEmpty ? [] : [send]
            }
        },
        Sabotage("does not hear resync", .client, foundBy: "resync") { $0.incoming(.error) { _ in [] } },
        Sabotage("sends another input under a known number", .client, foundBy: "resend") { meddler in
            var frames: UInt8 = 0
            meddler.outgoing(.send) { send in
                frames += 1
                let frame = frames
                return [send.entries { $0.map { $0.replacing(2, by: .binary([frame])) } }]
            }
        },
        Sabotage("tells outcomes twice", .client, foundBy: "receipts-twice") { $0.toPerson = { [$0, $0] } },
        Sabotage("tells a refusal as success", .client, foundBy: "refused") {
            $0.toPerson = { [$0.setting("status", to: "applied")] }
        },
        Sabotage("ends its session without GOODBYE", .client, foundBy: "end") { $0.outgoing(.goodbye) { _ in [] } },
        Sabotage("says with each input that its session ends", .client, foundBy: "inputs") {
            $0.outgoing(.send) { [$0.with { $0.flags = 2 }] }
        },
    ]
}
