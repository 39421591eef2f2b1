public import SamovarCore

/// What a program's worker processes do: handlers that execute effects.
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
/// A handler runs in a worker process, one call per slot at a time, on a thread where it may block; of more than 64
/// slots, some share a thread, and a handler that blocks holds up the others there. Its return value and the end of the effect are one
/// record: both happen, once, or neither. It may be run again after a crash, with the same
/// `job.key`. What it throws is retried as the effect's `retry` says; `throw Permanent(…)` is not. Cancellation of its task
/// means that nobody wants the answer any more.
public struct Worker<P: Program>: Sendable {
    /// Throws `NotTaken` for an effect that is another's.
    @usableFromInline
    package typealias Handle = nonisolated(nonsending) @Sendable (P.Effect, Job<P>) async throws -> P.Message?

    /// A worker in its process, ready for jobs.
    @usableFromInline
    package struct Prepared: Sendable {
        @usableFromInline package let handle: Handle
        @usableFromInline package let work: JobRunner.Work
        @usableFromInline package let tearDown: @Sendable () async -> Void

        /// Inlined where a worker is made, so that what it does with each job is compiled together with its program.
        @inlinable
        package init(_ handle: @escaping Handle, tearDown: @escaping @Sendable () async -> Void = {}) {
            let answering = JobLoop<P>()
            self.handle = handle
            self.tearDown = tearDown
            work = { await answering.work(in: $0, handle) }
        }
    }

    private let preparation: @Sendable (_ given: [any Sendable]) async throws -> Prepared
    /// The queues that it is meant for, unless its process is told otherwise; empty for the default one.
    public private(set) var queues: [Queue] = []
    /// How many jobs of a queue a process holds at once.
    public private(set) var limits: [Queue: Int] = [:]

    /// - Parameter prepare: gets the environments that a test gives, see `prepare(environments:)`.
    @usableFromInline
    init(
        queues: [Queue], limits: [Queue: Int] = [:],
        prepare: @escaping @Sendable (_ given: [any Sendable]) async throws -> Prepared
    ) {
        self.queues = queues
        self.limits = limits
        preparation = prepare
    }

    /// Makes what the handlers need.
    ///
    /// - Parameter environments: what a test gives the handlers in place of the environments that the worker would make; it makes
    ///   none then. Of them, each worker of a join takes the first that is of its type, and one that needs none takes none.
    /// - Throws: what making an environment throws; `EnvironmentMismatch` if some are given, and none of the type that is needed.
    package func prepare(environments: [any Sendable] = []) async throws -> Prepared { try await preparation(environments) }

    /// The first environment of this type that is given, or a new one, which is the worker's own to tear down.
    @usableFromInline
    static func environment<Environment: Sendable>(
        _ given: [any Sendable], or make: @Sendable () async throws -> Environment
    ) async throws -> (value: Environment, isOwn: Bool) {
        guard !given.isEmpty, Environment.self != NoEnvironment.self else { return (try await make(), true) }
        for value in given {
            if let environment = value as? Environment { return (environment, false) }
        }
        throw EnvironmentMismatch(
            wanted: "\(Environment.self)", given: given.map { "\(type(of: $0))" }.joined(separator: ", "))
    }

    /// A worker of one function.
    @inlinable
    public init(_ handle: nonisolated(nonsending) @escaping @Sendable (P.Effect, Job<P>) async throws -> P.Message?) {
        self.init(queues: []) { _ in Prepared(handle) }
    }

    /// A worker whose handler has an environment: clients, connections, caches. It is made in worker processes only, once,
    /// before the first job.
    ///
    /// - Parameter tearDown: called once, when the last job of the process has ended. Not if the process is killed. It has, as the
    ///   handlers have, until five seconds after the process was told to end.
    @inlinable
    public init<Environment: Sendable>(
        environment: @escaping @Sendable () async throws -> Environment,
        tearDown: @escaping @Sendable (Environment) async -> Void = { _ in },
        _ handle: nonisolated(nonsending) @escaping @Sendable (P.Effect, Environment, Job<P>) async throws -> P.Message?
    ) {
        self.init(queues: []) { given in
            let (environment, isOwn) = try await Self.environment(given, or: environment)
            return Prepared {
                try await handle($0, environment, $1)
            } tearDown: {
                if isOwn { await tearDown(environment) }
            }
        }
    }

    /// A worker of a list of handlers. An effect goes to the first that takes it; one that none takes fails as `unhandled`.
    ///
    /// It has a name and is no initializer: of a closure that may be a list or a function, the compiler tells a mistake at the wrong place.
    public static func handlers(@HandlerBuilder<P, NoEnvironment> _ handlers: () -> [Handler<P, NoEnvironment>]) -> Worker {
        self.handlers(environment: { NoEnvironment() }, handlers)
    }

    /// A worker of a list of handlers that share an environment.
    ///
    /// ```swift
    /// Worker.handlers(environment: HTTPClient.init, tearDown: { await $0.close() }) {
    ///     on(\.probe) { url, client, job in .probed(url, try await client.head(url)) }
    ///     if hasMail { on(\.alert) { text, client, job in … } }
    /// }
    /// ```
    public static func handlers<Environment: Sendable>(
        environment: @escaping @Sendable () async throws -> Environment,
        tearDown: @escaping @Sendable (Environment) async -> Void = { _ in },
        @HandlerBuilder<P, Environment> _ handlers: () -> [Handler<P, Environment>]
    ) -> Worker {
        let list = handlers()
        return Worker(queues: list.flatMap(\.queues).inOrderOfAppearance) { given in
            let (environment, isOwn) = try await Self.environment(given, or: environment)
            return Prepared { effect, job in
                guard case .answered(let message) = try await list.handle(effect, environment, job) else { throw NotTaken() }
                return message
            } tearDown: {
                if isOwn { await tearDown(environment) }
            }
        }
    }

    /// A worker whose handler is a sequence of messages: each is streamed when it comes, and the effect ends with the sequence.
    /// The sequence of a further attempt shall begin after `job.resume`.
    public static func stream<Messages: AsyncSequence & SendableMetatype>(
        _ handle: nonisolated(nonsending) @escaping @Sendable (P.Effect, Job<P>) async throws -> Messages
    ) -> Worker where Messages.Element == P.Message, Messages.AsyncIterator: SendableMetatype {
        Worker { effect, job in
            for try await message in try await handle(effect, job) { try await job.stream(message) }
            return nil
        }
    }

    /// Several workers in one process: an effect goes to the first that takes it. Each has its own environment. The queues of all are
    /// served, the default one for a worker that names none. A test gives them their environments with
    /// `TestJob.run(_:environments:_:)`.
    public init(joining workers: [Worker]) {
        let limits = workers.reduce(into: [:]) { $0.merge($1.limits) { min($0, $1) } }
        let namesQueues = workers.contains { !$0.queues.isEmpty }
        let queues: [Queue] = namesQueues ? workers.flatMap { $0.queues.isEmpty ? [.default] : $0.queues } : []
        self.init(queues: queues.inOrderOfAppearance, limits: limits) { given in
            var prepared: [Prepared] = []
            do {
                for worker in workers { prepared.append(try await worker.prepare(environments: given)) }
            } catch {
                for done in prepared.reversed() { await done.tearDown() }
                throw error
            }
            return Prepared { [prepared] effect, job in
                for worker in prepared {
                    do {
                        return try await worker.handle(effect, job)
                    } catch is NotTaken {}  // It is for one of the others.
                }
                throw NotTaken()
            } tearDown: { [prepared] in
                for worker in prepared.reversed() { await worker.tearDown() }
            }
        }
    }

    /// The worker of a child program as a part of its parent's: it takes the effects that `effect` finds a child's in, and what
    /// it sends becomes a message of the parent.
    public func lift<Parent: Program>(
        into: Parent.Type = Parent.self, effect: @escaping @Sendable (Parent.Effect) -> P.Effect?,
        message: @escaping @Sendable (P.Message) -> Parent.Message
    ) -> Worker<Parent> {
        Worker<Parent>(queues: queues, limits: limits) { given in
            let child = try await prepare(environments: given)
            return Worker<Parent>.Prepared(
                { whole, job in
                    guard let part = effect(whole) else { throw NotTaken() }
                    return try await child.handle(part, job.lift(P.self, message: message)).map(message)
                }, tearDown: child.tearDown)
        }
    }

    /// The same worker, serving a queue, as with ``serving(_:)``, with at most so many of its jobs at once in each process. The store
    /// enforces it.
    ///
    /// - Parameter slots: 1 to 65,536; what is beyond is taken for the nearest.
    public func slots(_ slots: Int, queue: Queue) -> Worker {
        var worker = serving(queue)
        worker.limits[queue] = min(max(slots, 1), 65_536)
        return worker
    }

    /// The same worker, serving these queues behind those that were named before: a later one gets what the earlier ones leave. One of
    /// which none was named serves the default queue, and from then on only those that are named: name `.default`, too, if it shall go
    /// on with that. What only some machines can do is told by them, with `--can`, and needed by effects, with `RunOptions.needs`.
    public func serving(_ queues: Queue...) -> Worker {
        var worker = self
        worker.queues = (worker.queues + queues).inOrderOfAppearance
        return worker
    }
}

extension Worker {
    fileprivate static var idle: Worker { Worker { _, _ in nil } }
}

extension Worker where P.Effect == Never {
    /// The worker of a program without effects: it never gets a job.
    public static var none: Worker { idle }
}

/// The environment of handlers that need none.
public struct NoEnvironment: Sendable {}

/// The effect is for another worker of the process.
struct NotTaken: Error {}

/// A test has given a worker environments, and none of the type that its handlers take.
package struct EnvironmentMismatch: Error, CustomStringConvertible {
    let wanted: String
    let given: String

    package var description: String { "the handlers of this worker take \(wanted) as their environment, and were given \(given)" }
}

/// An error that no retry will mend: the effect fails at once.
public struct Permanent: Error, CustomStringConvertible {
    /// Why, as `failed` and operators hear it.
    public let description: String

    /// An error with this reason.
    public init(_ description: String) {
        self.description = description
    }
}

extension Array where Element: Hashable {
    fileprivate var inOrderOfAppearance: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
