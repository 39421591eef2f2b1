import MessagePack
import Testing

/// Section 3 of `docs/protocol.md`: what a client asks for.
@Suite struct RequestTests {
    // MARK: SETTLE

    @Test func `A turn without effects is settled at once, applied, refused or that of the start`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.case("jump"), .increment)
        _ = try await client.outcomes()
        for turn in 1...3 as ClosedRange<Int64> {
            try await client.send(.settle, turn)
            let settled = try await client.next(.settled)
            #expect(settled.number == turn && settled.body == [[]])
        }
    }

    @Test func `SETTLE waits, says each second for what, and is answered when the effects have ended`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.incrementAsync)
        _ = try await client.outcomes()
        try await client.send(.settle, 2)
        for _ in 0..<2 {
            let waiting = try await client.next(.waiting)
            #expect(waiting.number == 2)
            #expect(waiting.body == ["1 effect waits in queue default, no worker serves it"])
        }
        let worker = try await store.worker()
        try await worker.answer(try await worker.task().done(.finished(1)))
        let settled = try await client.first(.settled)
        #expect(settled.number == 2 && settled.body == [[]])
    }

    @Test(arguments: [0, -1, .min, 99, .max])
    func `SETTLE of a turn that is not there is misuse`(_ turn: Int64) async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.settle, turn)
        #expect(try await client.nextError().code == .misuse)
        try await client.expectNothingBeforePong()
    }

    // MARK: VIEWREQUEST

    @Test(arguments: [1, 0, -1, .min])
    func `VIEWREQUEST from a turn that is there, or from less than 1, is answered with the newest view`(_ turn: Int64) async throws
    {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment)
        _ = try await client.outcomes()
        try await client.send(.viewRequest, turn, nil)
        let view = try await client.next(.view)
        #expect(view.number == 2 && view.body.count == 2 && view.body[0] == Value.nil && view.body[1]["sync"] == "1")
    }

    @Test func `VIEWREQUEST from a turn beyond the newest waits for it, and replaces an earlier one`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.viewRequest, 2, nil)
        try await client.send(.viewRequest, 3, nil)
        try await client.expectNothingBeforePong()
        try await client.submit(.increment)
        _ = try await client.outcomes()
        try await client.expectNothingBeforePong()
        try await client.submit(.increment, from: 2)
        // The view may stand before or behind the receipt: both tell of turn 3.
        let frames = [try await client.next(), try await client.next()]
        let view = try #require(frames.first { $0.kind == Kind.view.rawValue })
        #expect(view.number == 3)
    }

    // MARK: OUTPUTSREQUEST

    @Test func `OUTPUTSREQUEST is answered with what follows the place, or waits, or says that there is none`() async throws {
        let store = try await ForeignStore(.contract)
        let client = try await store.client()
        try await client.send(.outputsRequest, 1, nil, 0, 0)
        #expect(try await client.next(.outputs).body == [nil, 0, 0, nil, []])
        try await client.send(.outputsRequest, 0, nil, 0, 0)
        try await client.expectNothingBeforePong()
        try await client.submit(.emit(2))
        let answered = try await client.first(.outputs)
        #expect(answered.body == [nil, 0, 0, nil, [[2, 0, binary(1)], [2, 1, binary(2)]]])
        try await client.send(.outputsRequest, 0, nil, 2, 0)
        #expect(try await client.first(.outputs).body == [nil, 2, 0, nil, [[2, 1, binary(2)]]])
    }

    @Test(arguments: [99, .max])
    func `OUTPUTSREQUEST and VIEWSREQUEST after a turn that is not there are misuse`(_ turn: Int64) async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        for number in [0, 1] as [Int64] {
            try await client.send(.outputsRequest, number, nil, .int(turn), 0)
            #expect(try await client.nextError().code == .misuse)
        }
        try await client.send(.viewsRequest, turn, nil)
        #expect(try await client.nextError().code == .misuse)
    }

    // MARK: VIEWSREQUEST

    @Test func `VIEWSREQUEST begins with the current view and goes on with the view of each turn`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.viewsRequest, -1, nil)
        let first = try await client.next(.views)
        #expect(first.number == -1 && first.body.prefix(2) == [nil, false])
        #expect(first.body[2].elements.map { $0[0] } == [1] && first.body[2][0]?[1]?["sync"] == "0")
        try await client.send(.viewsRequest, 1, nil)
        try await client.expectNothingBeforePong()
        try await client.submit(.increment, .increment)
        var views: [Value] = []
        while views.count < 2 {
            let page = try await client.first(.views)
            #expect(page.body[1] == false)
            views += page.body[2].elements
            guard views.count < 2, let turn = views.last?[0]?.integer else { break }
            try await client.send(.viewsRequest, turn, nil)
        }
        #expect(views.map { [$0[0], $0[1]?["sync"]] } == [[2, "1"], [3, "2"]])
    }

    @Test func `VIEWSREQUEST after a turn whose views are not kept is answered with the current one, and marked`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment)
        _ = try await client.outcomes()
        try await client.send(.viewsRequest, 1, nil)
        let page = try await client.next(.views)
        #expect(page.number == 1 && page.body[1] == true && page.body[2][0]?[0] == 2)
    }

    // MARK: All of them

    @Test func `A request for an instance that is not there is misuse`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.viewRequest, 0, "other")
        #expect(try await client.nextError().code == .misuse)
        try await client.send(.outputsRequest, 1, "other", 0, 0)
        #expect(try await client.nextError().code == .misuse)
        try await client.send(.viewsRequest, -1, "other")
        #expect(try await client.nextError().code == .misuse)
        try await client.send(.viewRequest, 0, "main")
        _ = try await client.next(.view)
    }

    @Test func `A request belongs to its connection`() async throws {
        let store = try await ForeignStore()
        let session = randomID()
        let (first, second) = (try RawPeer(store.front), try RawPeer(store.front))
        try await first.greet(session: session)
        try await first.send(.viewRequest, 2, nil)
        try await second.greet(session: session, epoch: 2)
        #expect(try await first.nextError().code == .superseded)
        try await second.submit(.increment)
        #expect(try await second.outcomes().count == 1)
        try await second.expectNothingBeforePong()
        try await first.send(.ping)
        #expect(try await first.nextError().code == .unknownPeer, "no view came to the old connection")
    }
}
