import MessagePack
import SamovarLoad
import Testing

struct LoadPlanTests {
    @Test func `Shares cover all clients and subscribers once`() {
        let shares = plan(clients: 7, subscribers: 2).shares(3)
        #expect(shares.map(\.firstClient) == [0, 3, 5])
        #expect(shares.map(\.clients) == [3, 2, 2])
        #expect(shares.map(\.subscribers) == [1, 1, 0])
    }

    @Test(arguments: [7.0, 300, 1_000, 1_500])
    func `An agent is woken when an input of its clients is due, and at no other time`(rate: Double) {
        let plan = plan(pace: .rate(rate), clients: 8)
        for share in plan.shares(3) {
            let own = share.firstClient..<share.firstClient + share.clients
            let due = own.flatMap { client in
                let schedule = SendSchedule(client: client, of: 8, rate: rate, duration: 60_000_000)
                return (0..<schedule.count).map { schedule.due($0) }
            }.sorted()
            var time = Duration.zero
            for expected in due.drop(while: { $0 == 0 }) {
                // Whoever is woken is a little late.
                time = share.nextDue(after: time + .microseconds(7))
                // Due times are whole microseconds.
                let difference = time / .microseconds(1) - Double(expected)
                #expect(difference > -0.001 && difference < 1.001, "\(time) and not \(expected) µs")
            }
        }
        #expect(plan.shares(1)[0].nextDue(after: .seconds(7) + .microseconds(1)) > .seconds(7), "whatever was late")
    }

    @Test func `The end of effects is asked for about a thousand times a second at most`() {
        #expect(plan(pace: .rate(1_000)).settleStride == 1)
        #expect(plan(pace: .rate(50_001)).settleStride == 51)
        #expect(500_000 / plan(pace: .saturate(window: 1)).settleStride < 1_000)
    }

    @Test(arguments: [(8, 8), (16, 8), (1_000, 10), (7, 51), (144, 10), (987, 10)])
    func `Each second and each client has its part in the inputs that are asked for their end`(clients: Int, stride: Int) {
        let choice = SettleChoice(oneIn: stride)
        let count = 20 * clients * stride
        let chosen = (0..<count).filter { choice.includes($0 / clients, of: $0 % clients) }
        let even = count / stride / 4
        for quarter in 0..<4 {
            let own = chosen.count { $0 / (count / 4) == quarter }
            #expect((even * 9 / 10...even * 11 / 10).contains(own), "\(own) in quarter \(quarter), and not \(even)")
        }
        let byClient = Dictionary(grouping: chosen) { $0 % clients }.mapValues(\.count)
        #expect(byClient.count == clients && byClient.values.allSatisfy { (15...25).contains($0) }, "20 each")
    }

    @Test func `Deaths come in turn, and none when the test is over`() {
        let kills = KillPlan(roles: [.store, .worker], interval: 2_000_000)
        #expect(kills.due(0, within: 5_000_000) == 2_000_000)
        #expect(kills.due(1, within: 5_000_000) == 4_000_000)
        #expect(kills.due(2, within: 5_000_000) == nil)
        #expect(kills.due(0, within: 2_000_000) == nil)
        #expect(KillPlan(roles: [.store], interval: .max).due(1, within: .max) == nil)
        #expect((0..<3).map { kills.role($0) } == [.store, .worker, .store])
    }
}

struct InputTemplateTests {
    private func filled(_ value: MessagePackValue) throws -> MessagePackValue {
        let template = try InputTemplate(encoded: InputTemplate(value).encoded)
        var reader = MessagePackReader(template.input(n: 30, client: 2, sequence: 8))
        return try reader.readValue()
    }

    @Test func `A hole outside of strings becomes a mark, and one within stays`() {
        #expect(
            InputTemplate.withMarks(#"{"add":{"key":"k{n}","by":{sequence},"at":{}}}"#)
                == "{\"add\":{\"key\":\"k{n}\",\"by\":\"\u{FFFF}sequence\",\"at\":{}}}")
        #expect(InputTemplate.withMarks(#"{"a":"\"{n}","b":{n}}"#) == "{\"a\":\"\\\"{n}\",\"b\":\"\u{FFFF}n\"}")
        // A quote with an accent behind it begins a string, and ends one.
        #expect(
            InputTemplate.withMarks("{\"a\":\"\u{301}{n}\",\"b\":{n}}") == "{\"a\":\"\u{301}{n}\",\"b\":\"\u{FFFF}n\"}")
    }

    @Test func `A mark becomes a number, and a hole in a text a part of it`() throws {
        let filled = try filled(["add": ["key": "k{n}-{client}", "by": "\u{FFFF}sequence", "list": ["{n}", true]]])
        #expect(filled == ["add": ["key": "k30-2", "by": 8, "list": ["30", true]]])
    }

    @Test func `An input without holes is what it was`() throws {
        #expect(try filled(["increment": [:]]) == ["increment": [:]])
    }
}

func plan(
    pace: LoadPlan.Pace = .rate(1_000), clients: Int = 2, subscribers: Int = 1, duration: Int64 = 10_000, drain: Int64 = 4_000_000
) -> LoadPlan {
    LoadPlan(
        pace: pace, clients: clients, subscribers: subscribers, duration: duration, drain: drain,
        inputs: [InputTemplate(.string("increment")).encoded], endpoint: "ipc:///nowhere", dataFolder: ".")
}
