import SamovarCore
import SamovarTesting
import Testing

/// What a store says when something is not as expected, word by word.
@Suite struct TestStoreTextTests {
    private let reports = Reports()

    private func store(exhaustive: Bool = true, gates: [InputGate<Kiosk>] = []) throws -> TestStore<Kiosk> {
        try TestStore(Kiosk.self, exhaustive: exhaustive, gates: gates, reporter: reports.reporter)
    }

    @Test func `A change that was not expected, and one that did not come`() throws {
        let store = try store()
        store.send(.chain(1))
        #expect(reports.takeAll() == ["send(.chain(1)): the state is not as expected\n  state.ticks: expected 0, is 1"])
        store.send(.call("a")) { $0.ticks = 5 }
        #expect(reports.takeAll() == ["send(.call(\"a\")): the state is not as expected\n  state.ticks: expected 5, is 1"])
        store.expectOutputs([.called("a")])
    }

    @Test func `Only what differs is shown, by its path`() throws {
        let store = try store()
        for name in ["a", "b", "c"] { store.send(.add(name)) { $0.sites.append(Kiosk.Site(name: name)) } }
        store.expectState {
            $0.sites[2].up = true
            $0.sites.append(Kiosk.Site(name: "d"))
            $0.best = ["x": 1]
            $0.tags = ["t"]
            $0.phase = .running(since: 1, by: "me")
        }
        #expect(
            reports.takeAll() == [
                """
                expectState: the state is not as expected
                  state.sites[2].up: expected true, is nil
                  state.sites[3]: expected Site(name: "d", up: nil, notes: []), is missing
                  state.best["x"]: expected 1, is missing
                  state.tags["t"]: expected to be there, is missing
                  state.phase: expected .running(since: 1, by: "me"), is .idle
                """
            ])
        store.send(.run("you")) { $0.phase = .running(since: 1, by: "me") }
        #expect(
            reports.takeAll() == [
                "send(.run(\"you\")): the state is not as expected\n  state.phase.running.by: expected \"me\", is \"you\""
            ])
    }

    @Test func `Inputs that are refused, rejected or applied against expectation`() throws {
        let gate = InputGate<Kiosk>("names") { input, _, _ in input == .add("bad") ? "no bad names" : nil }
        let store = try store(gates: [gate])
        store.send(.forbidden(0))
        store.send(.add("bad"))
        store.expectRefusal(of: .call("a"), .busy)
        store.expectRefusal(of: .add("bad"), .busy)
        store.expectRefusal(of: .forbidden(3), .busy)
        store.expectRefusal(of: .forbidden(3), .tooMany(limit: 4))
        store.expectRejection(of: .forbidden(0), "names: no bad names")
        store.expectRejection(of: .call("b"), "names: no bad names")
        store.expectRejection(of: .add("bad"), "names: something else")
        #expect(
            reports.takeAll() == [
                "send(.forbidden(0)): was refused: .busy",
                "send(.add(\"bad\")): was rejected: names: no bad names",
                "expectRefusal(of: .call(\"a\")): expected the refusal .busy, was applied",
                "expectRefusal(of: .add(\"bad\")): expected the refusal .busy, was rejected: names: no bad names",
                "expectRefusal(of: .forbidden(3)): another refusal\n  refusal: expected .busy, is .tooMany(limit: 3)",
                "expectRefusal(of: .forbidden(3)): another refusal\n  refusal.tooMany.limit: expected 4, is 3",
                "expectRejection(of: .forbidden(0)): expected “names: no bad names”, was refused: .busy",
                "expectRejection(of: .call(\"b\")): expected “names: no bad names”, was applied",
                "expectRejection(of: .add(\"bad\")): expected “names: something else”, is “names: no bad names”",
            ])
        store.expectOutputs([.called("a"), .called("b")])
    }

    @Test func `A store that was given no gates says so where a gate is expected`() throws {
        let store = try store()
        store.expectRejection(of: .call("a"), "names: no bad names")
        #expect(
            reports.takeAll() == [
                "expectRejection(of: .call(\"a\")): expected “names: no bad names”, was applied; this test store has no gates, see `gates:`"
            ])
        store.expectOutputs([.called("a")])
    }

    @Test func `Effects, outputs, views and subscriptions that are others`() throws {
        let store = try store()
        store.send(.probe("a"))
        store.send(.call("a"))
        store.expectEffects([.probe(name: "b"), .probe(name: "c")])
        store.expectOutputs([])
        store.expectView(Kiosk.ViewState(sites: 1, ticks: 0))
        store.expectDeadEffects([.listen])
        store.expectSubscriptions([.every(.seconds(1), id: "tick", send: .ticked)])
        #expect(
            reports.takeAll() == [
                """
                expectEffects: the open effects are not as expected
                  effects[0].probe.name: expected "b", is "a"
                  effects[1]: expected .probe(name: "c"), is missing
                """,
                "expectOutputs: the outputs are not as expected\n  outputs[0]: expected nothing, is .called(\"a\")",
                "expectView: the view is not as expected\n  view.sites: expected 1, is 0",
                "expectDeadEffects: the dead effects are not as expected\n  dead[0]: expected .listen, is missing",
                """
                expectSubscriptions: the subscriptions are not as expected
                  subscriptions[0]: expected Subscription<Kiosk>(id: tick, event: .timer(Schedule(rule: .every(1.0 seconds), missed: \
                .once), .ticked)), is missing
                """,
            ])
        store.complete(.probe(name: "a"))
    }

    @Test func `Jobs that no worker has`() throws {
        let store = try store()
        store.complete(.probe(name: "a"))
        store.send(.probe("a"))
        store.send(.probe("a"))
        store.send(.probe("late", delay: 5))
        store.fail(.probe(name: "b"))
        store.complete(.probe(name: "late"))
        store.complete(.probe(name: "a"))
        store.workersLeave()
        store.send(.probe("c"))
        store.complete(.probe(name: "c"))
        #expect(
            reports.takeAll() == [
                "complete(.probe(name: \"a\")): it is not open; open: no effect is",
                "fail(.probe(name: \"b\")): it is not open; open: .probe(name: \"a\"), .probe(name: \"a\"), .probe(name: \"late\")",
                "complete(.probe(name: \"late\")): no worker has it yet: it may start in 5.0 seconds; use advance(by:)",
                "complete(.probe(name: \"c\")): no worker has it yet: there is no worker; use workersReturn()",
            ])
        store.finish()
        #expect(
            reports.takeAll() == [
                "finish(): something is left\n  3 open effects: .probe(name: \"a\"), .probe(name: \"late\"), .probe(name: \"c\")"
            ])
    }

    @Test func `One behind another with its label`() throws {
        let store = try store(exhaustive: false)
        store.workersLeave()
        store.send(.probe("a"))
        store.send(.probe("a"))
        store.workersReturn()
        store.complete(.probe(name: "a"))
        store.complete(.probe(name: "a"))
        store.complete(.probe(name: "a"))
        #expect(reports.takeAll() == ["complete(.probe(name: \"a\")): it is not open; open: no effect is"])
    }

    @Test func `Leftovers are told when the store is finished, or released without that`() throws {
        func leave() throws {
            let store = try store()
            store.send(.probe("a"))
            store.send(.probe("silent"))
            store.fail(.probe(name: "silent"))
            store.send(.call("a"))
            store.send(.call("b"))
        }
        try leave()
        #expect(
            reports.takeAll() == [
                """
                finish(): something is left
                  1 open effect: .probe(name: "a")
                  1 dead effect: .probe(name: "silent")
                  2 outputs: .called("a"), .called("b")
                """
            ])
    }

    @Test func `A group without an end stops the store, which says so at once and at each call after it`() throws {
        let store = try store()
        store.send(.endless)
        store.send(.chain(1))
        let why = "the group of turn 3 has more than 1000 turns: an endless chain of follow-ups?"
        #expect(
            reports.takeAll() == ["send(.endless): the store stops: \(why)", "send(.chain(1)): the store has stopped: \(why)"])
    }

    @Test func `A store that is not exhaustive still tells of what a closure expects in vain`() throws {
        let store = try store(exhaustive: false)
        store.send(.chain(2)) { $0.sites = [Kiosk.Site(name: "a")] }
        #expect(
            reports.takeAll() == [
                """
                send(.chain(2)): the state is not as expected
                  state.sites[0]: expected Site(name: "a", up: nil, notes: []), is missing
                """
            ])
    }

    @Test func `A report is at the line of its call`() throws {
        let store = try store()
        store.send(.chain(1))
        let line = #line - 1
        #expect(reports.lines == [line])
    }
}
