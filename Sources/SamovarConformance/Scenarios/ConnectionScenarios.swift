import MessagePack
import SamovarCore

/// What clients and workers have in common: HELLO, pauses, timelines, liveness, errors, noise.
extension Scenario {
    static func connection(_ role: Subject) -> [Scenario] {
        greeting(role) + attempts(role) + timelines(role) + liveness(role) + errors(role)
    }

    // MARK: HELLO

    private static func greeting(_ role: Subject) -> [Scenario] {
        [
            Scenario(
                "hello-first", "HELLO first",
                "WELCOME comes after 500 ms. The peer's first frame is HELLO without a timeline, and nothing follows until then.",
                [
                    .act { $0.manners.welcomes = false },
                    .expect("HELLO, with number 1 or beyond, the zero timeline and witness 0") { stage, event in
                        guard let frame = event.frame, frame.is(.hello) else { return .other }
                        let isFirst = frame.number >= 1
                        let isNew = frame.timeline == RawFrame.noTimeline && stage.witness == 0
                        return isFirst && isNew ? .met : .broken("number 1 or beyond, the zero timeline and witness 0")
                    },
                    .quiet("silence until WELCOME", for: .milliseconds(500)) { $1.frame != nil },
                    .act { $0.welcome() },
                    .await("PING or another frame after WELCOME", within: .seconds(1)) { $1.frame != nil },
                ]),
            Scenario(
                "hello-again", "HELLO first",
                "An ERROR unknownPeer is answered with HELLO on the same socket, and nothing is lost by that.",
                Step.greeted(role) + [
                    .act { $0.error(.unknownPeer) },
                    .hello("HELLO on the same socket") { stage, _, route in route == stage.former },
                ] + Step.alive()),
            Scenario(
                "epoch", "HELLO first", "The store says GOODBYE three times. The numbers of HELLO rise, and the identity stays.",
                Step.greeted(role) + Step.lost + Step.lost + Step.lost + Step.alive()),
        ]
    }

    // MARK: Attempts

    private static func attempts(_ role: Subject) -> [Scenario] {
        let longest: Duration = role == .worker ? .seconds(1) : .seconds(10)
        return [
            Scenario(
                "no-welcome", "Liveness",
                "No WELCOME comes. The peer says HELLO on another connection after a second, and after two more on a third.",
                [
                    .act { $0.manners.welcomes = false }, .another(),
                    .another("HELLO on another connection after a second", after: .milliseconds(500), within: .milliseconds(1_020)),
                    .another("HELLO on a third, after two seconds", after: .milliseconds(1_500), within: .milliseconds(2_050)),
                ]),
            Scenario(
                "silence", "Liveness",
                "WELCOME names a silence of 2 s, and the store says nothing more. After these, and not before, the peer opens another connection.",
                Step.greeted(role, silence: 2_000) + [Step.silent]),
            Scenario(
                "goodbye", "Leaving",
                "The store says GOODBYE. The peer opens another connection at once, and says HELLO with its timeline.",
                Step.greeted(role) + Step.alive() + [
                    .act { $0.goodbye() },
                    .hello("HELLO on another connection, with the timeline of WELCOME", within: .milliseconds(20)) {
                        stage, frame, route in
                        route != stage.former && frame.timeline == stage.timeline
                    },
                ]),
            Scenario(
                "retry-later", "Errors",
                "HELLO is answered retryLater with 1 s, then a welcomed one with 700 ms. The peer waits so long.",
                [.act { $0.manners.welcomes = false }, .another(), .act { $0.error(.retryLater, wait: 1_000) }]
                    + [
                        .another("HELLO on another connection after 1 s", after: .seconds(1), within: .milliseconds(1_020)),
                        .act {
                            $0.manners.welcomes = true; $0.welcome(); $0.error(.retryLater, wait: 700)
                        },
                        .another("HELLO on another connection after 700 ms", after: .milliseconds(700), within: .milliseconds(720)),
                    ]),
            Scenario(
                "pauses", "Liveness",
                "Each HELLO is answered retryLater without a wait. Pauses are drawn from zero to a ceiling that rises: they differ.",
                [.act { $0.manners.welcomes = false }, .another()] + (0..<22).flatMap(Step.attempt) + [Step.pausesDiffer]),
            Scenario(
                "key-refused", "Keys",
                "A welcomed peer is told keyRefused. It comes again after its longest pause, from half of \(seconds(longest)) on.",
                Step.greeted(role) + Step.alive() + [
                    .act { $0.error(.keyRefused) },
                    .another(
                        "HELLO on another connection after \(seconds(longest / 2))", after: longest / 2,
                        within: longest + .milliseconds(20)
                    ),
                ]),
        ]
    }

    // MARK: Timelines

    private static func timelines(_ role: Subject) -> [Scenario] {
        [
            Scenario(
                "timeline", "Timeline",
                "After GOODBYE the store welcomes in another timeline. All frames carry that one from then on.",
                Step.greeted(role) + Step.alive() + [
                    .act {
                        $0.goodbye(); $0.beginTimeline(2); $0.head = 7
                    },
                    .hello("HELLO with the timeline that the peer knows", within: .milliseconds(20)) { _, frame, _ in
                        frame.timeline == Stage.timeline(1)
                    },
                ] + Step.alive() + [
                    .act { $0.goodbye() },
                    .expect("HELLO with the new timeline and a turn of that one", within: .milliseconds(20)) { stage, event in
                        guard let frame = event.frame, frame.is(.hello) else { return .other }
                        return frame.timeline == stage.timeline ? .met : .broken("HELLO with the new timeline")
                    },
                ]),
            Scenario(
                "foreign-frames", "Timeline",
                "Frames of another timeline are dropped: PING is not answered, GOODBYE does not end anything.",
                Step.greeted(role) + [
                    .act {
                        $0.send(.goodbye, in: Stage.timeline(9)); $0.send(.ping, 1, in: Stage.timeline(9))
                    },
                    .quiet("neither PONG nor HELLO for frames of another timeline", for: .milliseconds(700)) {
                        $1.isFrame(.pong) || $1.isFrame(.hello)
                    },
                ] + Step.alive(", after frames of another timeline")),
            Scenario(
                "foreign-life", "Timeline",
                "The silence is 2 s, and all that comes is of another timeline. That is no sign of life: the peer opens another connection.",
                Step.greeted(role, silence: 2_000) + Step.noLife { $0.send(.pong, $0.worker.sent, in: Stage.timeline(9)) }),
            Scenario(
                "witness", "Witness",
                "WELCOME and PONG bring proofs, to who takes them. HELLO says the newest as it was given, or the turn from who takes none.",
                Step.greeted(role) + [
                    .act { $0.head = 117 }, .await("PING", within: .seconds(1)) { $1.isFrame(.ping) },
                ] + Step.alive() + [.act { $0.goodbye() }, Step.proves]),
            Scenario(
                "witness-forgotten", "Witness",
                "The timeline changes to one with fewer turns. The proof of the old one is not said again.",
                Step.greeted(role) + Step.alive() + [
                    .act {
                        $0.goodbye(); $0.beginTimeline(2); $0.head = 3
                    }, .another(within: .milliseconds(20)),
                ] + Step.alive() + [.act { $0.goodbye() }, Step.proves]),
            Scenario(
                "earlier-start", "Start",
                "A store of an earlier start answers, with more turns. The peer says HELLO elsewhere, as before, until one of a later start does.",
                Step.greeted(role) + Step.alive() + [
                    .act {
                        $0.manners.welcomes = false; $0.goodbye()
                    }, .another(within: .milliseconds(20)),
                ] + Step.earlier(.milliseconds(30)) + Step.earlier(.milliseconds(40)) + [
                    .act {
                        $0.start = 4; $0.head = 120; $0.welcome()
                    }
                ] + Step.alive(" of a later start")),
            Scenario(
                "start-forgotten", "Start",
                "The timeline changes to one with fewer starts. The number of the old one does not matter there.",
                Step.greeted(role) + Step.alive() + [
                    .act {
                        $0.goodbye(); $0.beginTimeline(2); $0.head = 3; $0.start = 1
                    }, .another(within: .milliseconds(20)),
                ] + Step.alive() + Step.lost + Step.alive()),
        ]
    }

    // MARK: Liveness

    private static func liveness(_ role: Subject) -> [Scenario] {
        [
            Scenario(
                "ping", "Liveness", "A peer that has nothing to say says PING each second.",
                Step.greeted(role)
                    + (0..<3).map { _ in Step.await("PING within a second", within: .seconds(1)) { $1.isFrame(.ping) } }),
            Scenario("pong", "Liveness", "The store sends PING. The peer answers PONG.", Step.greeted(role) + Step.alive()),
            Scenario(
                "flags", "Frames", "Frames have flags that nobody knows. The peer does not look at them.",
                [.act { $0.manners.welcomes = false }, .another(), .act { $0.welcome(flags: 0xfffc) }] + [
                    .act { $0.send(.ping, 5, flags: 0xfffc) }, .await("PONG for a PING with unknown flags") { $1.isFrame(.pong) },
                ]),
            Scenario(
                "noise", "Malformed",
                "\(Noise.all(for: role).count) malformed messages come. The peer drops each of them and goes on.",
                Step.greeted(role)
                    + Noise.all(for: role).flatMap { noise in
                        [Step.act { $0.send(noise.parts($0)) }] + Step.alive(" after \(noise.name)")
                    } + (role == .worker ? Step.works() : [])),
            Scenario(
                "noise-is-silence", "Malformed", "The silence is 2 s, and only garbage comes. The peer opens another connection.",
                Step.greeted(role, silence: 2_000) + Step.noLife { $0.send([[1, 2, 3]]) }),
        ]
    }

    // MARK: Errors

    private static func errors(_ role: Subject) -> [Scenario] {
        let codes: [(Code, String, String)] = [
            (.schema, "schema", "another program or version"), (.misuse, "misuse", "it broke the protocol"),
            (.superseded, "superseded", "a newer connection uses its identity"),
            (.sessionExpired, "session-expired", "its session is over"), (.forbidden, "forbidden", "its key is not for this"),
        ]
        return codes.filter { role == .client || $0.0 != .sessionExpired }.map { code, name, meaning in
            Scenario(
                "error-\(name)", "Errors", "HELLO is answered ERROR \(code.rawValue): \(meaning). The peer gives up for good.",
                [.act { $0.manners.welcomes = false }, .another(), .act { $0.error(code) }] + Step.final("ERROR \(code.rawValue)"))
        } + [
            Scenario(
                "error-later", "Errors", "A welcomed peer is told ERROR forbidden. It gives up for good.",
                Step.greeted(role) + Step.alive() + [.act { $0.error(.forbidden) }] + Step.final("ERROR 8"))
        ]
    }
}

extension Step {
    /// One attempt that is answered retryLater, and the next HELLO.
    fileprivate static func attempt(_ number: Int) -> [Step] {
        let ceiling = ceiling(of: number)
        return [
            act { stage in
                stage.times.append(stage.now)
                stage.error(.retryLater)
            },
            expect("HELLO within a pause of at most \(ceiling) ms", within: .milliseconds(ceiling)) { stage, event in
                guard event.isFrame(.hello) else { return .other }
                stage.times.append(stage.now)
                return .met
            },
        ]
    }

    /// Pauses with full jitter: by chance alone, ten honest ones are not so alike once in a million. What an attempt costs besides is
    /// less than the shortest of the earlier pauses.
    fileprivate static let pausesDiffer = act { stage in
        let pauses = stride(from: 0, to: stage.times.count - 1, by: 2).map { stage.times[$0 + 1] - stage.times[$0] }
        let late = pauses.indices.dropFirst(12)
        let (least, most) = (late.map { pauses[$0] }.min() ?? .zero, late.map { pauses[$0] }.max() ?? .zero)
        let cost = pauses.prefix(12).min() ?? .zero
        let areWhole = late.allSatisfy { pauses[$0] - cost >= Duration.milliseconds(min(ceiling(of: $0), 1_000)) * 0.8 }
        guard most - least < .milliseconds(40) || areWhole else { return }
        stage.fault = Fault(
            rule: "Liveness", expected: "pauses that are drawn from zero to their ceiling, of 140 ms and more",
            seen: "pauses from \(seconds(least)) to \(seconds(most))")
    }

    /// Twenty milliseconds, ten more each time to two hundred, and then twice as many; the longest pause of clients.
    private static func ceiling(of number: Int) -> Int { min(number <= 18 ? 20 + 10 * number : 200 << (number - 18), 10_000) }

    fileprivate static func greeted(_ role: Subject, silence: Int64) -> [Step] {
        [
            act { stage in
                stage.silence = silence
                stage.manners.pongs = false
            }
        ] + greeted(role)
    }

    fileprivate static let silent = expect("HELLO on another connection after the silence of 2 s", within: .milliseconds(2_020)) {
        stage, event in
        guard case .frame(let frame, let route) = event, frame.is(.hello) else { return .other }
        let isInTime = stage.welcomedBefore.map { stage.now - $0 >= .seconds(2) } ?? false
        return isInTime && route != stage.former
            ? .met : .broken("HELLO on another connection after the silence of 2 s, not before")
    }

    /// What comes is no sign of life, as long as it goes on.
    fileprivate static func noLife(_ send: @escaping @Sendable (inout Stage) -> Void) -> [Step] {
        (0..<12).flatMap { _ in [act(send), pass(.milliseconds(400))] } + [
            act { stage in
                guard stage.hellos < 2 else { return }
                stage.fault = Fault(
                    rule: "Liveness", expected: "HELLO on another connection after the silence of 2 s", seen: "none for 4.8 s")
            }
        ]
    }

    /// The store that answers is of an earlier start, and has more turns. It is not believed, and hears nothing more.
    fileprivate static func earlier(_ pause: Duration) -> [Step] {
        let what = "HELLO on another connection, with the witness of before, and nothing else"
        return [
            act { stage in
                stage.start = 2
                stage.head = 150
                stage.welcome()
            },
            expect(what, within: pause) { stage, event in
                guard case .frame(let frame, let route) = event else { return .other }
                defer { stage.former = route }
                let isAsBefore = frame.is(.hello) && route != stage.former && stage.witness == stage.witnessBefore
                return isAsBefore ? .met : .broken(what)
            },
        ]
    }

    /// HELLO says the newest turn: the newest proof, or, from who takes none and so hears no turn from PONG, that of WELCOME at least.
    fileprivate static let proves = expect("HELLO with the newest proof, as it was given", within: .milliseconds(20)) {
        stage, event in
        guard let frame = event.frame, frame.is(.hello) else { return .other }
        let before = stage.proofBefore
        if frame.flags & 1 == 0 {
            let turn = stage.headBefore
            return (stage.witness.integer ?? -1) >= turn ? .met : .broken("HELLO with turn \(turn) or a later one")
        }
        return stage.witness == before ? .met : .broken("HELLO with the proof \(before?.text ?? "none")")
    }
}
