import ArgumentParser
import MessagePack
import SamovarHost
import SamovarText

extension MetricsText.Format: ExpressibleByArgument {}

struct MetricsCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "metrics", abstract: "Prints the store's metrics for a monitoring system, such as Prometheus.",
            discussion: """
                Example: \(executableName) metrics
                         \(executableName) metrics --format openmetrics
                Counters begin with the process of the store. docs/metrics.md says what each means.
                """)
    }

    @OptionGroup var options: PeerOptions
    @Option(name: .long, help: "prometheus or openmetrics.") var format = MetricsText.Format.prometheus

    func run() async throws {
        let answer = try await options.admin(for: Types.self).ask("metrics")
        guard let text = MetricsText.text(of: answer, format) else {
            throw CommandFailure(.internal, "the store's answer cannot be read: \(answer.plainText)")
        }
        printData(text)
    }
}
