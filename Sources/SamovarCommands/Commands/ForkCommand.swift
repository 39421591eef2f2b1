import ArgumentParser
import Foundation
import SamovarCore
import SamovarHost
import SamovarText

struct ForkCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "fork", abstract: "Makes a data folder of its own that goes on from a turn of the past.",
            discussion: """
                Example: \(executableName) fork --turn 811 /tmp/before
                         \(executableName) up --data /tmp/before
                It is another timeline, with the same past; the journal stays as it is. Sessions of clients are over in it, and timers go on. \
                Effects that were open at that turn are dead in it, until `effects --requeue` starts them: their keys are others, so that \
                nobody could tell that they were done before. With --effects run they are open.
                """)
    }

    enum Effects: String, ExpressibleByArgument, CaseIterable {
        case hold, run
    }

    @OptionGroup var options: StoreOptions
    @Argument(help: "A folder that is not there yet.") var folder: String
    @Option(name: .long, parsing: .unconditional, help: "The last turn that the two have in common.") var turn: Int
    @Option(name: .long, help: "hold, or run for those that are open.") var effects = Effects.hold

    func validate() throws {
        if turn < 1 { throw ValidationError("--turn \(turn) is no turn: they are numbered from 1") }
    }

    func run() async throws {
        guard !FileManager.default.fileExists(atPath: folder) else {
            throw CommandFailure(.usage, "\(folder) exists already; name a new folder for the fork")
        }
        let (turn, folder, holds) = (turn, folder, effects == .hold)
        let fork = try await StorePast<App>.read(try options.settings(), "fork") { past in
            try past.fork(at: turn, to: folder, holdsEffects: holds)
        }
        if fork.turn > turn {
            printError("turn \(turn) is part of a group, which is not taken apart: it ends with turn \(fork.turn)")
        }
        printData("Forked turn \(fork.turn) into \(folder) as timeline \(fork.timeline).")
        if fork.sessions > 0 { printData("Sessions of clients that are over there: \(fork.sessions).") }
        guard fork.effects > 0 else { return }
        let help = "; once a store has it, `\(executableName) effects --requeue --all --data \(shellWord(folder))` starts them"
        printData("Effects that are \(holds ? "held" : "open"): \(fork.effects)\(holds ? help : "").")
    }
}
