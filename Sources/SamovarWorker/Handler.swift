public import SamovarCore

/// A part of a worker: takes some effects and leaves others to the next.
///
/// Made by `on`, `take`, `onStream` and `group`, inside `Worker.handlers { … }`.
public struct Handler<P: Program, Environment: Sendable>: Sendable {
    let handle: nonisolated(nonsending) @Sendable (P.Effect, Environment, Job<P>) async throws -> Handled<P>
    /// The queues that it names.
    var queues: [Queue] = []
}

/// What a handler made of an effect.
enum Handled<P: Program>: Sendable {
    /// It is for another handler.
    case passed
    case answered(P.Message?)
}

extension Array {
    /// The first handler that takes the effect.
    nonisolated(nonsending) func handle<P: Program, Environment: Sendable>(
        _ effect: P.Effect, _ environment: Environment, _ job: Job<P>
    ) async throws -> Handled<P> where Element == Handler<P, Environment> {
        for handler in self {
            if case .answered(let message) = try await handler.handle(effect, environment, job) { return .answered(message) }
        }
        return .passed
    }
}

/// Handles the effects in which `extract` finds something.
///
/// ```swift
/// on(\.url) { url, client, job in .fetched(url: url, title: try await client.title(of: url)) }
/// on({ if case .sleep(let seconds) = $0 { seconds } else { nil } }) { (seconds: Int, job) in … }
/// ```
///
/// It runs in a worker process, on a thread where it may block, and may run again for the same effect, with the same `job.key`.
///
/// - Parameter extract: what the handler needs of the effect; nil leaves the effect to the next handler.
public func on<P: Program, Environment: Sendable, Value: Sendable>(
    _ extract: @escaping @Sendable (P.Effect) -> Value?,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Environment, Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    Handler { effect, environment, job in
        guard let value = extract(effect) else { return .passed }
        return .answered(try await handle(value, environment, job))
    }
}

/// Handles the effects in which `extract` finds something, without the environment.
public func on<P: Program, Environment: Sendable, Value: Sendable>(
    _ extract: @escaping @Sendable (P.Effect) -> Value?,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    on(extract) { value, _, job in try await handle(value, job) }
}

/// Handles the effects of which a property is not nil. With a key path, a name that is wrong is the compiler's error where it stands.
public func on<P: Program, Environment: Sendable, Value: Sendable>(
    _ part: any KeyPath<P.Effect, Value?> & Sendable,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Environment, Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    on({ $0[keyPath: part] }, handle)
}

/// Handles the effects of which a property is not nil, without the environment.
public func on<P: Program, Environment: Sendable, Value: Sendable>(
    _ part: any KeyPath<P.Effect, Value?> & Sendable,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    on({ $0[keyPath: part] }, handle)
}

/// Handles one effect, by its value.
///
/// ```swift
/// take(.ring) { job in
///     bell.ring()
///     return nil
/// }
/// ```
///
/// What `takeLatest` is elsewhere is `policy: .latest` where the effect is ordered: only the store knows of all that run, in
/// whatever process, and it cancels them at once.
public func take<P: Program, Environment: Sendable>(
    _ effect: P.Effect, _ handle: nonisolated(nonsending) @escaping @Sendable (Environment, Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    on({ $0 == effect ? true : nil }) { _, environment, job in try await handle(environment, job) }
}

/// Handles one effect, by its value, without the environment.
public func take<P: Program, Environment: Sendable>(
    _ effect: P.Effect, _ handle: nonisolated(nonsending) @escaping @Sendable (Job<P>) async throws -> P.Message?
) -> Handler<P, Environment> {
    take(effect) { _, job in try await handle(job) }
}

/// Handles effects by a sequence of messages: each is streamed when it comes, and the effect ends with the sequence. The
/// sequence of a further attempt shall begin after `job.resume`.
public func onStream<P: Program, Environment: Sendable, Value: Sendable, Messages: AsyncSequence & SendableMetatype>(
    _ extract: @escaping @Sendable (P.Effect) -> Value?,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Environment, Job<P>) async throws -> Messages
) -> Handler<P, Environment> where Messages.Element == P.Message, Messages.AsyncIterator: SendableMetatype {
    on(extract) { value, environment, job in
        for try await message in try await handle(value, environment, job) { try await job.stream(message) }
        return nil
    }
}

/// Handles the effects of which a property is not nil by a sequence of messages.
public func onStream<P: Program, Environment: Sendable, Value: Sendable, Messages: AsyncSequence & SendableMetatype>(
    _ part: any KeyPath<P.Effect, Value?> & Sendable,
    _ handle: nonisolated(nonsending) @escaping @Sendable (Value, Environment, Job<P>) async throws -> Messages
) -> Handler<P, Environment> where Messages.Element == P.Message, Messages.AsyncIterator: SendableMetatype {
    onStream({ $0[keyPath: part] }, handle)
}

/// Handlers for the effects of one queue: in a worker that serves several groups, each gets what was ordered for it.
///
/// ```swift
/// for name in ["search", "mail"] {
///     group(Queue(name)) { on(\.article) { article, job in .noted("\(name) has \(article)") } }
/// }
/// ```
///
/// `Command.run(_:groups:)` orders one effect for several groups; each runs and answers its own copy. A worker that names a group
/// serves its queue, and the default one only if that is named, too: handlers beside groups, for effects without a queue, want
/// ``Worker/serving(_:)`` with `.default`.
public func group<P: Program, Environment: Sendable>(
    _ queue: Queue, @HandlerBuilder<P, Environment> _ handlers: () -> [Handler<P, Environment>]
) -> Handler<P, Environment> {
    let list = handlers()
    return Handler(
        handle: { effect, environment, job in
            guard job.queue == queue else { return .passed }
            return try await list.handle(effect, environment, job)
        }, queues: [queue] + list.flatMap(\.queues))
}

/// Lists handlers, with conditions and loops.
@resultBuilder
public enum HandlerBuilder<P: Program, Environment: Sendable> {
    /// A part of the list.
    public typealias Part = [Handler<P, Environment>]

    /// One handler.
    public static func buildExpression(_ handler: Handler<P, Environment>) -> Part { [handler] }
    /// A list that was made elsewhere.
    public static func buildExpression(_ handlers: Part) -> Part { handlers }
    /// One after the other.
    public static func buildBlock(_ parts: Part...) -> Part { parts.flatMap { $0 } }
    /// `if` without `else`.
    public static func buildOptional(_ part: Part?) -> Part { part ?? [] }
    /// `if` and `switch`.
    public static func buildEither(first part: Part) -> Part { part }
    /// `else` and `switch`.
    public static func buildEither(second part: Part) -> Part { part }
    /// `for`.
    public static func buildArray(_ parts: [Part]) -> Part { parts.flatMap { $0 } }
    /// `if #available`.
    public static func buildLimitedAvailability(_ part: Part) -> Part { part }
}
