import MessagePack
import SamovarCore
import SamovarPeers
import SamovarStore
import Testing

@testable import SamovarConformance

/// The scenarios with our machines, in virtual time: honest ones keep all rules, and whatever breaks one is found.
@Suite struct ScenarioTests {
    private func peer(_ role: Subject, seed: UInt64) -> any VirtualPeer {
        role == .worker ? VirtualWorker(seed: seed) : VirtualClient(seed: seed)
    }

    /// What was expected in place of what breaks the scenario; nil if that is held.
    private func expected(
        _ name: String, _ role: Subject, of peer: any VirtualPeer, _ change: (Meddler) -> Void
    ) throws -> String? {
        let scenario = try #require(Scenario.all(of: role).first { $0.name == name })
        let meddler = Meddler()
        change(meddler)
        var play = Play(scenario, role, to: peer, meddler)
        guard case .broken(let fault) = play.run() else { return nil }
        return fault.expected
    }

    @Test(arguments: [Subject.worker, .client])
    func `Our machines keep every rule, however their pauses fall`(role: Subject) {
        for scenario in Scenario.all(of: role) {
            for seed in 1...5 as ClosedRange<UInt64> {
                var play = Play(scenario, role, to: peer(role, seed: seed))
                #expect(play.run() == .held, "\(scenario.name), seed \(seed)")
            }
        }
    }

    @Test func `A worker with one slot, no read-ahead and handlers that end late keeps every rule`() {
        for scenario in Scenario.all(of: .worker) {
            var play = Play(scenario, .worker, to: VirtualWorker(slots: 1, readAhead: 0, lag: .milliseconds(300)))
            #expect(play.run() == .held, "\(scenario.name)")
        }
    }

    @Test func `A worker whose slot stays taken after a timeout is told that its credit is missing`() throws {
        let broken = try expected("timeout", .worker, of: VirtualWorker(slots: 1, readAhead: 0, lag: .seconds(60))) { _ in }
        #expect(broken == "credit for another task")
    }

    @Test(arguments: Sabotage.connections + Sabotage.workers + Sabotage.clients)
    func `A peer that breaks a rule is found by its scenario`(sabotage: Sabotage) throws {
        let scenario = try #require(Scenario.all(of: sabotage.subject).first { $0.name == sabotage.scenario })
        var play = Play(scenario, sabotage.subject, to: peer(sabotage.subject, seed: 1), sabotage.meddler)
        #expect(play.run() != .held)
    }

    @Test(arguments: [Subject.worker, .client])
    func `A peer that takes no proofs keeps every rule with the turns that it was told of`(role: Subject) throws {
        for scenario in Scenario.all(of: role) {
            let broken = try expected(scenario.name, role, of: peer(role, seed: 1)) {
                $0.outgoing(.hello) { [$0.with { $0.flags = 0 }] }
            }
            #expect(broken == nil, "\(scenario.name)")
        }
        let broken = try expected("witness", role, of: peer(role, seed: 1)) {
            $0.outgoing(.hello) { hello in
                [RawFrame(.hello, hello.number, timeline: hello.timeline, [hello.body[0].replacing(1, by: 0)])]
            }
        }
        #expect(broken == "HELLO with turn 100 or a later one")
    }

    @Test func `A client whose session is over sends nothing more, and tells of each input that it is unknown`() throws {
        let ends: [(String, (Meddler) -> Void)] = [
            ("neither HELLO nor SEND", { $0.incoming(.error) { [$0.with { $0.body = [[6, "a number is missing", 1, 0]] }] } }),
            ("{\"status\": \"unknown\"} for what has no outcome,", { $0.toPerson = { [$0.setting("status", to: "applied")] } }),
        ]
        for (what, change) in ends {
            let broken = try expected("expired", .client, of: VirtualClient(), change)
            #expect(broken == "\(what) after ERROR sessionExpired")
        }
        let silent = try expected("expired", .client, of: VirtualClient()) { $0.toPerson = { _ in [] } }
        #expect(silent == "{\"status\": \"unknown\"} for each of 3 inputs")
        let goesOn = try expected("expected-impossible", .client, of: VirtualClient()) {
            $0.incoming(.welcome) { [$0.with { $0.body[0] = $0.body[0].replacing(2, by: 1) }] }
        }
        #expect(goesOn == "neither HELLO nor SEND after WELCOME that expects 9")
    }

    @Test(arguments: [Subject.worker, .client], ["earlier-start", "start-forgotten"])
    func `A peer that was told of a start has to say it in HELLO`(role: Subject, scenario: String) throws {
        let broken = try expected(scenario, role, of: peer(role, seed: 1)) {
            $0.outgoing(.hello) { [$0.entries { Array($0.prefix(4)) }] }
        }
        #expect(broken == "the greatest start number of the timeline, 3")
    }

    @Test func `Pauses that are none are found, and those without jitter`() throws {
        let scenario = try #require(Scenario.all(of: .worker).first { $0.name == "pauses" })
        var settings = WorkerMachine.Settings.standard
        settings.connection.firstPause = .zero
        settings.connection.longestPause = .zero
        var play = Play(scenario, .worker, to: VirtualWorker(settings: settings))
        #expect(play.run() != .held)
        var whole = Play(scenario, .worker, to: PausingWorker())
        #expect(whole.run() != .held)
    }

    @Test(arguments: Subject.allCases)
    func `A peer that never speaks breaks everything, and a scenario ends all the same`(role: Subject) {
        for scenario in Scenario.all(of: role) {
            var play = Play(scenario, role, to: DeadPeer())
            #expect(play.run() != .held, "\(scenario.name)")
        }
    }

    @Test func `The greatest credit that there is leaves room for everything`() throws {
        let now = Timestamp(microseconds: 0)
        let scenario = try #require(Scenario.all(of: .worker).first { $0.name == "cancel" })
        var machine = ScenarioMachine(scenario, as: .worker, now: now)
        let offer: Value = [.binary([UInt8](repeating: 7, count: 16)), 1, ["default"], []]
        let hello = RawFrame(.hello, 1, timeline: RawFrame.noTimeline, [[["Conform", 1], 0, "worker", offer]])
        // The task goes after CREDIT, and CANCEL after PONG.
        let others: [(Kind, Int64)] = [(.credit, .max), (.ping, .max), (.pong, 0), (.credit, .max)]
        for frame in [hello] + others.map({ RawFrame($0, $1, timeline: Stage.timeline(1)) }) {
            machine.received(frame.parts, from: Route(.work, [1]), now: now)
        }
        #expect(machine.verdict == nil && machine.deadline == now + .milliseconds(700))
    }

    /// What the store says to a worker that says this, and what is expected in place of the last of it, if that is broken.
    private func frames(_ name: String, to said: [RawFrame]) throws -> (frames: [RawFrame], expected: String?) {
        let now = Timestamp(microseconds: 0)
        let scenario = try #require(Scenario.all(of: .worker).first { $0.name == name })
        var machine = ScenarioMachine(scenario, as: .worker, now: now)
        let offer: Value = [.binary([UInt8](repeating: 7, count: 16)), 1, ["default"], []]
        let hello = RawFrame(.hello, 1, timeline: RawFrame.noTimeline, [[["Conform", 1], 0, "worker", offer]])
        for frame in [hello] + said { machine.received(frame.parts, from: Route(.work, [1]), now: now) }
        let frames = try machine.takeActions().compactMap { action -> RawFrame? in
            guard case .send(let parts, _) = action else { return nil }
            return try RawFrame(parts: parts)
        }
        guard case .broken(let fault)? = machine.verdict else { return (frames, nil) }
        return (frames, fault.expected)
    }

    @Test(arguments: [(1, 2), (10_000, 10_001), (20_000, 20_001), (Int64.max, Int64.max)] as [(Int64, Int64)])
    func `Whatever its credit, a worker gets a TASK after which it has to begin anew`(credit: Int64, number: Int64) throws {
        let (frames, expected) = try frames("overdrawn", to: [RawFrame(.credit, credit, timeline: Stage.timeline(1))])
        let task = try #require(frames.last)
        #expect(task.is(.task) && task.number == number && task.body[0].elements.count == Int(min(credit, 10_000)) + 1)
        #expect(expected == nil)
    }

    @Test func `A worker without jobs may give room for more of them, and one with jobs may not`() throws {
        let credits = [1, 3].map { RawFrame(.credit, $0, timeline: Stage.timeline(1)) }
        // The task is given for the first credit: the second one is beyond the room of one, while the job is held.
        let (_, busy) = try frames("answer", to: credits)
        #expect(busy == "at most 1: 1 tasks since HELLO and room for 1, less 1 that it holds")
        let (_, idle) = try frames("ping", to: credits)
        #expect(idle == nil)
    }

    @Test(arguments: [(4.7, true), (4.9, false)])
    func `A peer that was slow to start has all the time that a step gives, from its first sign on`(
        subscribed: Double, isInTime: Bool
    ) throws {
        func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1e6)) }
        let scenario = try #require(Scenario.all(of: .subscriber).first { $0.name == "topic" })
        var machine = ScenarioMachine(scenario, as: .subscriber, slack: .seconds(2), now: at(0))
        #expect(machine.deadline == at(32))
        // The first of two connections is there after 2.8 s, and the slack is 2 s.
        let identity: Value = .binary([UInt8](repeating: 7, count: 16))
        let hello = RawFrame(.hello, 1, timeline: RawFrame.noTimeline, [[["Conform", 1], 0, "client", identity]])
        machine.received(hello.parts, from: Route(.front, [1]), now: at(2.8))
        #expect(machine.deadline == at(4.8) && machine.verdict == nil)
        machine.ticked(now: at(subscribed))
        machine.subscribed(Stage.topic, now: at(subscribed))
        #expect((machine.verdict == .held) == isInTime)
    }

    @Test func `A subscriber whose first request is late is answered, and asks for the view that is missing`() throws {
        func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1e6)) }
        let scenario = try #require(Scenario.all(of: .subscriber).first { $0.name == "asks-seldom" })
        var machine = ScenarioMachine(scenario, as: .subscriber, slack: .seconds(2), now: at(0))
        let route = Route(.front, [1])
        func request(_ turn: Int64) -> [[UInt8]] { RawFrame(.viewRequest, turn, timeline: Stage.timeline(1), [.nil]).parts }
        machine.subscribed(Stage.topic, now: at(0.1))
        machine.printed(["turn": 200, "view": ["turn": 200]], now: at(0.2))
        let identity: Value = .binary([UInt8](repeating: 7, count: 16))
        let hello = RawFrame(.hello, 1, timeline: RawFrame.noTimeline, [[["Conform", 1], 0, "client", identity]])
        machine.received(hello.parts, from: route, now: at(0.3))
        _ = machine.takeActions()
        machine.received(request(0), from: route, now: at(0.4))
        let views = machine.takeActions().compactMap { action -> RawFrame? in
            guard case .send(let parts, route) = action, let frame = try? RawFrame(parts: parts) else { return nil }
            return frame.is(.view) ? frame : nil
        }
        #expect(views.map(\.number) == [100])
        machine.received(request(300), from: route, now: at(0.5))
        #expect(machine.takeActions().isEmpty && machine.verdict == nil)
        machine.ticked(now: at(1.4))
        #expect(machine.verdict == .held)
    }

    @Test(arguments: Subject.allCases)
    func `Names are unique, and each scenario has a rule and a story`(role: Subject) {
        let scenarios = Scenario.all(of: role)
        #expect(Set(scenarios.map(\.name)).count == scenarios.count)
        for scenario in scenarios { #expect(!scenario.rule.isEmpty && scenario.story.hasSuffix("."), "\(scenario.name)") }
    }

    @Test func `A report has what was expected, what was seen, and the frame in hexadecimal`() throws {
        let scenario = try #require(Scenario.all(of: .worker).first { $0.name == "ping" })
        let frame = RawFrame(.credit, 2, timeline: Stage.timeline(1))
        var report = Report()
        report.results = [
            .init(scenario, .held),
            .init(scenario, .broken(Fault(rule: "Credit", expected: "3", seen: "2", parts: frame.parts)), errors: "a\nb\n"),
        ]
        #expect(
            report.text == """
                held    ping  Liveness
                broken  ping  Credit
                        A peer that has nothing to say says PING each second.
                          expected  3
                          seen      2
                          frame     534d5631 01 20 0000 101112131415161718191a1b1c1d1e01 0000000000000002
                          errors    a
                                    b
                1 held, 1 broken
                """)
        #expect(report.value["scenarios"]?[1]?["frame"]?[0]?.string?.hasPrefix("534d563101200000") == true)
        #expect(report.value["broken"] == 1)
    }
}

private final class DeadPeer: VirtualPeer {
    var deeds: [Deed] = []
    var deadline: Timestamp? { nil }
    func received(_ parts: [[UInt8]], now: Timestamp) {}
    func ticked(now: Timestamp) {}
    func read(_ line: String?, now: Timestamp) {}
    func terminate(now: Timestamp) {}
}

/// Says HELLO and nothing else, after the whole of each pause.
private final class PausingWorker: VirtualPeer {
    var deeds: [Deed] = []
    var deadline: Timestamp? = Timestamp(microseconds: 0)
    private var ceiling = 20
    private var epoch: Int64 = 0

    func received(_ parts: [[UInt8]], now: Timestamp) {
        deeds.append(.disconnect)
        deadline = now + .milliseconds(ceiling)
        ceiling = min(ceiling < 200 ? ceiling + 10 : ceiling * 2, 1_000)
    }

    func ticked(now: Timestamp) {
        guard let due = deadline, now >= due else { return }
        deadline = nil
        epoch += 1
        let offer: Value = [.binary([UInt8](repeating: 7, count: 16)), 1, ["default"], []]
        let hello = RawFrame(.hello, epoch, timeline: RawFrame.noTimeline, [[["Conform", 1], 0, "worker", offer]])
        deeds += [.connect, .send(hello.parts)]
    }

    func read(_ line: String?, now: Timestamp) {}
    func terminate(now: Timestamp) {}
}
