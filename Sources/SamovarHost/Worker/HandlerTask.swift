import ServiceLifecycle

/// Knows tasks that run a handler of a worker, or make or end what its handlers use.
enum HandlerTask {
    /// Whether this task is one.
    @TaskLocal static var isCurrent = false

    /// Runs `body`, and tells when it is to end: cancelled, or by a graceful shutdown of the process. That of a worker does not concern
    /// what its handlers use: the worker lets them finish, or cancels them.
    static func untilShutdown(
        _ body: () async throws -> Void, onShutdown end: @escaping @Sendable () -> Void
    ) async throws {
        if isCurrent {
            try await withTaskCancellationHandler(operation: body, onCancel: end)
        } else {
            try await withTaskCancellationOrGracefulShutdownHandler(operation: body, onCancelOrGracefulShutdown: end)
        }
    }
}
