public import SamovarCore

/// What a program's worker processes do: a handler that executes effects.
///
/// ```swift
/// static var worker: Worker<Counter> {
///     Worker { effect, job in
///         switch effect {
///         case .addOne(let count):
///             try await Task.sleep(for: .seconds(1))
///             return .finished(count: count + 1)
///         }
///     }
/// }
/// ```
///
/// A handler runs in a worker process, one call per slot at a time, on a thread where it may block. Its return value and the
/// end of the effect are one record: both happen, once, or neither. It may be run again after a crash, with the same
/// `job.key`. What it throws is retried as the effect's `retry` says; `throw Permanent(…)` is not. Cancellation of its task
/// means that nobody wants the answer any more.
public struct Worker<P: Program>: Sendable {
    typealias Handler = @Sendable (P.Effect, Job<P>) async throws -> P.Message?

    let makeHandler: @Sendable () async throws -> Handler

    public init(_ handle: @escaping @Sendable (P.Effect, Job<P>) async throws -> P.Message?) {
        makeHandler = { handle }
    }

    /// A worker whose handlers share an environment: clients, connections, caches. It is made in worker processes only, once,
    /// before the first job.
    public init<Environment: Sendable>(
        environment: @escaping @Sendable () async throws -> Environment,
        _ handle: @escaping @Sendable (P.Effect, Environment, Job<P>) async throws -> P.Message?
    ) {
        makeHandler = {
            let environment = try await environment()
            return { effect, job in try await handle(effect, environment, job) }
        }
    }
}

extension Worker {
    fileprivate static var idle: Worker { Worker { _, _ in nil } }
}

extension Worker where P.Effect == Never {
    /// The worker of a program without effects: it never gets a job.
    public static var none: Worker { idle }
}

/// An error that no retry will mend: the effect fails at once.
public struct Permanent: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
