import MessagePack
import Testing

/// Section 3 of `docs/protocol.md`: the numbers of a session, confirmation and credit.
@Suite struct InputTests {
    @Test func `Inputs are answered with their number, their turn and what became of them`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment, .incrementAsync, .incrementAsync, .case("jump"))
        var outcomes: [Value] = []
        while outcomes.count < 4 { outcomes += try await client.outcomes() }
        #expect(outcomes[0] == [1, 2, 0, nil] && outcomes[1] == [2, 3, 0, nil])
        #expect(outcomes[2].elements.dropLast() == [3, 4, 1], "refused by the program")
        #expect(try outcomes[2][3]?.unpacked == .case("busy"))
        #expect(outcomes[3].elements.dropLast() == [4, 5, 2], "rejected: it is no input")
        #expect(outcomes[3][3]?.string?.contains("jump") == true)
    }

    @Test func `A number beyond the next is answered resync, with the next`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        let input = binary(.increment)
        try await client.send(.send, 0, [[1, nil, input], [3, nil, input], [2, nil, input]])
        let error = try await client.nextError()
        #expect(error.code == .resync && error.body[2] == 2, "\(error)")
        // What stood before it in the frame is taken, and nothing behind it.
        #expect(try await client.outcomes() == [[1, 2, 0, nil]])
        try await client.submit(.increment, from: 2)
        #expect(try await client.outcomes() == [[2, 3, 0, nil]])
    }

    @Test func `A number that had its turn is answered alike and not applied again`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment)
        let first = try await client.outcomes()
        for _ in 0..<3 {
            try await client.submit(.increment)
            #expect(try await client.outcomes() == first)
        }
        #expect(try await store.ask("inspect").value["state"]?["sync"] == 1)
    }

    @Test func `Another input under a known number is misuse`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment)
        _ = try await client.outcomes()
        try await client.submit(.decrement)
        #expect(try await client.nextError().code == .misuse)
        #expect(try await store.ask("inspect").value["state"]?["sync"] == 1)
    }

    @Test(arguments: [0, -1, .min])
    func `A number less than 1 is misuse`(_ number: Int64) async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.send, 0, [[1, nil, binary(.increment)], [.int(number), nil, binary(.increment)]])
        #expect(try await client.nextError().code == .misuse)
        #expect(try await client.outcomes() == [[1, 2, 0, nil]])
        try await client.expectNothingBeforePong()
    }

    @Test func `A number whose outcome is confirmed has no outcome any more`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment, .increment)
        #expect(try await client.outcomes().count == 2)
        let input = binary(.increment)
        try await client.send(.send, 1, [[1, nil, input], [2, nil, input], [3, nil, input]])
        var numbers: [Value?] = []
        while numbers.count < 2 { numbers += try await client.outcomes().map { $0[0] } }
        #expect(numbers == [2, 3])
    }

    @Test func `Credit goes a window beyond what SEND or PING confirms of the outcomes there are`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.increment, .increment, .increment)
        _ = try await client.outcomes()
        try await client.send(.ping, 1)
        #expect(try await client.next(.pong).number == 4_097)
        try await client.submit(.increment, from: 4, confirmed: 2)
        #expect(try await client.next(.receipt).number == 4_098)
        try await client.send(.ping, 1)
        #expect(try await client.next(.pong).number == 4_098, "a smaller confirmation changes nothing")
        try await client.send(.ping, .max)
        #expect(try await client.next(.pong).number == 4_100, "one beyond the newest outcome counts as that")
        try await client.send(.ping, .min)
        #expect(try await client.next(.pong).number == 4_100)
    }

    @Test func `An input beyond the credit is answered retryLater, and those before it are taken`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        let inputs = (1...4_097).map { Value.array([.int($0), nil, binary(.increment)]) }
        try await client.send(.send, 0, .array(inputs))
        let error = try await client.nextError()
        #expect(error.code == .retryLater && error.body[3] == 1_000, "\(error)")
        var count = 0
        while count < 4_096 { count += try await client.outcomes().count }
        #expect(count == 4_096)
        try await client.submit(.increment, from: 4_097, confirmed: 4_096)
        #expect(try await client.outcomes()[0][0] == 4_097)
    }

    @Test func `An input for an instance that is not there is rejected`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.send, 0, [[1, "other", binary(.increment)], [2, "main", binary(.increment)]])
        var outcomes: [Value] = []
        while outcomes.count < 2 { outcomes += try await client.outcomes() }
        #expect(outcomes[0][2] == 2 && outcomes[1][2] == 0)
    }

    @Test func `After another HELLO the session goes on, and outcomes are there until they are confirmed`() async throws {
        let store = try await ForeignStore()
        let session = randomID()
        let first = try RawPeer(store.front)
        try await first.greet(session: session)
        try await first.submit(.increment, .increment)
        let outcomes = try await first.outcomes()
        let second = try RawPeer(store.front)
        #expect(try await second.greet(session: session, epoch: 2)[2] == 3)
        try await second.submit(.increment, .increment)
        #expect(try await second.outcomes() == outcomes)
    }

    @Test func `Inputs that are no MessagePack, or too deep, are rejected`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        let deep = [UInt8](repeating: 0x91, count: 1_000) + [0xc0]
        for (number, bytes) in [[0xc1], [], deep].enumerated() {
            try await client.send(.send, 0, [[.int(Int64(number) + 1), nil, .binary(bytes)]])
            #expect(try await client.outcomes()[0][2] == 2)
        }
    }
}
