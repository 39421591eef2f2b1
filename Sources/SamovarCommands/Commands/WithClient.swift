import Logging
import SamovarCore
package import SamovarHost
package import SamovarText
import SamovarWire

/// Runs `body` with a client of the store, and ends the client after it. One with an outbox takes inputs also while no store answers.
///
/// - Parameters:
///   - place: where the store is, if not where the options say.
///   - patience: how long a store that does not answer is waited for, if the person has said so.
package func withClient<Types: ProgramTypes, Result: Sendable>(
    _ options: PeerOptions, for types: Types.Type, at place: StoreAccess? = nil, patience: Seconds? = nil, outbox: String? = nil,
    _ body: @escaping @Sendable (StoreClient) async throws -> Result
) async throws -> Result {
    let settings = try options.settings()
    let store = try place ?? settings.access(for: types)
    let client = try StoreClient(at: store, schema: Types.schema, outbox: outbox, logger: settings.logger("client"))
    let patience = patience ?? .forStore
    if outbox == nil { client.willWait() }
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask {
            try await client.run()
            return nil
        }
        group.addTask {
            if outbox != nil { return try await body(client) }
            try await within(patience.duration) {
                // Who waits longer than usual is told what for, unless it is for a store that this process has started.
                async let _: Void = say(that: client, isMissing: store, ifLessThan: place == nil ? patience : .forStore)
                try await client.waitUntilConnected()
            } else: {
                CommandFailure(client.obstacle == nil ? .unavailable : .tryLater, absence(of: store, for: patience, client))
            }
            return try await body(client)
        }
        defer {
            client.close()
            group.cancelAll()
        }
        while let result = try await group.next() {
            guard let result else { continue }
            // If an error ended the client, it explains what `body` was told.
            client.close()
            while try await group.next() != nil {}
            return result
        }
        throw CommandFailure(.internal, "the client ended before it had an answer")
    }
}

/// Why there is no connection yet.
private func absence(of store: StoreAccess, for time: Seconds, _ client: StoreClient) -> String {
    if let obstacle = client.obstacle { return "waited \(time) for the store, which takes nothing at present: \(obstacle)" }
    return "no store answers at \(store.named(.front)), for \(time) now"
        + (client.difficulty.map { ": \($0)" } ?? "; \(store.advice)")
}

private func say(that client: StoreClient, isMissing store: StoreAccess, ifLessThan patience: Seconds) async throws {
    guard patience.duration > Seconds.forStore.duration else { return }
    try await Task.sleep(for: Seconds.forStore.duration)
    printError("\(absence(of: store, for: .forStore, client)). It is waited for")
}

/// Runs `body`, but no longer than `limit`; then throws what `failure` makes. If this task is cancelled, `body` is, and has the last word:
/// what it was told before is not lost.
///
/// - Parameter giveUp: ends what `body` waits for if that does not end by cancellation.
package func within<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result,
    else failure: @escaping @Sendable () -> CommandFailure,
    giveUp: @Sendable () -> Void = {}
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            // Throws only if it is cancelled.
            guard (try? await Task.sleep(for: limit)) != nil else { return nil }
            throw failure()
        }
        defer { group.cancelAll() }
        do {
            while let next = try await group.next() {
                if let result = next { return result }
                giveUp()
            }
            throw failure()
        } catch {
            // The group ends only when `body` has.
            giveUp()
            throw error
        }
    }
}
