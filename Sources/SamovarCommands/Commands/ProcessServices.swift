import Foundation
import Logging
import SamovarCore
import SamovarHost
import ServiceLifecycle
import UnixSignals

/// Runs the service of a process until it ends by itself, by SIGTERM or SIGINT, or with its supervisor.
///
/// - Parameter onHangup: what SIGHUP means; nil for the end of the process.
func runProcess(
    _ service: some Service, lifeline: Lifeline?, onHangup: (@Sendable () -> Void)? = nil, logger: Logger
) async throws {
    try lifeline?.watch(logger: logger)
    printLineByLine()
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .error)
    var services = [ServiceGroupConfiguration.ServiceConfiguration(service: ImpatientExit())]
    if let onHangup {
        // Heard from here on, before the service first reads what it would read again.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        services.append(.init(service: HangupService(hangups: hangups, act: onHangup)))
    }
    services.append(
        .init(
            service: service, successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup))
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
    try await group.run()
}

/// Tells a second wish to end from the first one, which may come as more than one signal: `timeout` signals a process and then its
/// group, and a parent may pass on the Ctrl-C that its group has had.
struct WishToEnd {
    private static let moment = Duration.milliseconds(300)
    private var first: ContinuousClock.Instant?

    /// Whether the signal that has come now is a second wish.
    mutating func isRepeated() -> Bool {
        guard let first else {
            self.first = .now
            return false
        }
        return .now - first >= Self.moment
    }
}

/// A second wish ends the process at once: everything is safe at any point, so draining only saves time.
private struct ImpatientExit: Service {
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var wish = WishToEnd()
            // The first signal begins the drain, during which this service still runs: it was started first, and ends last.
            for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) where wish.isRepeated() {
                printErrorIfThereIsRoom("a second \(signal): ending at once")
                _exit(130)
            }
        }
    }
}

/// Acts at each SIGHUP, as long as the process serves.
private struct HangupService: Service {
    let hangups: UnixSignalsSequence
    let act: @Sendable () -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in hangups { act() }
        }
    }
}

/// A service whose process ends as soon after a graceful shutdown as after the end of its lifeline: what still runs then may
/// never hear that it shall end.
struct PunctualService<Base: Service>: Service {
    let base: Base
    let logger: Logger

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await base.run()
        } onGracefulShutdown: { [logger] in
            do {
                // No task: what goes on may hold the threads on which tasks run.
                try startThread("samovar-end") {
                    Thread.sleep(forTimeInterval: Lifeline.limit)
                    let seconds = Int(Lifeline.limit)
                    printErrorIfThereIsRoom("what runs here goes on \(seconds) s after it was told to end: ending without it")
                    _exit(75)
                }
            } catch {
                logger.error("this process waits for whatever runs in it, and a second signal ends it at once: \(error)")
            }
        }
    }
}

/// The lifeline is standard input: while the supervisor lives, it is open. Its end, however the supervisor died, means drain, and
/// no longer than 5 s.
struct Lifeline: Sendable {
    /// Lines on it are news from the supervisor.
    var hear: @Sendable (String) -> Void = { _ in }
    /// The supervisor is gone.
    var drain: @Sendable () -> Void

    fileprivate static let limit = 5.0

    fileprivate func watch(logger: Logger) throws {
        try startThread("samovar-lifeline") {
            readLines { hear(String(decoding: $0, as: UTF8.self)) }
            logger.debug("the supervisor is gone: draining")
            drain()
            Thread.sleep(forTimeInterval: Self.limit)
            _exit(75)
        }
    }
}
