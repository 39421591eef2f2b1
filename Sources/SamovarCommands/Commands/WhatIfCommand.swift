import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

struct WhatIfCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "whatif", abstract: "Says what would have been, had some turns been others, or not at all.",
            discussion: """
                Example: \(executableName) whatif --remove 812
                         \(executableName) whatif --replace '812={"count":{"name":"tea","by":-1}}' --view
                         \(executableName) whatif --after 811=increment --after 811=increment --to 900
                All other turns keep their numbers and times, and so what is random in them. Inputs go through `accept` again; what a worker has \
                answered counts if the same effect is ordered again; a timer fires if it is due; follow-ups are derived anew. No worker runs, \
                and nothing is written. It prints what falls away and what is new, what was assumed, and the difference of the states.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, help: "A turn that shall not have happened. May be given again.") var remove: [Int] = []
    @Option(name: .long, help: "TURN=JSON: what shall have come instead, an input or a message. May be given again.")
    var replace: [String] = []
    @Option(name: .long, help: "TURN=JSON: an input that shall have come after it and what followed from it. May be given again.")
    var after: [String] = []
    @Option(name: .long, parsing: .unconditional, help: "The last turn to look at. Default: the newest.") var to: Int?
    @Flag(name: .long, help: "Compare the views instead of the states.") var view = false
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text

    func validate() throws {
        if let to, to < 1 { throw ValidationError("--to \(to) is no turn: they are numbered from 1") }
        _ = try supposition()
    }

    private func supposition() throws -> Supposition {
        var supposition = Supposition(removed: Set(remove))
        for turn in remove where turn < 2 { throw ValidationError("--remove \(turn): turn 1 is the start, and stays") }
        for text in replace {
            let (turn, value) = try Self.change(text, "--replace")
            guard turn > 1 else { throw ValidationError("--replace \(turn): turn 1 is the start, and stays") }
            guard supposition.replaced[turn] == nil else { throw ValidationError("--replace \(turn) is given twice") }
            supposition.replaced[turn] = value
        }
        for text in after {
            let (turn, value) = try Self.change(text, "--after")
            guard turn > 0 else { throw ValidationError("--after \(turn): turns are numbered from 1") }
            supposition.inserted[turn, default: []].append(value)
        }
        return supposition
    }

    /// `TURN=JSON`.
    private static func change(_ text: String, _ option: String) throws -> (turn: Int, value: [UInt8]) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let turn = Int(parts[0]) else {
            throw ValidationError("\(option) “\(text)” is not TURN=JSON, such as 12=increment")
        }
        do throws(JSONError) {
            return (turn, try JSONTranscoder.parseArgument(String(parts[1])).encoded)
        } catch {
            throw ValidationError("\(option) \(turn): what comes after = is no JSON: \(error)")
        }
    }

    func run() async throws {
        let (supposition, to, root) = (try supposition(), to, view ? ValuePath.Root.view : .state)
        let result: WhatIf
        do {
            result = try await StorePast<App>.read(try options.settings(), "whatif") { past in
                try past.whatIf(supposition, through: to ?? past.span.known.upperBound)
            }
        } catch let error as SuppositionError {
            throw CommandFailure(.usage, "\(error)")
        }
        let pair = view ? result.views : result.states
        let changes = try ValueChanges(from: pair.was, to: pair.wouldBe, at: ValuePath(root: root))
        switch format {
        case .json:
            var value = result.value
            value["changes"] = changes.value
            value["isCut"] = .bool(changes.isCut)
            printData(JSONTranscoder.text(of: value))
        case .text:
            for line in result.lines { printData(line) }
            printData("\(root) after turn \(result.last):")
            for line in changes.lines.isEmpty ? ["as it was"] : changes.lines { printData("  \(line)") }
        }
    }
}
