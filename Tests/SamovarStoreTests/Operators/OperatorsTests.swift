import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What operators ask: each verb by itself, and what it refuses.
@Suite struct OperatorsTests {
    private var operators = Operators(Self.settings)

    /// At most three effects in a request.
    private static var settings: StoreSettings {
        var settings = StoreSettings()
        settings.adminEffects = 3
        return settings
    }

    /// The answer to a request, or the text of its refusal.
    private mutating func ask(
        _ verb: String, with arguments: MessagePackValue = .nil, _ bench: inout PartBench
    ) throws -> MessagePackValue {
        let answer = try operators.answer(
            AdminRequest(id: 1, verb: verb, arguments: arguments), by: nil, isServing: true, started: at(0), now: at(5),
            &bench.scheduler, &bench.turns, &bench.out)
        return switch answer {
        case .success(let value): value
        case .failure(let refusal): .string(refusal.text)
        }
    }

    /// Orders so many effects that die, and one that is open.
    private func order(dead: Int, _ bench: inout PartBench) throws -> (dead: [EffectID], open: EffectID) {
        var ids: [EffectID] = []
        for _ in 0..<dead {
            let id = try #require(try bench.order(job("a", diesSilently: true)))
            try bench.scheduler.attemptFailed(
                id, .threw, "no luck", lease: Lease(start: 1, counter: 9), isPermanent: true, now: at(1), &bench.turns, &bench.out)
            ids.append(id)
        }
        let open = try #require(try bench.order(job("b")))
        return (ids, open)
    }

    private func names(_ ids: [EffectID]) -> MessagePackValue { .array(ids.map { .string("\($0)") }) }

    @Test mutating func `A state is shown with the turn that it is of`() throws {
        var bench = try PartBench()
        let answer = try ask("inspect", &bench)
        let head = bench.turns.head
        #expect(answer["turn"] == .int(Int64(head)) && answer["state"]?["total"] == .int(0))
    }

    @Test mutating func `A dead effect is requeued by its name, and waits again`() throws {
        var bench = try PartBench()
        let dead = try order(dead: 2, &bench).dead
        let answer = try ask("requeue", with: ["effect": .string("\(dead[0])")], &bench)
        #expect(answer == ["requeued": .string("\(dead[0])")])
        let left = bench.turns.state.ledger.dead.keys.sorted()
        let since = bench.scheduler.dispatcher.waits(dead[0])
        #expect(left == [dead[1]] && since == at(5))
    }

    @Test mutating func `All that are dead are requeued or dropped in parts, the oldest first, and what is left is told`() throws {
        for verb in ["requeue", "drop"] {
            var bench = try PartBench()
            let (dead, open) = try order(dead: 4, &bench)
            let answer = try ask(verb, with: ["all": true], &bench)
            #expect(answer == [.string(verb == "drop" ? "dropped" : "requeued"): names(Array(dead.prefix(3))), "dead": .int(1)])
            let isOpen = bench.turns.state.ledger.open[open] != nil
            #expect(isOpen, "it is not dead")
        }
    }

    @Test mutating func `Effects are listed by queue, by label and by age, and counted are only these`() throws {
        var bench = try PartBench()
        let mail = try #require(try bench.order(Shop.Job(name: "a", queue: "mail", id: "ann")))
        let other = try #require(try bench.order(Shop.Job(name: "b", queue: "mail", id: "bob")))
        let web = try #require(try bench.order(Shop.Job(name: "c", queue: "web", id: "ann")))
        for (filter, found): (MessagePackValue, [EffectID]) in [
            ([:], [mail, other, web]), (["queue": "mail"], [mail, other]), (["label": "ann"], [mail, web]),
            (["queue": "mail", "label": "ann"], [mail]), (["label": "cid"], []), (["olderThan": 60_000], []),
            // All were ordered five seconds ago.
            (["olderThan": 5_000], [mail, other, web]), (["olderThan": 5_001], []),
            (["olderThan": .int(.max)], []),
        ] {
            let answer = try ask("effects", with: filter, &bench)
            guard case .array(let open)? = answer["open"] else {
                Issue.record("\(answer)")
                continue
            }
            #expect(.array(open.map { $0["effect"] ?? .nil }) == names(found), "\(filter)")
            #expect(answer["openCount"] == .int(Int64(found.count)), "\(filter)")
        }
    }

    @Test mutating func `Of many effects the oldest are listed in their order, and all are counted`() throws {
        var bench = try PartBench()
        let (dead, first) = try order(dead: 7, &bench)
        var open = [first]
        for _ in 0..<20 { open.append(try #require(try bench.order(job("c")))) }
        // With 10, newer ones are met before some that are older.
        for limit in [1, 2, 3, 10, 1_000] {
            let answer = try ask("effects", with: ["limit": .int(Int64(limit))], &bench)
            #expect(answer["openCount"] == 21 && answer["deadCount"] == 7)
            for (key, ids) in [("open", open), ("dead", dead)] {
                guard case .array(let shown)? = answer[key] else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(.array(shown.map { $0["effect"] ?? .nil }) == names(Array(ids.prefix(limit))), "\(key), at most \(limit)")
            }
        }
    }

    @Test mutating func `A filter that is not understood is refused and named`() throws {
        var bench = try PartBench()
        let limit = "the limit is a number from 1 to 1000"
        let filters: [(MessagePackValue, String)] = [
            (["limit": 0], limit), (["limit": -1], limit), (["limit": 1_001], limit), (["limit": "7"], limit),
            (["olderThan": -1], "olderThan is a number of milliseconds"), (["queue": 7], "the queue is a text"),
            (["label": 7], "the label is a text"),
        ]
        for (filter, text) in filters {
            let answer = try ask("effects", with: filter, &bench)
            #expect(answer == .string(text), "\(filter)")
        }
    }

    @Test func `The attempt that runs counts as one more than those that have ended`() throws {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order(deaths: 1)
        let effect = try #require(hall.ledger.open[id])
        let waiting = operators.describe(open: effect, hall.ledger, hall.dispatcher, now: at(1))
        #expect(waiting["status"] == "waiting" && waiting["attempts"] == .int(1))
        hall.assign()
        let running = operators.describe(open: effect, hall.ledger, hall.dispatcher, now: at(1))
        #expect(running["status"] == "running" && running["attempts"] == .int(2))
    }

    @Test func `The attempts of a dead effect are its failures and the deaths of its workers, the last one included`() {
        let ends: [(reason: Failure.Reason, attempts: Int, root: Int, failures: Int64, deaths: Int64)] = [
            (.threw, 3, 1, 1, 2), (.timedOut, 3, 1, 1, 2), (.workerDied, 3, 1, 0, 3),
            // Its worker fell silent again and again; it is a source; its time was over before another attempt.
            (.workerDied, 7, 1, 0, 7), (.workerDied, 3, 0, 1, 2), (.timedOut, 2, 1, 0, 2),
        ]
        for end in ends {
            var effect = OpenEffect(
                id: EffectID(turn: 1, ordinal: 0), root: end.root, options: .default, payload: [0], now: at(0))
            effect.history.deaths = 2
            let failure = Failure(reason: end.reason, text: "no luck", attempts: end.attempts)
            let shown = operators.describe(dead: EffectLedger.Dead(effect: effect, failure: failure))
            #expect(shown["failures"] == .int(end.failures) && shown["deaths"] == .int(end.deaths), "\(end)")
            #expect(shown["attempts"] == .int(end.failures + end.deaths), "\(end)")
        }
    }

    @Test mutating func `An effect that waits for its first attempt has had none, and one that a worker has is at it`() throws {
        var bench = try PartBench()
        try bench.order(job("a"))
        let waiting = try ask("effects", with: [:], &bench)
        bench.scheduler.join(
            WorkerOffer(id: workerID(1), slots: 1, queues: [.default]), takesProofs: false, at: worker(1), now: at(1))
        bench.scheduler.dispatcher.heard(workerID(1), credit: 1, now: at(1))
        bench.scheduler.assign(from: bench.turns.state.ledger, head: bench.turns.head, now: at(1), &bench.out)
        let running = try ask("effects", with: [:], &bench)
        for (answer, status, attempts): (MessagePackValue, String, Int64) in [(waiting, "waiting", 0), (running, "running", 1)] {
            guard case .array(let open)? = answer["open"] else {
                Issue.record("\(answer)")
                continue
            }
            #expect(open.map { $0["status"] } == [.string(status)] && open.map { $0["attempts"] } == [.int(attempts)])
        }
    }

    @Test func `When the next attempt begins is told of an effect that has to wait for a time, and of no other`() throws {
        var hall = DispatchHall()
        let id = hall.order(RunOptions(delay: .seconds(3)))
        let effect = try #require(hall.ledger.open[id])
        let early = operators.describe(open: effect, hall.ledger, hall.dispatcher, now: at(2))
        #expect(early["waitsFor"] == "time" && early["nextAttempt"] == .instant(at(3)))
        let due = operators.describe(open: effect, hall.ledger, hall.dispatcher, now: at(3))
        #expect(due["waitsFor"] == "worker" && due["nextAttempt"] == .nil)
    }

    @Test mutating func `An open effect can be dropped, and each of a list only once`() throws {
        var bench = try PartBench()
        let (dead, open) = try order(dead: 1, &bench)
        let answer = try ask("drop", with: ["effects": names([open, dead[0], open])], &bench)
        #expect(answer == ["dropped": names([open, dead[0]]), "dead": .int(0)])
        let left = bench.turns.state.ledger.open.count
        #expect(left == 0 && !bench.scheduler.dispatcher.hasWaiting)
    }

    @Test mutating func `Who pauses, resumes or rules is told what is set, and whether that is anything new`() throws {
        var bench = try PartBench()
        let place: MessagePackValue = ["queue": "mail"]
        let rule: MessagePackValue = ["queue": "mail", "rate": 5]
        for (verb, arguments, isNew) in [
            ("resume", place, false), ("pause", place, true), ("pause", place, false), ("resume", ["label": "mail"], false),
            ("resume", place, true), ("rule", place, false), ("rule", rule, true), ("rule", rule, false),
        ] {
            let answer = try ask(verb, with: arguments, &bench)
            let controls = bench.turns.state.ledger.controls
            #expect(answer == ["paused": controls.shownPaused, "rules": controls.shownRules, "changed": .bool(isNew)], "\(verb)")
        }
    }

    @Test mutating func `A name of more than 1,024 bytes is refused, unless what is set with it is taken away`() throws {
        var bench = try PartBench()
        let (longest, long) = (String(repeating: "é", count: 512), String(repeating: "é", count: 513))
        func requests(_ name: String) -> [(String, MessagePackValue)] {
            [
                ("resume", ["queue": .string(name)]), ("resume", ["label": .string(name)]), ("pause", ["queue": .string(name)]),
                ("pause", ["label": .string(name)]), ("rule", ["queue": .string(name), "rate": 5]),
                ("rule", ["queue": "mail", "shares": .map([MessagePackPair(.string(name), 2)])]),
            ]
        }
        for (verb, arguments) in requests(long) {
            let answer = try ask(verb, with: arguments, &bench)
            #expect(answer == "a name has at most 1,024 bytes", "\(verb)")
        }
        let count = bench.turns.state.ledger.controls.count
        #expect(count == 0)
        for (verb, arguments) in requests(longest) {
            let answer = try ask(verb, with: arguments, &bench)
            #expect(answer["changed"] != nil, "\(verb)")
        }

        bench.turns.write(.controlled(.pause(.queue(Queue(long)))), origin: .operator, sender: nil, now: at(1))
        bench.turns.write(.controlled(.rule(Queue(long), QueueRules(shares: .init()))), origin: .operator, sender: nil, now: at(1))
        for verb in ["resume", "rule"] {
            let answer = try ask(verb, with: ["queue": .string(long)], &bench)
            #expect(answer["changed"] == true, "\(verb)")
        }
    }

    @Test mutating func `The interval of a rate is a millisecond at least, and a day at most`() throws {
        var bench = try PartBench()
        func rule(_ milliseconds: Int64) -> MessagePackValue { ["queue": "mail", "rate": 5, "milliseconds": .int(milliseconds)] }
        for milliseconds in [1, 86_400_000] as [Int64] {
            let answer = try ask("rule", with: rule(milliseconds), &bench)
            let interval = bench.turns.state.ledger.controls.rules["mail"]?.rate?.interval
            #expect(answer["changed"] == true && interval == .milliseconds(milliseconds))
        }
        for milliseconds in [0, 86_400_001] as [Int64] {
            let answer = try ask("rule", with: rule(milliseconds), &bench)
            #expect(answer == "milliseconds is a number from 1 to 86400000")
        }
    }

    @Test mutating func `A rule names the weights of labels, that of the others, or both`() throws {
        var bench = try PartBench()
        let rules: [(MessagePackValue, QueueRules.Shares)] = [
            (["queue": "mail", "others": 3], .init(others: 3)), (["queue": "mail", "shares": ["ann": 4]], .init(["ann": 4])),
            (["queue": "mail", "shares": ["ann": 4], "others": 3], .init(["ann": 4], others: 3)),
        ]
        for (rule, shares) in rules {
            let answer = try ask("rule", with: rule, &bench)
            let set = bench.turns.state.ledger.controls.rules["mail"]?.shares
            #expect(answer["changed"] == true && set == shares, "\(rule)")
        }
    }

    @Test(arguments: [2, 3])
    mutating func `A backup gets a snapshot, unless to make one beside the service has ended the store three times`(
        _ deaths: Int
    ) throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let before = TrapMarker(page)
        _ = before.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
        before.write([Suspicion.Suspect(call: .maintenance, deaths: deaths, evidence: .signal(5))])
        var bench = try PartBench(marker: TrapMarker(page))
        _ = try ask("export", with: ["id": "a", "folder": "/copy"], &bench)
        let actions = bench.out.takeActions()
        #expect(actions == [.export(through: 0, folder: "/copy", withSnapshot: deaths < 3)])
    }

    @Test mutating func `What is no dead effect is refused, and nothing of the list is done`() throws {
        var bench = try PartBench()
        let (dead, open) = try order(dead: 1, &bench)
        let unknown = EffectID(turn: 99, ordinal: 0)
        var answers = [try ask("requeue", with: ["effects": names([dead[0], open])], &bench)]
        answers.append(try ask("drop", with: ["effects": names([dead[0], unknown])], &bench))
        answers.append(try ask("requeue", with: ["effects": names([open, open, open, open])], &bench))
        answers.append(try ask("requeue", &bench))
        answers.append(try ask("drop", with: ["effect": "seven"], &bench))
        #expect(
            answers
                == [
                    "effect \(open) is not dead", "effect 99/0 is neither open nor dead", "4 effects at once; 3 at most",
                    "which effect? name it as turn/ordinal",
                    "“seven” is not an effect; name it as turn/ordinal, as `effects` lists them",
                ].map { .string($0) })
        let left = bench.turns.state.ledger.dead.keys.sorted()
        #expect(left == dead)
    }

    @Test mutating func `An unknown verb is refused with those that there are`() throws {
        var bench = try PartBench()
        let answer = try ask("explode", &bench)
        #expect(
            answer
                == "unknown request explode; there are status, metrics, inspect, effects, attempts, requeue, drop, pause, resume, rule, reloadKeys, export, history, drain"
        )
    }

    @Test mutating func `Who heard nothing and asks again is told what was done, within a minute`() {
        let request = AdminRequest(id: 7, verb: "drop", arguments: ["all": true])
        let reply = AdminReply(id: 7, value: ["dropped": []])
        operators.replies.keep(reply, to: request, by: nil, now: at(0))
        let question = AdminRequest(id: 8, verb: "inspect")
        operators.replies.keep(AdminReply(id: 8, value: .nil), to: question, by: nil, now: at(0))
        #expect(operators.replies.reply(to: request, by: nil, now: at(60)) == reply)
        #expect(operators.replies.reply(to: question, by: nil, now: at(0)) == nil, "it changed nothing")
        #expect(operators.replies.reply(to: AdminRequest(id: 7, verb: "drop"), by: nil, now: at(0)) == nil, "it is another one")
        #expect(operators.replies.reply(to: request, by: nil, now: at(60.5)) == nil)
    }

    @Test func `On a full disk only the status is told`() {
        func reply(_ verb: String) -> AdminReply {
            Operators.reply(
                to: AdminRequest(id: 3, verb: verb), in: .diskFull, status: ["turn": 4], since: at(1), now: at(9.5))
        }
        #expect(reply("status") == AdminReply(id: 3, value: ["turn": 4]))
        let text = """
            the disk of the store is full, for 8 s now: only status, metrics, history, reloadKeys and drain are taken \
            until there is space, then ask again
            """
        #expect(reply("inspect") == AdminReply(id: 3, refusal: text))
        #expect(reply("inspect").isTemporary && !reply("status").isTemporary)
    }
}
