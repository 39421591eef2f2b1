import ArgumentParser
import MessagePack
import SamovarHost

struct StatusCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Shows how the store is doing: turns, workers, queues, effects.",
            discussion: "Example: \(executableName) status --json")
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false

    func run() async throws {
        let settings = try options.settings()
        let status = try await AdminClient(at: settings.endpoint(for: Types.self)).ask("status")
        printData(json ? JSONTranscoder.text(of: status) : ViewText.lines(of: status).joined(separator: "\n"))
    }
}

struct InspectCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "inspect", abstract: "Prints the whole state of a running store, for operators.",
            discussion: "Example: \(executableName) inspect")
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "Indent the JSON.") var pretty = false

    func run() async throws {
        let settings = try options.settings()
        let state = try await AdminClient(at: settings.endpoint(for: Types.self)).ask("inspect")
        printData(JSONTranscoder.text(of: state, pretty: pretty))
    }
}

struct EffectsCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "effects", abstract: "Lists open and dead effects; requeues or drops one.",
            discussion: """
                Example: \(executableName) effects
                         \(executableName) effects --requeue 17/0
                """)
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false
    @Option(name: .long, help: "Open a dead effect again, by its name turn/ordinal.") var requeue: String?
    @Option(name: .long, help: "Close an effect for good, by its name turn/ordinal.") var drop: String?

    func validate() throws {
        if requeue != nil, drop != nil { throw ValidationError("--requeue and --drop exclude each other") }
    }

    func run() async throws {
        let settings = try options.settings()
        let admin = AdminClient(at: try settings.endpoint(for: Types.self))
        let answer: MessagePackValue
        if let requeue {
            answer = try await admin.ask("requeue", ["effect": .string(requeue)])
        } else if let drop {
            answer = try await admin.ask("drop", ["effect": .string(drop)])
        } else {
            answer = try await admin.ask("effects")
        }
        printData(json ? JSONTranscoder.text(of: answer) : ViewText.lines(of: answer).joined(separator: "\n"))
    }
}
