import SamovarCore
import SamovarLoad
import SamovarStore
import Testing

/// One test per way through the table of `CoordinatorMachine`.
struct CoordinatorMachineTests {
    private let a: [UInt8] = [1]
    private let b: [UInt8] = [2]
    private let test = plan(duration: 3_000_000)

    private func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }

    private func machine(kills: KillPlan? = nil) -> CoordinatorMachine {
        CoordinatorMachine(test, expected: 2, kills: kills, patience: .seconds(30), now: at(0))
    }

    private func join(_ name: String) -> AgentMessage { .join(version: LoadProtocol.version, name: name, machine: "m") }

    private func progress(_ seconds: Double, applied: Int) -> AgentMessage {
        var counts = ClientCounts()
        counts.sent = applied
        counts.applied = applied
        return .progress(
            AgentProgress(
                elapsed: Int64(seconds * 1_000_000), counts: counts, views: 1, applied: Distribution(values: [5], counts: [1]),
                process: ProcessSample(processorSeconds: 0, residentBytes: 0)))
    }

    private func result(applied: Int = 1) -> AgentMessage {
        var counts = ClientCounts()
        counts.applied = applied
        return .result(
            AgentResult(
                counts: counts, latencies: Latencies(applied: Distribution(), settled: Distribution(), view: Distribution()),
                bytes: WireBytes(), views: 0, withoutView: 0, withoutEnd: 0, problems: [], rejection: nil))
    }

    /// Both agents send from second 1 on.
    private func running(kills: KillPlan? = nil) -> CoordinatorMachine {
        var machine = machine(kills: kills)
        _ = machine.heard(join("a"), from: a, now: at(0.1))
        _ = machine.heard(join("b"), from: b, now: at(0.2))
        _ = machine.heard(.ready(timeline: "t"), from: a, now: at(0.3))
        _ = machine.heard(.ready(timeline: "t"), from: b, now: at(0.7))
        return machine
    }

    @Test func `Nobody begins before everybody is ready`() {
        var machine = machine()
        #expect(machine.heard(join("a"), from: a, now: at(0.1)) == [])
        let shares = test.shares(2)
        #expect(machine.heard(join("b"), from: b, now: at(0.2)) == [.say(.plan(shares[0]), to: a), .say(.plan(shares[1]), to: b)])
        #expect(machine.heard(.ready(timeline: "t"), from: b, now: at(0.3)) == [])
        #expect(
            machine.heard(.ready(timeline: "t"), from: a, now: at(0.7)) == [
                .say(.start(in: 300_000), to: a), .say(.start(in: 300_000), to: b), .started(in: .milliseconds(300)),
            ])
    }

    @Test func `A second is shown when all have told of it`() throws {
        var machine = running()
        #expect(machine.heard(progress(1, applied: 10), from: a, now: at(2)) == [])
        let actions = machine.heard(progress(1.1, applied: 7), from: b, now: at(2.1))
        guard case .show(let shown)? = actions.first else { return #expect(Bool(false), "\(actions)") }
        #expect(shown.counts.applied == 17 && shown.elapsed == 1_000_000 && shown.views == 2 && shown.applied.count == 2)
    }

    @Test func `What an agent told last counts in the seconds after its end`() throws {
        var machine = running()
        _ = machine.heard(progress(1, applied: 10), from: a, now: at(2))
        _ = machine.heard(result(applied: 10), from: a, now: at(2))
        _ = machine.heard(progress(1, applied: 7), from: b, now: at(2))
        let actions = machine.heard(progress(2, applied: 9), from: b, now: at(3))
        guard case .show(let shown)? = actions.first else { return #expect(Bool(false), "\(actions)") }
        #expect(shown.counts.applied == 19 && shown.views == 2 && shown.applied.count == 1 && shown.elapsed == 2_000_000)
    }

    private func shown(_ actions: [CoordinatorMachine.Action]) -> [LoadProgress] {
        actions.compactMap { action in if case .show(let progress) = action { progress } else { nil } }
    }

    @Test func `Seconds are put together by their time, also when an agent was held up and has told of fewer`() {
        var machine = running()
        _ = machine.heard(progress(1, applied: 10), from: a, now: at(2))
        #expect(shown(machine.heard(progress(1, applied: 10), from: b, now: at(2))).map(\.counts.applied) == [20])
        #expect(machine.heard(progress(2, applied: 20), from: a, now: at(3)) == [])
        #expect(machine.heard(progress(3, applied: 30), from: a, now: at(4)) == [])
        let late = shown(machine.heard(progress(3.4, applied: 34), from: b, now: at(4.4)))
        #expect(late.map(\.elapsed) == [2_000_000, 3_000_000])
        #expect(late.map(\.counts.applied) == [30, 64], "what it told last, and what it tells now")
        #expect(late.map(\.applied.count) == [1, 2])
    }

    @Test func `What is told within a second that was shown is shown with the next, and time does not go back`() {
        var machine = running()
        _ = machine.heard(progress(1, applied: 10), from: a, now: at(2))
        _ = machine.heard(progress(1, applied: 10), from: b, now: at(2))
        let first = shown(machine.heard(progress(1.4, applied: 12), from: a, now: at(2.4)))
        #expect(first.map(\.elapsed) == [1_400_000] && first.map(\.counts.applied) == [22])
        let second = shown(machine.heard(progress(1.3, applied: 11), from: b, now: at(2.4)))
        #expect(second.map(\.elapsed) == [1_400_000] && second.map(\.counts.applied) == [23])
    }

    @Test func `At the end all is shown that was told`() {
        var machine = running()
        _ = machine.heard(progress(1, applied: 10), from: a, now: at(2))
        _ = machine.heard(progress(1, applied: 10), from: b, now: at(2))
        #expect(machine.heard(progress(2, applied: 20), from: a, now: at(3)) == [])
        _ = machine.heard(result(applied: 20), from: a, now: at(3))
        let end = machine.ended("b", "its process ended (signal 9)", now: at(3))
        #expect(shown(end).map(\.counts.applied) == [30] && end.last == .finish)
    }

    @Test func `What an agent says before it is told to begin is passed over`() {
        var machine = machine()
        _ = machine.heard(join("a"), from: a, now: at(0.1))
        let early = [.ready(timeline: "t"), result(), progress(1, applied: 1), .ledger(session: "s", sent: 1, piece: [1])]
        for message in early { #expect(machine.heard(message, from: a, now: at(0.2)) == []) }
        _ = machine.heard(join("b"), from: b, now: at(0.3))
        for message in early.dropFirst() { #expect(machine.heard(message, from: a, now: at(0.4)) == []) }
        #expect(machine.heard(.ready(timeline: "t"), from: b, now: at(0.5)) == [], "the other one is not ready")
        #expect(machine.heard(.ready(timeline: "t"), from: a, now: at(0.6)).contains(.started(in: .milliseconds(300))))
        #expect(machine.agents.allSatisfy { $0.ledgers.isEmpty && $0.progress.isEmpty && $0.result == nil })
    }

    @Test func `An agent with more ledgers than clients, or that never ends telling, is missing`() {
        var many = running()
        for session in ["1", "2"] { #expect(many.heard(.ledger(session: session, sent: 1, piece: [1]), from: a, now: at(2)) == []) }
        let excess = many.heard(.ledger(session: "3", sent: 1, piece: [1]), from: a, now: at(2))
        #expect(excess.first == .note("a is missing: its ledgers are more than 2 or have too many bytes"))
        var talkative = running()
        let told = (1...13).map { _ in talkative.heard(progress(1, applied: 1), from: a, now: at(2)) }
        #expect(told.dropLast().allSatisfy { $0 == [] })
        #expect(told.last?.first == .note("a is missing: it told too often how far it is"))
    }

    @Test func `The last result ends the test`() {
        var machine = running()
        _ = machine.ticked(now: at(4))
        _ = machine.heard(.ledger(session: "s", sent: 2, piece: [1]), from: a, now: at(4))
        _ = machine.heard(.ledger(session: "s", sent: 2, piece: [2, 3]), from: a, now: at(4))
        #expect(machine.heard(result(), from: a, now: at(4.1)) == [.say(.thanks, to: a)])
        #expect(machine.heard(result(), from: b, now: at(4.2)) == [.say(.thanks, to: b), .finish])
        #expect(machine.agents.map(\.name) == ["a", "b"])
        #expect(machine.agents[0].ledgers["s"]?.bytes == [1, 2, 3])
        #expect(machine.problems == [] && machine.agents.allSatisfy { $0.problem == nil })
    }

    @Test func `Kills come at their times`() {
        var machine = running(kills: KillPlan(roles: [.store, .worker], interval: 1_000_000))
        #expect(machine.deadline == at(2))
        #expect(machine.ticked(now: at(1.9)) == [])
        #expect(machine.ticked(now: at(2)) == [.kill(.store)])
        #expect(machine.ticked(now: at(3.5)) == [.kill(.worker)])
        #expect(machine.ticked(now: at(4)) == [])
    }

    @Test func `An agent that dies ends the test for all, and is said to be missing`() {
        var machine = running()
        #expect(
            machine.ended("b", "its process ended (signal 9)", now: at(2)) == [
                .note("b is missing: its process ended (signal 9)"), .say(.stop, to: a),
            ])
        #expect(machine.heard(result(), from: a, now: at(2.5)) == [.say(.thanks, to: a), .finish])
        #expect(machine.agents[1].problem == "its process ended (signal 9)")
    }

    @Test func `An agent that falls silent is missing`() {
        var machine = running()
        _ = machine.heard(.alive, from: a, now: at(9))
        #expect(machine.deadline <= at(10.7))
        #expect(
            machine.ticked(now: at(10.7)).prefix(2)
                == [.note("b is missing: nothing was heard of it for 10 s"), .say(.stop, to: a)])
    }

    @Test func `Results are waited for as long as answers come`() {
        var machine = running()
        _ = machine.ticked(now: at(4))
        // The drain of 4 s and 30 s for what there is to tell, from the newest answer on.
        for second in 5...60 {
            _ = machine.heard(progress(Double(second), applied: min(second, 20)), from: a, now: at(Double(second)))
            _ = machine.heard(progress(Double(second), applied: 1), from: b, now: at(Double(second)))
            if second < 54 { #expect(machine.ticked(now: at(Double(second))) == []) }
        }
        #expect(machine.ticked(now: at(60)).last == .finish)
        #expect(machine.agents.map(\.problem) == ["it gave no result in time", "it gave no result in time"])
    }

    @Test func `Results are waited for as long as accounts come`() {
        var machine = running()
        _ = machine.ticked(now: at(4))
        // Without a further answer, and for longer than the drain of 4 s and 30 s.
        for second in stride(from: 8, through: 100, by: 4) {
            for peer in [a, b] {
                #expect(machine.heard(.ledger(session: "s", sent: 2, piece: [1]), from: peer, now: at(Double(second))) == [])
            }
            #expect(machine.ticked(now: at(Double(second))) == [])
        }
        _ = machine.heard(result(), from: a, now: at(101))
        #expect(machine.heard(result(), from: b, now: at(101)) == [.say(.thanks, to: b), .finish])
        #expect(machine.agents.allSatisfy { $0.problem == nil })
    }

    @Test func `A piece of an account is added to those before it, which are not copied`() {
        var machine = running()
        var places: [UInt] = []
        for _ in 1...200 {
            _ = machine.heard(.ledger(session: "s", sent: 2, piece: [UInt8](repeating: 1, count: 1_000)), from: a, now: at(2))
            let bytes = machine.agents[0].ledgers["s"]?.bytes ?? []
            let place = bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            if places.last != place { places.append(place) }
        }
        #expect(machine.agents[0].ledgers["s"]?.bytes.count == 200_000)
        // It grows by a factor, so it moves now and then.
        #expect(places.count < 50, "it has moved \(places.count) times")
    }

    @Test func `Agents that do not come or cannot connect are not waited for without end`() {
        var lonely = machine()
        _ = lonely.heard(join("a"), from: a, now: at(29))
        #expect(lonely.ticked(now: at(30)) == [.say(.dismissed("the load test has ended"), to: a), .finish])
        #expect(lonely.problems == ["only 1 of 2 agents have joined"])
        var stuck = machine()
        _ = stuck.heard(join("a"), from: a, now: at(0))
        _ = stuck.heard(join("b"), from: b, now: at(0))
        for second in 1...29 {
            _ = stuck.heard(.connecting(count: 0), from: a, now: at(Double(second)))
            _ = stuck.heard(.connecting(count: 0), from: b, now: at(Double(second)))
        }
        #expect(stuck.ticked(now: at(30)).last == .finish)
        #expect(stuck.problems == ["not all clients could connect to the store: a, b"])
    }

    @Test func `Clients are waited for as long as further ones connect`() {
        var machine = machine()
        _ = machine.heard(join("a"), from: a, now: at(0))
        _ = machine.heard(join("b"), from: b, now: at(0))
        for second in 1..<90 {
            #expect(machine.heard(.connecting(count: min(second, 60)), from: a, now: at(Double(second))) == [])
            _ = machine.heard(.connecting(count: 0), from: b, now: at(Double(second)))
            #expect(machine.ticked(now: at(Double(second))) == [])
        }
        #expect(machine.ticked(now: at(90)).last == .finish)
        #expect(machine.problems == ["not all clients could connect to the store: a, b"])
    }

    @Test func `Whoever comes too late or from another version is sent away`() {
        var machine = running()
        #expect(machine.heard(join("c"), from: [3], now: at(1)) == [.say(.dismissed("all agents have joined already"), to: [3])])
        var gathering = self.machine()
        #expect(
            gathering.heard(.join(version: 99, name: "x", machine: "m"), from: a, now: at(0))
                == [.say(.dismissed("this is another version of Samovar than the coordinator's"), to: a)])
        #expect(gathering.agents.isEmpty)
    }

    @Test func `An interruption collects what there is, and a second one does not wait`() {
        var machine = running()
        #expect(machine.interrupted(now: at(2)) == [.say(.stop, to: a), .say(.stop, to: b)])
        #expect(
            machine.interrupted(now: at(2.1)) == [
                .say(.dismissed("the load test has ended"), to: a), .say(.dismissed("the load test has ended"), to: b), .finish,
            ])
        #expect(machine.problems == ["interrupted after 1 s", "interrupted"])
    }

    @Test func `How long inputs were due is known when a test is stopped before its time`() {
        var interrupted = running()
        _ = interrupted.interrupted(now: at(2.5))
        #expect(interrupted.stoppedAfter == .milliseconds(1_500))
        _ = interrupted.interrupted(now: at(3))
        #expect(interrupted.stoppedAfter == .milliseconds(1_500))
        var unbegun = running()
        _ = unbegun.ended("b", "its process ended (signal 9)", now: at(0.8))
        #expect(unbegun.stoppedAfter == .zero, "it was stopped between the word to start and the start")
        var whole = running()
        _ = whole.ticked(now: at(4))
        _ = whole.interrupted(now: at(5))
        #expect(whole.stoppedAfter == nil, "its inputs were due to the end")
    }

    @Test func `Numbers that cannot be end the agent that told them, and not the coordinator`() {
        let counts = progress(1, applied: .max)
        let time = AgentMessage.progress(
            AgentProgress(
                elapsed: 1, counts: ClientCounts(), views: 0, applied: Distribution(),
                process: ProcessSample(processorSeconds: .nan, residentBytes: 0)))
        let distribution = AgentMessage.progress(
            AgentProgress(
                elapsed: 1, counts: ClientCounts(), views: 0, applied: Distribution(values: [1], counts: [.max]),
                process: ProcessSample(processorSeconds: 0, residentBytes: 0)))
        for message in [counts, time, distribution] {
            var machine = running()
            #expect(
                machine.heard(message, from: b, now: at(2))
                    == [.note("b is missing: it told numbers that cannot be"), .say(.stop, to: a)])
        }
    }

    @Test func `What an agent says is cut before it is kept or told`() throws {
        let long = String(repeating: "x", count: 1_000_000)
        var machine = machine()
        _ = machine.heard(.join(version: LoadProtocol.version, name: long, machine: long), from: a, now: at(0))
        _ = machine.heard(join("b"), from: b, now: at(0))
        _ = machine.heard(.ready(timeline: long), from: a, now: at(0))
        _ = machine.heard(.ready(timeline: long), from: b, now: at(0))
        #expect(machine.problems == [], "texts that are alike are alike when they are cut")
        _ = machine.heard(.ledger(session: long, sent: 1, piece: [1]), from: a, now: at(2))
        var told = AgentResult(
            counts: ClientCounts(), latencies: Latencies(applied: Distribution(), settled: Distribution(), view: Distribution()),
            bytes: WireBytes(), views: 0, withoutView: 0, withoutEnd: 0, problems: Array(repeating: long, count: 30),
            rejection: long)
        _ = machine.heard(.result(told), from: a, now: at(2))
        let notes = machine.heard(.failed(long), from: b, now: at(2))
        let agents = machine.agents
        told = try #require(agents[0].result)
        #expect(told.problems.count == 11 && told.problems.last == "and 20 more")
        let kept = [agents[0].name, agents[0].machine, told.rejection ?? "", agents[1].problem ?? ""] + told.problems
        for text in kept + agents[0].ledgers.keys { #expect((1...1_000).contains(text.count)) }
        guard case .note(let note)? = notes.first else { return #expect(Bool(false), "\(notes)") }
        #expect(note.count < 2_100)
    }

    @Test func `Agents of different stores are noticed`() {
        var machine = machine()
        _ = machine.heard(join("a"), from: a, now: at(0))
        _ = machine.heard(join("b"), from: b, now: at(0))
        _ = machine.heard(.ready(timeline: "t"), from: a, now: at(0))
        _ = machine.heard(.ready(timeline: "u"), from: b, now: at(0))
        #expect(machine.problems == ["b is connected to another store than the others"])
    }
}
