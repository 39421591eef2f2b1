import MessagePack
import SamovarCore

/// Streams, and how a worker leaves.
extension Scenario {
    static var streams: [Scenario] {
        [
            Scenario(
                "stream", "Streams",
                "A job streams five messages. They are numbered from 1 without a hole, and come before its answer.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.stream(5)), Step.streamed(through: 5), Step.answered,
                ]),
            Scenario(
                "stream-window", "Streams",
                "A job streams 100 messages, and none is acknowledged: 64 come. Then STREAMED, and the others.",
                [.act { $0.manners.marks = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.stream(100)), Step.streamed(through: 64), .pass(.milliseconds(700)),
                    .act { stage in
                        stage.manners.marks = true
                        if let lease = stage.leases.first { stage.mark(lease, 64) }
                    },
                    Step.streamed(through: 100), Step.answered,
                ]),
            Scenario(
                "stream-again", "Streams",
                "Streamed messages and the answer are not acknowledged when the store says GOODBYE. All come again, the messages first.",
                [
                    .act { stage in
                        stage.manners.marks = false
                        stage.manners.acknowledges = false
                    }
                ] + Step.greeted(.worker) + [
                    .task(Stage.Effect.stream(3)), Step.answered,
                    .act { stage in
                        stage.goodbye()
                        stage.worker.forgetStreams()
                    }, Step.claimsAll, Step.streamed(through: 3), Step.answered,
                ]),
            Scenario(
                "stream-resume", "Streams", "A second attempt is told that three messages are on disk. It goes on with the fourth.",
                Step.greeted(.worker) + [
                    .act { $0.leases = [] }, .task(Stage.Effect.stream(5), resume: [3, binary(3)]),
                    Step.streamed(from: 4, through: 5), Step.answered,
                ]),
            Scenario(
                "stream-cancelled", "Streams", "A job that waits for STREAMED is cancelled. It ends, and its slot is free.",
                [.act { $0.manners.marks = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.stream(100)), Step.streamed(through: 64), .act { $0.cancel($0.leases) },
                    .until("credit for the slot that is free") { $0.worker.credit == $0.worker.most },
                ] + Step.works()),
        ]
    }

    // MARK: Leaving

    static var leaving: [Scenario] {
        [
            Scenario(
                "store-drains", "Leaving",
                "The store says DRAIN. The worker goes on: what it has to do there is told by what follows.",
                Step.greeted(.worker) + [.act { $0.send(.drain) }] + Step.alive(", after DRAIN") + Step.works()),
            Scenario(
                "drain-idle", "Leaving", "An idle worker is told to stop, by SIGTERM. It says DRAIN and GOODBYE, and ends.",
                Step.greeted(.worker) + Step.works() + [Step.terminate, Step.drains, Step.leaves()] + Step.ends),
            Scenario(
                "drain-running", "Leaving",
                "A job of a second runs at SIGTERM. It may finish: its answer comes, is acknowledged, and then the worker says GOODBYE.",
                Step.greeted(.worker) + [.task(Stage.Effect.sleep(1_000))] + Step.alive() + [
                    Step.terminate, Step.drains, .result("the answer of the job", within: .seconds(1)) { $0.messages != nil },
                    Step.leaves(),
                ] + Step.ends),
            Scenario(
                "drain-waiting", "Leaving",
                "Jobs wait for a slot at SIGTERM, if the credit lets them. They are returned, and no task is taken.",
                Step.greeted(.worker) + [
                    .act { stage in
                        let count = stage.some
                        stage.leases = Array(
                            stage.task((0..<count).map { _ in Stage.Effect.sleep(1_000) }).dropFirst(Int(stage.worker.slots)))
                    }
                ] + Step.alive() + [
                    Step.terminate, Step.drains,
                    .until("the waiting jobs, returned, before those that run have ended") { stage in
                        stage.leases.allSatisfy { stage.worker.jobs[$0]?.answer?[0] == 2 }
                    }, Step.leaves(within: .seconds(1)),
                ] + Step.ends),
            Scenario(
                "drain-late", "Leaving",
                "A job of a minute runs at SIGTERM. It has some time, and after 5 s at most it is returned, and the worker leaves.",
                Step.greeted(.worker) + [.task(Stage.Effect.sleep(60_000))] + Step.alive() + [
                    Step.terminate, Step.drains,
                    .result("the job, returned after some time", after: .seconds(1), within: .seconds(5)) { $0[0] == 2 },
                    Step.leaves(),
                ] + Step.ends),
            Scenario(
                "drain-checkpoint", "Leaving",
                "A job whose last streamed message came with a checkpoint runs at SIGTERM. It is returned at once.",
                [.act { $0.manners.marks = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.stream(100)), Step.streamed(through: 64), Step.terminate, Step.drains,
                    .result("the job, returned at once", within: .seconds(1)) { $0[0] == 2 },
                ]),
            Scenario(
                "drain-unacknowledged", "Leaving",
                "At SIGTERM an answer has no acknowledgement, and gets none. After 1 s the worker leaves.",
                [.act { $0.manners.acknowledges = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("late")), .result("an answer") { $0[0] == 0 }, Step.terminate, Step.drains,
                    Step.leaves(within: .seconds(6)),
                ] + Step.ends),
        ]
    }
}

extension Step {
    /// All numbers up to this one have come, each once more than before; holes and order are looked at in every frame.
    fileprivate static func streamed(from first: Int64 = 1, through last: Int64) -> Step {
        expect("streamed messages \(first) to \(last)") { stage, event in
            guard let frame = event.frame, frame.is(.result) else { return .other }
            for result in frame.body[0].elements where result[4] == 3 && result[2] == stage.leases.last {
                let index = result[5]?[0]?.integer ?? 0
                guard index >= first else { return .broken("streamed messages from \(first), after those of the attempt before") }
                guard result[5]?[1]?.unpacked == Stage.counted(index) else {
                    return .broken("the message {\"counted\": {\"number\": \(index)}}")
                }
            }
            return stage.leases.last.flatMap { stage.worker.jobs[$0]?.streamed } ?? 0 >= last ? .met : .other
        }
    }

    fileprivate static let answered = until("the answer of the job") { stage in
        stage.leases.last.flatMap { stage.worker.jobs[$0]?.answer?.messages } != nil
    }

    fileprivate static let terminate = act { stage in
        stage.mayExit = true
        stage.actions.append(.terminate)
    }

    fileprivate static let drains = until("DRAIN, after SIGTERM") { $0.worker.isDraining }

    fileprivate static func leaves(within time: Duration = .zero) -> Step {
        expect("GOODBYE", within: time) { stage, event in
            if case .exited = event { return .broken("GOODBYE before its end") }
            return event.isFrame(.goodbye) ? .met : .other
        }
    }

    fileprivate static let ends = [
        until("the end of the process, with exit code 0", within: .seconds(2)) { $0.hasExited },
        act { stage in
            guard let code = stage.exitCode, code != 0 else { return }
            stage.fault = Fault(rule: "Leaving", expected: "exit code 0", seen: "exit code \(code)")
        },
    ]
}
