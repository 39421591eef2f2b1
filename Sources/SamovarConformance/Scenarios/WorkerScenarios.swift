import MessagePack
import SamovarCore

/// Jobs: credit, tasks, answers, claims.
extension Scenario {
    static var worker: [Scenario] { credit + answers + keeping + cancelling }

    // MARK: Credit

    private static var credit: [Scenario] {
        [
            Scenario(
                "credit", "Credit",
                "A job is given and answered, three times. The credit is absolute: tasks since HELLO, and room beyond.",
                Step.greeted(.worker)
                    + (1...3).flatMap { number -> [Step] in
                        Step.works() + [
                            .until("a credit of \(number) tasks, and the slots") {
                                $0.worker.credit >= Int64(number) + $0.worker.slots
                            }
                        ]
                    }),
            Scenario(
                "credit-after-hello", "Credit",
                "After another HELLO the count begins anew, and the credit is zero until it is given.",
                Step.greeted(.worker) + Step.works() + Step.lost + [
                    .until("CREDIT after WELCOME") { $0.worker.credit > 0 }
                ]
                    + Step.works()),
            Scenario(
                "slots", "Credit",
                "As many jobs as the credit has come, and one more for each answer. Not more than the slots run at once.",
                Step.greeted(.worker) + [
                    .act { stage in
                        stage.times = [stage.now]
                        stage.leases = stage.task((0..<stage.some).map { _ in Stage.Effect.sleep(400) })
                    },
                    .expect("answers of all jobs, in the time that the slots need", within: .seconds(60)) { stage, event in
                        guard event.isFrame(.result) else { return .other }
                        let done = stage.leases.count { stage.worker.jobs[$0]?.answer != nil }
                        let rounds = (stage.now - stage.times[0]).microseconds / 400_000
                        guard done <= Int(rounds * stage.worker.slots) else {
                            return .broken("at most \(rounds * stage.worker.slots) answers after \(rounds) times 400 ms")
                        }
                        return done == stage.leases.count ? .met : .other
                    },
                ]),
            Scenario(
                "overdrawn", "Credit", "More tasks come than the credit allows. The worker opens another connection.",
                Step.greeted(.worker) + [
                    .act { stage in
                        let count = min(stage.worker.credit, 10_000)
                        // A greater credit is overdrawn by the number of the TASK, as after tasks that were lost.
                        stage.worker.sent = min(stage.worker.credit, Int64.max - 1) - count
                        stage.task((0...count).map { _ in Stage.Effect.sleep(1) })
                    },
                    .another("HELLO on another connection, after tasks beyond the credit", within: .milliseconds(20)),
                ]),
            Scenario(
                "tasks-missing", "Credit",
                "The number of a TASK tells of one before it that did not come. The worker opens another connection.",
                Step.greeted(.worker) + Step.works() + [
                    .act { stage in
                        let job = stage.worker.order()
                        stage.worker.sent += 2
                        stage.send(.task, stage.worker.sent, [stage.task(job, Stage.Effect.echo("late"))])
                    },
                    .another("HELLO on another connection, after a TASK was lost", within: .milliseconds(20)),
                ]),
            Scenario(
                "pong-missing", "Credit",
                "PONG tells of a task that does not come. Within the silence the worker opens another connection.",
                Step.greeted(.worker) + [
                    .act { $0.worker.sent += 1 },
                    .another("HELLO on another connection, after PONG has counted a task that did not come", within: .seconds(7)),
                ]),
        ]
    }

    // MARK: Answers

    private static var answers: [Scenario] {
        [
            Scenario(
                "answer", "Leases and tokens",
                "A job is done. The answer has its message, and effect, lease and token as they were given, to the last bit.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("tea, “ä” and 🫖")),
                    .result("one message, {\"echoed\": …}, with the text") { $0.messages == [Stage.echoed("tea, “ä” and 🫖")] },
                ] + Step.lost),
            Scenario(
                "messages", "Jobs", "A job answers three messages. They come in one answer, in order.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.send(3)),
                    .result("an answer with the messages 1, 2, 3") { $0.messages == (1...3).map { Stage.counted($0) } },
                ]),
            Scenario(
                "failure", "Jobs", "A handler fails. The attempt is answered “threw”, not for good, and its room is free.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.fail("no luck")),
                    .result("the failure “threw”, not permanent") { $0.failure.map { $0 == ("threw", false) } ?? false },
                    .hasAllRoom,
                ] + Step.works()),
            Scenario(
                "permanent", "Jobs", "A handler fails for good. The attempt is answered so, and its room is free.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.fail("never", permanent: true)),
                    .result("the failure “threw”, permanent") { $0.failure.map { $0 == ("threw", true) } ?? false },
                    .hasAllRoom,
                ]),
            Scenario(
                "long-text", "Limits", "A handler fails with a text of 5,000 characters. The worker tells its beginning.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.fail(String(repeating: "ä", count: 5_000))),
                    .result("a failure whose text has 1,000 characters and 4,000 bytes at most, but for how many it had") {
                        guard let text = $0[1]?[1]?.string else { return false }
                        return text.unicodeScalars.count <= 1_100 && text.utf8.count <= 4_100
                    },
                ]),
            Scenario(
                "unknown-effect", "Jobs",
                "An effect comes that the program does not have, and one that is no MessagePack. Both fail for good, and their room is "
                    + "free.",
                Step.greeted(.worker) + [
                    .task(["juggle": [:]]),
                    .result("the failure “unhandled”, permanent") { $0.failure.map { $0 == ("unhandled", true) } ?? false },
                    .hasRoom,
                    .act { stage in
                        let job = stage.worker.order()
                        stage.worker.sent += 1
                        stage.leases = [job.lease]
                        let task = Value.array(job.claim.elements + [1, .nil, "default", .nil, .nil, .binary([0xc1])])
                        stage.send(.task, stage.worker.sent, [task])
                    },
                    .result("the failure “unhandled”, permanent") { $0.failure.map { $0 == ("unhandled", true) } ?? false },
                    .hasAllRoom,
                ] + Step.works()),
            Scenario(
                "timeout", "Timeouts", "A job of a minute has a timeout of 500 ms. It is answered “timedOut”, and not before.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.sleep(60_000), timeout: 500),
                    .result("the failure “timedOut”", after: .milliseconds(500), within: .milliseconds(500)) {
                        $0.failure?.reason == "timedOut"
                    },
                ] + Step.works()),
        ]
    }

    // MARK: What a worker keeps

    private static var keeping: [Scenario] {
        [
            Scenario(
                "claims", "Jobs",
                "Jobs run and wait for a slot when the store says GOODBYE. HELLO claims them, and their answers come after WELCOME.",
                Step.greeted(.worker) + [
                    .act { stage in stage.leases = stage.task((0..<stage.some).map { _ in Stage.Effect.sleep(1_000) }) }
                ] + Step.alive() + [
                    .act { $0.goodbye() }, Step.claimsAll,
                    .until("the answers of all jobs of before", within: .seconds(3)) { stage in
                        stage.leases.allSatisfy { stage.worker.jobs[$0]?.answer?[0] == 0 }
                    },
                ]),
            Scenario(
                "claims-answered", "Jobs",
                "An answer is not acknowledged when the store says GOODBYE. HELLO claims its job, and the same answer comes after WELCOME.",
                [.act { $0.manners.acknowledges = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("kept")), .result("an answer") { $0.messages == [Stage.echoed("kept")] },
                    .act { $0.goodbye() }, Step.claimsAll,
                    .result("the same answer after WELCOME") { $0.messages == [Stage.echoed("kept")] },
                ]),
            Scenario(
                "result-repeated", "Liveness", "The silence is 2 s, and no answer is acknowledged. After these it is sent again.",
                [
                    .act { stage in
                        stage.manners.acknowledges = false
                        stage.silence = 2_000
                    }
                ] + Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("again")), .result("an answer") { $0.messages == [Stage.echoed("again")] },
                    .result("the same answer after the silence of 2 s", within: .seconds(2)) {
                        $0.messages == [Stage.echoed("again")]
                    },
                ]),
            Scenario(
                "progress", "Liveness",
                "The silence is 3 s, and a job tells of its progress for 4 s, which the store does not answer. PING, each second, keeps the "
                    + "connection.",
                [.act { $0.silence = 3_000 }] + Step.greeted(.worker) + [
                    .act { $0.times = [] },
                    .task(Stage.Effect.report(40)),
                    .expect("the answer of the job, and no HELLO before it", within: .seconds(5)) { stage, event in
                        if event.isFrame(.hello) { return .broken("no HELLO while the store answers PING") }
                        if event.isFrame(.ping) { stage.times.append(stage.now) }
                        guard let answer = stage.leases.last.flatMap({ stage.worker.jobs[$0]?.answer }) else { return .other }
                        // A worker without PROGRESS fails the job, and has nothing to show here.
                        return answer[0] == 1 || stage.times.count >= 3 ? .met : .broken("PING each second beside PROGRESS")
                    },
                ]),
            Scenario(
                "acknowledged", "Jobs",
                "An answer is acknowledged. It is not sent again, and the next HELLO does not claim its job.",
                Step.greeted(.worker) + Step.works() + Step.alive() + [
                    .act { $0.goodbye() },
                    .hello("HELLO without claims", within: .milliseconds(20)) { stage, _, _ in stage.worker.claims.isEmpty },
                    .noResult("no answer that was acknowledged", for: .milliseconds(700)),
                ]),
            Scenario(
                "task-twice", "Credit", "A TASK comes twice, with the same number. The worker passes the second one over.",
                Step.greeted(.worker) + [
                    .act { stage in
                        stage.leases = stage.task(Stage.Effect.echo("once"))
                        if case .send(let parts, _) = stage.actions.last { stage.send(parts) }
                    },
                    .result("an answer") { $0.messages == [Stage.echoed("once")] },
                    .noResult("no second answer", for: .milliseconds(700)),
                ] + Step.works()),
            Scenario(
                "lease-twice", "Leases and tokens", "A task comes under a lease that the worker holds. It is ignored, and counted.",
                Step.greeted(.worker) + [
                    .task(Stage.Effect.sleep(500)),
                    .act { stage in
                        guard let lease = stage.leases.first, let job = stage.worker.jobs[lease],
                            stage.worker.credit > stage.worker.sent
                        else { return }
                        stage.worker.sent += 1
                        stage.send(.task, stage.worker.sent, [stage.task(job, Stage.Effect.sleep(500))])
                    },
                    .result("one answer") { $0[0] == 0 }, .noResult("no second answer", for: .milliseconds(900)),
                ] + Step.works()),
            Scenario(
                "timeline-jobs", "Timeline",
                "A job runs and another's answer waits when the timeline changes. Nothing of both comes any more, and the slots are free.",
                [.act { $0.manners.acknowledges = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("old")), .result("an answer") { $0[0] == 0 }, .hasRoom,
                    .task(Stage.Effect.sleep(60_000)),
                ] + Step.alive() + [
                    .act { stage in
                        stage.goodbye()
                        stage.beginTimeline(2)
                        stage.manners.acknowledges = true
                    }, .another(within: .milliseconds(20)),
                    .until("the whole credit in the new timeline") { $0.worker.credit == $0.worker.capacity },
                ] + Step.works() + [.pass(.milliseconds(500))]),
        ]
    }

    // MARK: CANCEL

    private static var cancelling: [Scenario] {
        [
            Scenario(
                "cancel", "CANCEL",
                "A job of a minute is cancelled. Its handler stops: the slot is free, no answer comes, nobody claims it.",
                Step.greeted(.worker) + [.task(Stage.Effect.sleep(60_000))] + Step.alive() + [
                    .act { $0.cancel($0.leases) },
                    .until("credit for the slot that is free") { $0.worker.credit == $0.worker.most },
                    .noResult("no answer of a job that was cancelled", for: .milliseconds(700)),
                ] + Step.unclaimed()),
            Scenario(
                "cancel-lost", "CANCEL",
                "A CANCEL was lost, as the number of the next one tells. The worker opens another connection; what it claims is cancelled.",
                Step.greeted(.worker) + [.task(Stage.Effect.sleep(60_000))] + Step.alive() + [
                    .act { stage in
                        stage.worker.cancels += 1
                        stage.cancel([[1, 999]])
                    }
                ] + Step.cancelledAnew(within: .milliseconds(20))),
            Scenario(
                "cancel-missing", "CANCEL",
                "A CANCEL was lost, as the one without a lease tells that follows PONG. The worker opens another connection; what it claims is "
                    + "cancelled.",
                Step.greeted(.worker) + [.task(Stage.Effect.sleep(60_000))] + Step.alive() + [.act { $0.worker.cancels += 1 }]
                    + Step.cancelledAnew(within: .seconds(1))),
            Scenario(
                "cancel-waiting", "CANCEL", "All jobs are cancelled, those that wait for a slot, too. The next one runs at once.",
                Step.greeted(.worker) + [
                    .act { stage in stage.leases = stage.task((0..<stage.some).map { _ in Stage.Effect.sleep(60_000) }) }
                ] + Step.alive() + [
                    .act { $0.cancel($0.leases) },
                    .hasAllRoom,
                ] + Step.works() + Step.unclaimed()),
            Scenario(
                "cancel-unknown", "CANCEL",
                "CANCEL and ACKNOWLEDGE name leases that the worker never had, or has no more. Nothing happens.",
                Step.greeted(.worker) + Step.works() + [
                    .act { stage in
                        let lease: Value = [1, 999]
                        stage.send(.cancel, 0, .array(stage.leases + [lease]))
                        stage.send(.acknowledge, 0, .array(stage.leases + [lease]))
                        stage.send(.streamed, 0, [[lease, 5]])
                    }
                ] + Step.alive(", after leases that it does not know") + Step.works()),
            Scenario(
                "cancel-answered", "CANCEL",
                "An answer that was not acknowledged is cancelled. It is not sent again over the next connection.",
                [.act { $0.manners.acknowledges = false }] + Step.greeted(.worker) + [
                    .task(Stage.Effect.echo("unwanted")), .result("an answer") { $0[0] == 0 }, .act { $0.cancel($0.leases) },
                ] + Step.alive() + Step.unclaimed()
                    + [.noResult("no answer of a job that was cancelled", for: .milliseconds(700))]),
        ]
    }
}

extension Step {
    /// HELLO on another connection, which claims all jobs that have no acknowledgement.
    static let claimsAll = expect("HELLO that claims the jobs it holds", within: .milliseconds(20)) { stage, event in
        guard event.isFrame(.hello) else { return .other }
        let held = stage.worker.jobs.values.filter { !$0.isAcknowledged && !$0.isCancelled }
        let isComplete = held.count == stage.worker.claims.count && held.allSatisfy { stage.worker.claims.contains($0.claim) }
        return isComplete ? .met : .broken("HELLO that claims \(held.map(\.claim.text).joined(separator: ", "))")
    }

    /// After a CANCEL was lost its job is claimed, and cancelled then.
    fileprivate static func cancelledAnew(within: Duration) -> [Step] {
        [
            another("HELLO on another connection, after a CANCEL was lost", within: within),
            act { $0.cancel($0.leases) },
            until("credit for the slot that is free") { $0.worker.credit > 0 && $0.worker.credit == $0.worker.most },
        ]
    }

    /// The next HELLO does not claim what was cancelled.
    fileprivate static func unclaimed() -> [Step] {
        [
            act { $0.goodbye() },
            hello("HELLO without claims of what was cancelled", within: .milliseconds(20)) { stage, _, _ in
                !stage.worker.claims.contains { stage.worker.jobs[$0[2] ?? .nil]?.isCancelled == true }
            },
        ]
    }
}
