import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText

struct OutputsCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "outputs", abstract: "Prints what the program has emitted for others.",
            discussion: """
                Example: \(executableName) outputs --after 12/0 --follow
                One line of JSON per output: {"place":"TIMELINE/12/1","turn":12,"output":…}. The place of the last line is where
                --after goes on. Where outputs are missing the command ends, says so, and names the place behind them.
                """)
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, help: "The place after which to begin, as turn/ordinal or as a line names it. Default: the first.")
    var after: String?

    @Flag(name: .long, help: "Wait for those that come.")
    var follow = false

    func run() async throws {
        let place = try after.map { text throws(CommandFailure) in
            guard let place = OutputPlace(text) else {
                throw CommandFailure(.usage, "--after \(text) is no place of an output; write turn/ordinal, such as 12/0")
            }
            return place
        }
        if follow { try endWithReader() }
        try await withClient(options, for: Types.self, patience: follow ? .forever : nil) { [self] client in
            do {
                try await print(client.outputs(after: place ?? .start, waits: follow))
            } catch let gap as OutputGap {
                throw CommandFailure(.badData, "\(gap); go on with --after \(gap.next)")
            }
        }
    }

    private func print(_ outputs: PagedOutputs) async throws {
        var outputs = outputs
        while let (place, bytes) = try await outputs.next() {
            printData(
                JSONTranscoder.text(of: [
                    "place": .string("\(place)"), "turn": .int(Int64(place.id.turn)),
                    "output": try MessagePackValue(encoded: bytes),
                ]))
        }
    }
}
