import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarTerminal
import SamovarText
import Synchronization

package enum OutputFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, json
}

/// A view as one line of JSON, with the turn it shows.
func viewJSON(_ view: StoreClient.View) throws -> String {
    JSONTranscoder.text(of: [
        "turn": .int(Int64(view.turn)), "instance": .string(Instance.main.key), "view": try MessagePackValue(encoded: view.bytes),
    ])
}

/// Nil if the client ends before. A view that does not come in time ends the client.
private func newestView(of client: StoreClient, atLeast turn: Int = 0, within limit: Seconds? = nil) async throws -> StoreClient
    .View?
{
    let limit = limit ?? Seconds(.seconds(30))
    let reason = Mutex("the store has not reached turn \(turn)")
    return try await within(limit.duration) {
        try await client.view(atLeast: turn) { why in reason.withLock { $0 = why } }
    } else: {
        CommandFailure(.tryLater, "gave up after \(limit): \(reason.withLock { $0 })")
    } giveUp: {
        client.close()
    }
}

struct MonitorCommand<Types: ProgramTypes>: AsyncParsableCommand {
    /// A tool without a program replays nothing.
    private static var hasPast: Bool { Types.schema != nil }

    static var configuration: CommandConfiguration {
        let lookedAt = hasPast ? ", and the past looked at" : ""
        let past = """
             The left arrow, while nothing has the focus, leads to the past of the view: left and right step by a turn, page up and down by \
            100, g goes to a turn that is typed, and End or Escape back to what is live. The past is replayed from the journal, as by `replay`.
            """
        return CommandConfiguration(
            commandName: "monitor",
            abstract: "Watches the view and prints each one; in a terminal, buttons can be pressed\(lookedAt).",
            discussion: """
                Example: \(executableName) monitor --format json
                JSON is one line per view: {"turn":…,"instance":…,"view":…}. A store that is away is waited for.
                In a terminal a panel is drawn: Tab and arrows move, Enter presses, digits press a button, q leaves.\(hasPast ? past : "")
                """)
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, help: "text or json.")
    var format = OutputFormat.text

    @Flag(name: .long, help: "Print the current view and end; after 30s without one with an error.")
    var once = false

    func run() async throws {
        if !once { try endWithReader() }
        try await withClient(options, for: Types.self, patience: once ? nil : .forever) { [self] client in
            if once {
                guard let view = try await newestView(of: client) else { return }
                return try show(view)
            }
            let screen = LiveScreen()
            for await event in client.views() {
                switch event {
                case .view(let view):
                    if format == .text, RawTerminal.isThere {
                        let past = Self.hasPast ? PastViews(arguments: options.store.arguments) : nil
                        return try await PanelScreen(client: client, past: past, text: { try Types.screen(of: $0) }).run()
                    }
                    try show(view, on: screen)
                case .stale: printError("no sign of the store; the last view may be old")
                case .live, .resyncing, .idle: break
                }
            }
        }
    }

    private func show(_ view: StoreClient.View, on screen: LiveScreen? = nil) throws {
        switch format {
        case .json: printData(try viewJSON(view))
        case .text:
            if let screen, LiveScreen.isTerminal {
                screen.draw(try Types.screen(of: view.bytes))
            } else if screen != nil {
                printData(try Types.line(of: view.bytes))
            } else {
                printData(try Types.screen(of: view.bytes))
            }
        }
    }
}

struct ViewCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "view", abstract: "Prints the current view.",
            discussion: "Example: \(executableName) view --format text")
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, help: "text or json.")
    var format = OutputFormat.json

    @Option(name: .customLong("at-least"), parsing: .unconditional, help: "Wait for a view of at least this turn.")
    var atLeast = 0

    @Option(name: .long, help: "How long to wait for the store, and for the view. Default: 3s, and 30s.")
    var timeout: Seconds?

    func validate() throws {
        if let timeout { try timeout.requirePositive("--timeout") }
        if atLeast < 0 { throw ValidationError("--at-least \(atLeast) is no turn: they are numbered from 1") }
    }

    func run() async throws {
        try await withClient(options, for: Types.self, patience: timeout) { [self] client in
            guard let view = try await newestView(of: client, atLeast: atLeast, within: timeout) else { return }
            printData(format == .json ? try viewJSON(view) : try Types.screen(of: view.bytes))
        }
    }
}
