import Logging
import MessagePack
import ProcessSupport
import SamovarCore
import Testing

@testable import SamovarHost

private struct Lamp: OpenProgram {
    struct State: Portable { var isOn = false }
    enum Message: Portable { case toggle }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Lamp> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Lamp> {
        state.isOn.toggle()
        return .none
    }
}

/// Views that this build cannot read, as from a store of other sources under one schema version.
@Suite struct ViewsTests {
    private let lines = Lines()
    private let connector: Connector<Lamp>

    init() throws {
        let lines = lines
        let logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
        connector = try Connector(Lamp.self, at: try StoreAccess("ipc:///tmp/none"), logger: logger)
    }

    private static let good: [UInt8] = [0x81, 0xa4] + Array("isOn".utf8) + [0xc3]
    private static let bad: [UInt8] = [0x81, 0xa4] + Array("isOn".utf8) + [0x07]

    /// Plays the loop of the client.
    private func tell(_ views: [UInt8]...) throws {
        for command in connector.client.mailbox.takeAll() {
            guard case .watch(_, let watcher) = command else { continue }
            for (index, bytes) in views.enumerated() {
                watcher.yield(.view(StoreClient.View(timeline: .zero, turn: index + 1, bytes: bytes)))
            }
            watcher.finish()
        }
    }

    @Test func `A view that cannot be read is told and left out, and the next is read`() async throws {
        let views = connector.views
        try tell(Self.good, Self.bad, Self.bad, Self.good, Self.bad)
        var turns: [Int] = []
        for await view in views { turns.append(view.turn) }
        #expect(turns == [1, 4])
        // The first of several in a row.
        #expect(lines.all.count == 2)
        for line in lines.all {
            #expect(line.hasPrefix("error: views are left out, for this build cannot read them: "))
            #expect(line.contains("isOn"))
        }
    }

    @Test func `A live view that nobody follows any more may be old, and has ended only with its connector`() async throws {
        let live = await LiveView(connector)
        func view(_ turn: Int, _ bytes: [UInt8]) -> StoreClient.ViewEvent {
            .view(StoreClient.View(timeline: .zero, turn: turn, bytes: bytes))
        }

        let (cancelled, first) = try await follow(live)
        first.yield(view(1, Self.good))
        try await eventually("the view") { await live.status == .live }
        cancelled.cancel()
        try await cancelled.value
        #expect(await live.status == .stale)

        let (failing, second) = try await follow(live)
        second.yield(view(2, Self.good))
        try await eventually("the next view") { await live.status == .live }
        second.yield(view(3, Self.bad))
        await #expect(throws: DecodingError.self) { try await failing.value }
        #expect(await live.status == .stale)

        let (ending, third) = try await follow(live)
        third.finish()
        try await ending.value
        #expect(await live.status == .ended)
    }

    /// Follows a live view, and plays the loop of the client that it watches.
    private func follow(
        _ live: LiveView<Lamp>
    ) async throws -> (Task<Void, any Error>, AsyncStream<StoreClient.ViewEvent>.Continuation) {
        let following = Task { try await live.follow() }
        let watcher = try await eventually("it watches") { () -> AsyncStream<StoreClient.ViewEvent>.Continuation? in
            for case .watch(_, let watcher) in connector.client.mailbox.takeAll() { return watcher }
            return nil
        }
        return (following, watcher)
    }

    @Test func `Parts of views that can be read go on, too`() async throws {
        let parts = connector.views(\.isOn)
        try tell(Self.bad, Self.good)
        var values: [Bool] = []
        for await isOn in parts { values.append(isOn) }
        #expect(values == [true])
        #expect(lines.all.count == 1)
    }

    @Test func `The newest views as a feed throw what decoding throws`() async throws {
        var views = connector.views(.latest).makeAsyncIterator()
        try tell(Self.good, Self.bad, Self.good)
        #expect(try await views.next()?.turn == 1)
        await #expect(throws: DecodingError.self) { try await views.next() }
        #expect(try await views.next()?.turn == 3)
        #expect(try await views.next() == nil)
        #expect(lines.all == [])
    }
}
