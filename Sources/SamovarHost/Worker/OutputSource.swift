public import Logging
public import SamovarCore
public import SamovarWorker

/// A source that is another program's outputs.
///
/// ```swift
/// // In the program: as long as the state wants it.
/// .source(.listen, id: "orders")
/// // In the worker:
/// listen({ if case .listen = $0 { orders } else { nil } }, to: Orders.self, logger: logger) { heard in .ordered(heard.output) }
/// ```
///
/// Each output becomes one message, streamed with its place as the checkpoint: message and place are on disk together, so each
/// output arrives exactly once, whichever process dies.
///
/// - Parameters:
///   - extract: finds in the effect how the other program's store is reached; nil leaves the effect to the next handler.
///   - start: where the first attempt begins.
///   - gap: the message for outputs that cannot be had any more. Nil, the default, fails the source for good, and says why.
///   - message: makes a message of an output; nil passes over it.
public func listen<P: Program, Environment: Sendable, Other: Program>(
    _ extract: @escaping @Sendable (P.Effect) -> StoreAccess?, to other: Other.Type, after start: OutputPlace = .start,
    logger: Logger, gap: (@Sendable (OutputGap) -> P.Message)? = nil,
    _ message: @escaping @Sendable (Heard<Other.Output>) -> P.Message?
) -> Handler<P, Environment> {
    on(extract) { store, job in
        let connector = try Connector(other, at: store, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await connector.run() }
            group.addTask {
                var place = try job.resume?.checkpoint(as: OutputPlace.self) ?? start
                while !Task.isCancelled {
                    do {
                        for try await heard in connector.outputs(after: place) {
                            place = heard.place
                            // What is passed over is read again after a death, and passed over again.
                            if let message = message(heard) { try await job.stream(message, checkpoint: place) }
                        }
                        return
                    } catch let lost as OutputGap {
                        guard let gap else { throw Permanent("\(lost)") }
                        place = lost.next
                        try await job.stream(gap(lost), checkpoint: place)
                    }
                }
            }
            // The connector ends when the store refuses it; the listener when nobody wants it any more.
            defer {
                connector.close()
                group.cancelAll()
            }
            try await group.next()
        }
        try job.checkCancelled()
        throw ListenEnded()
    }
}

/// The connection to the other program ended though nobody asked for it: to be tried again.
private struct ListenEnded: Error, CustomStringConvertible {
    var description: String { "the connection to the other program has ended" }
}
