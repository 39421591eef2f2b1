import MessagePack

/// Views: by the view listener, and by request where one is missing.
extension Scenario {
    static var subscriber: [Scenario] {
        [
            Scenario(
                "topic", "Views", "The subscriber asks for the views of “main”: their topic is view/main and a zero byte.",
                [
                    .expect("the subscription of view/main and a zero byte") { _, event in
                        guard case .subscribed(let topic) = event else { return .other }
                        return topic == Stage.topic ? .met : .broken("the topic <\(hexadecimal(Stage.topic))>")
                    }
                ]),
            Scenario(
                "views", "Views", "Views come, an older one among them. Each newer one is printed.",
                Step.watching + [
                    .act { stage in for turn in [201, 203, 202, 204] as [Int64] { stage.show(turn) } },
                    .until("a line for the view of turn 204") { $0.turns.last == 204 }, Step.rising,
                ]),
            Scenario(
                "behind", "Views",
                "TICK tells of a view that did not come. After 200 ms the subscriber asks for it, by the front listener.",
                Step.watching + [
                    .act { $0.tick(250) },
                    .await("VIEW_REQUEST of turn 250 after 200 ms", after: .milliseconds(190), within: .milliseconds(200)) {
                        $1.requests(250)
                    },
                    .until("a line for the view of turn 250") { $0.turns.last == 250 },
                ]),
            Scenario(
                "asks-seldom", "Views", "No view that is asked for comes. The subscriber asks once a second at most.",
                Step.watching + [
                    .act { stage in
                        // What it asked for when it began may come later than the tick.
                        stage.manners.newestView = 200
                        stage.tick(300)
                    },
                    .await("VIEW_REQUEST of turn 300") { $1.requests(300) },
                    .quiet("no further VIEW_REQUEST within the second", for: .milliseconds(800)) { $1.isFrame(.viewRequest) },
                ]),
            Scenario(
                "timeline-views", "Timeline", "Views of another timeline come, of earlier turns. They are the newest now.",
                Step.watching + [
                    .act { stage in
                        stage.goodbye()
                        stage.beginTimeline(2)
                        stage.show(5)
                    },
                    .until("a line for the view of turn 5") { $0.turns.last == 5 },
                ]),
            Scenario(
                "view-noise", "Malformed", "Malformed messages are published. They are dropped, and the next view is printed.",
                Step.watching + [
                    .act { stage in
                        let header = stage.frame(.view, 400).parts[0]
                        let noise: [[[UInt8]]] = [
                            [[1]], [header], [header, [0xc1]], [header, [0xc0]], [header, packed([.nil, 1, 2])],
                            [Array(header.dropLast()), packed([.nil, 1])], [header, packed([.nil, 1]), [0]],
                            [stage.frame(.tick, 400).parts[0], packed([.nil, "text", false])],
                            [stage.frame(.task, 1).parts[0], [0x90]],
                        ]
                        for parts in noise { stage.actions.append(.publish([Stage.topic] + parts)) }
                        stage.show(401)
                    },
                    .until("a line for the view of turn 401, and none for noise") { $0.turns.last == 401 }, Step.rising,
                ]),
            Scenario(
                "no-tick", "Liveness", "Nothing comes by the view listener for 3 s. The subscriber opens another socket there.",
                Step.watching + [
                    .await("another subscription after 3 s", after: .milliseconds(2_500), within: .seconds(3)) { $1.isSubscription }
                ]),
            Scenario(
                "view-goodbye", "Leaving", "GOODBYE is published. The subscriber opens another socket at the view listener.",
                Step.watching + [
                    .act { $0.publish(.goodbye, 0) },
                    .await("another subscription after GOODBYE", within: .milliseconds(20)) { $1.isSubscription },
                ]),
        ]
    }
}

extension Stage {
    static let topic = Array("view/main".utf8) + [0]

    /// By the view listener.
    fileprivate mutating func publish(_ kind: Kind, _ number: Int64, _ body: Value...) {
        var frame = frame(kind, number)
        frame.body = body
        tell(number)
        actions.append(.publish([Stage.topic] + frame.parts))
    }

    fileprivate mutating func show(_ turn: Int64) { publish(.view, turn, .nil, ["turn": .int(turn)]) }
    fileprivate mutating func tick(_ turn: Int64) { publish(.tick, turn, .nil, .int(turn), false) }

    /// Those of the views that were printed.
    fileprivate var turns: [Int64] { lines.map { $0["turn"]?.integer ?? -1 } }
}

extension Event {
    fileprivate var isSubscription: Bool {
        if case .subscribed(Stage.topic) = self { true } else { false }
    }

    /// What it asked for when it began, of whatever turn, may come later than a view that is published.
    fileprivate func requests(_ turn: Int64) -> Bool { isFrame(.viewRequest) && frame?.number == turn }
}

extension Step {
    /// The subscriber is there, and shows a view.
    fileprivate static var watching: [Step] {
        [
            Step.await("the subscription of view/main and a zero byte") { $1.isSubscription },
            act { $0.show(200) },
            until("a line {\"turn\": 200, \"view\": …}") { $0.lines.contains { $0["turn"] == 200 && $0["view"] == ["turn": 200] } },
        ]
    }

    fileprivate static let rising = act { stage in
        let turns = stage.turns
        guard
            zip(turns, turns.dropFirst()).contains(where: { $0 >= $1 })
                || stage.lines.contains(where: { $0["view"]?["turn"] != $0["turn"] })
        else { return }
        stage.fault = Fault(rule: "Views", expected: "lines with rising turns, each with its view", seen: "\(turns)")
    }
}
