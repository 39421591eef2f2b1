import MessagePack
import SamovarCore

/// Inputs: numbers, credit, what is sent again, what is told.
extension Scenario {
    static var client: [Scenario] { numbers + again + outcomes + ends }

    /// Three inputs are sent and not answered.
    private static var unanswered: [Step] {
        [.act { $0.manners.receipts = false }] + Step.greeted(.client) + Step.write(1...3) + [Step.sent(3)]
    }

    // MARK: Numbers and credit

    private static var numbers: [Scenario] {
        [
            Scenario(
                "inputs", "Numbers of a session",
                "Three inputs are numbered 1, 2, 3. A line with the turn of each is printed, in order.",
                Step.greeted(.client) + Step.write(1...3) + [Step.sent(3)] + Step.applied(3)),
            Scenario(
                "credit", "Confirmation",
                "The credit is 2, and there are five inputs. The client sends two, and with their outcomes confirms at once, to get more.",
                [
                    .act { stage in
                        stage.manners.receipts = false
                        stage.client.credit = 2
                    }
                ] + Step.greeted(.client) + Step.write(1...5) + [
                    Step.sent(2), .pass(.milliseconds(700)), .act { $0.receipt(1, 2) },
                    .until("PING that confirms 2") { $0.client.confirmed == 2 },
                    .act { stage in
                        stage.client.credit = 5
                        stage.manners.receipts = true
                        stage.client.expected = 3
                    },
                    .until("inputs 3 to 5, when PONG has brought the credit", within: .seconds(1)) { $0.client.newest == 5 },
                ] + Step.applied(5)),
            Scenario(
                "confirmation", "Confirmation", "Two inputs have their outcomes. With the next PING the client confirms both.",
                Step.greeted(.client) + Step.write(1...2) + Step.applied(2) + [
                    .until("PING that confirms 2", within: .seconds(1)) { $0.client.confirmed == 2 }
                ]),
            Scenario(
                "window", "Limits", "4,200 inputs wait for their outcomes. Not more than 4,096 are under way at any time.",
                [
                    .act { stage in
                        stage.manners.receipts = false
                        stage.client.credit = 100_000
                    }
                ] + Step.greeted(.client) + Step.write(1...4_200) + [
                    .pass(.milliseconds(1_500)),
                    .act { stage in
                        stage.manners.receipts = true
                        stage.client.expected = stage.client.newest + 1
                        stage.receipt(Array(1...max(1, stage.client.newest)))
                    },
                    .until("an outcome for each input", within: .seconds(20)) { $0.lines.count == 4_200 },
                ]),
        ]
    }

    // MARK: Sent again

    private static var again: [Scenario] {
        [
            Scenario(
                "resend", "Numbers of a session",
                "Three inputs have no outcome when the store says GOODBYE. After WELCOME they are sent again.",
                unanswered + Step.lost + [
                    Step.sends(from: 1, "after WELCOME"), .act { $0.receipt(1, 2, 3) },
                ] + Step.applied(3)),
            Scenario(
                "resend-taken", "Numbers of a session",
                "The store has taken three inputs, and WELCOME expects the fourth. Their outcomes are not known, so they are sent again.",
                unanswered + [.act { $0.client.expected = 4 }] + Step.lost + [
                    Step.sends(from: 1, "after WELCOME, from the oldest without an outcome"), .act { $0.receipt(1, 2, 3) },
                ] + Step.applied(3)),
            Scenario(
                "resend-rest", "Numbers of a session",
                "One of three inputs has its outcome. After WELCOME the others are sent again.",
                unanswered + [
                    .act { stage in
                        stage.client.expected = 2; stage.receipt(1)
                    }
                ] + Step.applied(1) + Step.lost + [
                    Step.sends(from: 2, "after WELCOME, from the oldest without an outcome"), .act { $0.receipt(2, 3) },
                ] + Step.applied(3)),
            Scenario(
                "resync", "Numbers of a session",
                "ERROR resync names 2. The client sends again from there, on the same connection.",
                unanswered + [.act { $0.error(.resync, expected: 2) }, Step.sends(from: 2, "after ERROR resync")]
                    + [.act { $0.receipt(1, 2, 3) }] + Step.applied(3)),
            Scenario(
                "repeat", "Liveness", "The silence is 2 s, and no outcome comes. After these the inputs are sent again.",
                [.act { $0.silence = 2_000 }] + unanswered + [Step.sends(from: 1, "after the silence of 2 s", within: .seconds(2))]),
            Scenario(
                "hello-again-inputs", "HELLO first",
                "ERROR unknownPeer comes for SEND. After HELLO on the same socket the inputs come again.",
                unanswered + [.act { $0.error(.unknownPeer) }, Step.sends(from: 1, "after the second WELCOME")]),
        ]
    }

    // MARK: Outcomes

    private static var outcomes: [Scenario] {
        [
            Scenario(
                "receipts-twice", "Numbers of a session",
                "Outcomes come twice and out of order. Each input is told once, in the order of the inputs.",
                unanswered + [
                    .act { stage in
                        stage.receipt(2)
                        stage.receipt(2)
                        stage.receipt(3, 1)
                        stage.receipt(1, 2, 3)
                    }
                ] + Step.applied(3) + [
                    .quiet("no further line", for: .milliseconds(500)) { if case .printed = $1 { true } else { false } }
                ]),
            Scenario(
                "receipt-unknown", "Numbers of a session", "A RECEIPT tells of inputs that were never sent. It is ignored.",
                Step.greeted(.client) + [.act { $0.send(.receipt, $0.client.credit, [[1, 101, 0, .nil], [7, 102, 0, .nil]]) }]
                    + Step.alive()
                    + Step.write(1...2) + Step.applied(2)),
            Scenario(
                "refused", "Numbers of a session", "An input is refused by the program. The line has the refusal.",
                Step.outcome([1, binary(["full": ["by": 3]])], "refused") { $0["refusal"] == ["full": ["by": 3]] }),
            Scenario(
                "rejected", "Numbers of a session", "An input is rejected. The line has the reason.",
                Step.outcome([2, "not an input"], "rejected") { $0["reason"]?.string?.contains("not an input") ?? false }),
            Scenario(
                "timeline-inputs", "Timeline",
                "Two inputs have no outcome when the timeline changes. What became of them stays unknown, and the next one has number 1.",
                [.act { $0.manners.receipts = false }] + Step.greeted(.client) + Step.write(1...2) + [
                    Step.sent(2),
                    .act { stage in
                        stage.goodbye()
                        stage.beginTimeline(2)
                    }, .another(within: .milliseconds(20)),
                    .quiet("no SEND of what belongs to the old timeline", for: .milliseconds(500)) { $1.isFrame(.send) },
                    .until("two lines with the status “unknown”") { $0.statuses == ["unknown", "unknown"] },
                    .act { $0.manners.receipts = true },
                ] + Step.write(3...3) + [
                    .until("input 1 of the new timeline, which is the third line") { $0.client.inputs[1] == Stage.input(3) },
                    .until("its line") { $0.statuses == ["unknown", "unknown", "applied"] },
                ]),
        ]
    }

    // MARK: Ends

    private static var ends: [Scenario] {
        [
            Scenario(
                "expected-impossible", "Numbers of a session",
                "WELCOME expects input 9 of a session that has sent none. It is another session: the client gives up, and sends nothing.",
                [.act { $0.manners.welcomes = false }, .another()] + Step.write(1...1) + [.act { $0.welcome(expected: 9) }]
                    + Step.final("WELCOME that expects 9")
            ),
            Scenario(
                "expired", "Expiry",
                "The session is over while inputs are under way. The client gives up: nothing is sent again, and they stay unknown.",
                unanswered + [.act { $0.error(.sessionExpired) }] + Step.final("ERROR sessionExpired") + [
                    .until("{\"status\": \"unknown\"} for each of 3 inputs") { $0.statuses == ["unknown", "unknown", "unknown"] }
                ]),
            Scenario(
                "end", "Leaving", "Standard input ends. The client has its outcomes, says GOODBYE, and ends.",
                Step.greeted(.client) + Step.write(1...2) + [.act { $0.close() }] + Step.applied(2) + Step.left),
            Scenario(
                "end-waits", "Leaving", "Standard input ends before the outcomes have come. The client waits for them.",
                unanswered + [
                    .act { $0.close() }, .quiet("no GOODBYE before the outcomes", for: .milliseconds(700)) { $1.isFrame(.goodbye) },
                    .act { $0.receipt(1, 2, 3) },
                ] + Step.applied(3) + Step.left),
        ]
    }
}

extension Stage {
    fileprivate mutating func close() {
        mayExit = true
        actions.append(.closeInput)
    }

    fileprivate var statuses: [String] { lines.map { $0["status"]?.string ?? "none" } }
}

extension Step {
    fileprivate static func write(_ numbers: ClosedRange<Int64>) -> [Step] { [act { for number in numbers { $0.write(number) } }] }

    fileprivate static func sent(_ number: Int64) -> Step { until("inputs up to \(number)") { $0.client.newest >= number } }

    fileprivate static func sends(from number: Int64, _ why: String, within time: Duration = .zero) -> Step {
        expect("SEND from input \(number), \(why)", within: time) { stage, event in
            guard let frame = event.frame, frame.is(.send) else { return .other }
            return frame.body[0][0]?[0] == .int(number) ? .met : .broken("SEND from input \(number), \(why)")
        }
    }

    /// A line for each of the first inputs, in their order.
    fileprivate static func applied(_ count: Int64) -> [Step] {
        let what = "{\"status\": \"applied\", \"turn\": …} for each of \(count) inputs"
        return [
            until(what) { $0.lines.count >= count },
            act { stage in
                for (index, line) in stage.lines.enumerated() {
                    let turn = stage.client.outcomes[Int64(index + 1)].map { Value.int($0) }
                    guard line["status"] != "applied" || line["turn"] != turn || turn == nil else { continue }
                    stage.fault = Fault(
                        rule: "Numbers of a session", expected: "{\"status\": \"applied\", \"turn\": \(turn?.text ?? "?")}",
                        seen: line.text)
                }
            },
        ]
    }

    fileprivate static func outcome(
        _ verdict: [Value], _ status: String, _ isRight: @escaping @Sendable (Value) -> Bool
    ) -> [Step] {
        [act { $0.manners.receipts = false }] + greeted(.client) + write(1...1) + [
            sent(1), act { $0.receipt(1, verdict: verdict) },
            expect("a line with the status “\(status)”") { stage, event in
                guard case .printed(let line) = event else { return .other }
                return line["status"] == .string(status) && isRight(line) ? .met : .broken("a line with the status “\(status)”")
            },
        ]
    }

    fileprivate static let left = [
        until("GOODBYE") { $0.hasLeft },
        until("the end of the process", within: .seconds(2)) { $0.hasExited },
    ]
}
