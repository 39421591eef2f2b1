import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

struct DiffCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "diff", abstract: "Prints what differs between the states, or the views, of two turns.",
            discussion: """
                Example: \(executableName) diff 100 120
                         \(executableName) diff 100 --view
                One line for each part: `state.counts["red"]: 1 → 2`. Elements of sequences are compared with those that they were: what was \
                inserted at the front is one line. Works beside a running store, too.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Argument(help: "The turn with which is compared.") var before: Int
    @Argument(help: "The turn that is compared. Default: the newest.") var after: Int?
    @Flag(name: .long, help: "Compare the views instead of the states.") var view = false
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text

    func validate() throws {
        for turn in [before, after] {
            if let turn, turn < 1 { throw ValidationError("\(turn) is no turn: they are numbered from 1") }
        }
    }

    func run() async throws {
        let (before, after, root) = (before, after, view ? ValuePath.Root.view : .state)
        let (turn, changes) = try await StorePast<App>.read(try options.settings(), "diff") { past in
            let after = after ?? past.span.known.upperBound
            // In their order, so that the second is reached from the first.
            var values: [Int: [UInt8]] = [:]
            for turn in [before, after].sorted() where values[turn] == nil {
                try past.move(to: turn)
                values[turn] = try root == .view ? past.view() : past.state()
            }
            return (after, try ValueChanges(from: values[before] ?? [], to: values[after] ?? [], at: ValuePath(root: root)))
        }
        switch format {
        case .json:
            printData(
                JSONTranscoder.text(
                    of: [
                        "before": .int(Int64(before)), "after": .int(Int64(turn)), "changes": changes.value,
                        "isCut": .bool(changes.isCut),
                    ]))
        case .text:
            for line in changes.lines { printData(line) }
            if changes.lines.isEmpty { printError("the \(root)s of turns \(before) and \(turn) are equal") }
        }
    }
}
