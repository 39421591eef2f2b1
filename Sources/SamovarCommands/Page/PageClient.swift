package import Logging
package import SamovarHost
import SamovarWire
import Synchronization

/// A page's client of its store. When the store has ended its session, another one follows: nothing of a page depends on one. So it
/// does when somebody has sent what is not for the page's key, for the others look on.
package final class PageClient: Sendable {
    private struct State {
        var client: StoreClient
        var isClosed = false
        /// With what ends a pause.
        var bell: AsyncStream<Void>.Continuation?
        /// What is not for its key, in the store's words, and until when that is not asked again.
        var refusal: (text: String, end: ContinuousClock.Instant)?
    }

    private let make: @Sendable () throws -> StoreClient
    private let state: Mutex<State>
    private let logger: Logger

    /// Before the next session, so that no store can keep a page busy with them.
    private static let pause = Duration.seconds(1)
    /// Each input that the store forbids costs a session, and all browsers the view for a pause. But a key may get another role.
    private static let refusedTime = Duration.seconds(60)

    /// - Parameter make: gives a client that has not run.
    package init(logger: Logger, _ make: @escaping @Sendable () throws -> StoreClient) throws {
        (self.make, self.logger) = (make, logger)
        state = Mutex(State(client: try make()))
    }

    /// Until `close`, or the task is cancelled.
    ///
    /// - Parameter heard: gets what is heard of views.
    /// - Throws: what ends a client for another reason than the end of its session, or than what it did when it was welcome.
    package func run(_ heard: @escaping @Sendable (StoreClient.ViewEvent) -> Void) async throws {
        while true {
            let client = client
            async let views: Void = Self.watch(client, heard)
            do {
                return try await client.run()
            } catch let error as PeerError
                where error.code == .sessionExpired || error.code == .forbidden && client.hasBeenWelcome
            {
                if error.code == .forbidden { refuse(error.text, for: Self.refusedTime) }
                await views
                heard(.stale)
                let next = try make()
                state.withLock { state in
                    state.client = next
                    if state.isClosed { next.close() }
                }
                logger.warning("another session is begun, for the store has ended this one: \(error)")
                // Whoever ends this meanwhile ends the next client: only one that has run abandons what was sent to it.
                await wait(Self.pause)
            }
        }
    }

    /// What is sent in this time is answered with these words.
    func refuse(_ text: String, for time: Duration) {
        state.withLock { $0.refusal = (text, ContinuousClock.now + time) }
    }

    /// Waits so long, or until `close`.
    func wait(_ time: Duration) async {
        // Each has a stream of its own: the task that is cancelled ends the one that it waits for.
        let (end, bell) = AsyncStream<Void>.makeStream()
        state.withLock { state in
            state.bell = bell
            if state.isClosed { bell.finish() }
        }
        await withTaskGroup(of: Void.self) { group in
            // Ends early with the task.
            group.addTask { try? await Task.sleep(for: time) }
            group.addTask { for await _ in end {} }
            _ = await group.next()
            group.cancelAll()
        }
    }

    private static func watch(_ client: StoreClient, _ heard: @Sendable (StoreClient.ViewEvent) -> Void) async {
        for await event in client.views() { heard(event) }
    }

    private var client: StoreClient { state.withLock { $0.client } }

    /// Sends an input and waits until its turn is on disk.
    package func send(_ input: [UInt8]) async -> StoreClient.Result {
        let (client, refusal) = state.withLock { ($0.client, $0.refusal) }
        if let refusal, ContinuousClock.now < refusal.end { return .rejected(refusal.text) }
        return await client.send(input)
    }

    /// Ends the session and `run`.
    package func close() {
        let (client, bell) = state.withLock { state in
            state.isClosed = true
            return (state.client, state.bell)
        }
        client.close()
        bell?.finish()
    }
}
