import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire

struct JournalListCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "Prints the turns of a journal: time, kind, origin, content.",
            discussion: """
                Example: \(executableName) journal list --last 20
                         \(executableName) journal list --from 100 --to 120
                         \(executableName) journal list --batches
                """)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, parsing: .unconditional, help: "The first turn to print. Default: the first there is.") var from: Int?
    @Option(name: .long, parsing: .unconditional, help: "The last turn to print. Default: the last there is.") var to: Int?
    @Option(name: .long, parsing: .unconditional, help: "Print the newest turns, so many.") var last: Int?
    @Flag(name: .long, help: "Print the batches in which turns became durable instead of the turns.") var batches = false
    @Option(name: .long, help: "text, or json for one object per line.") var format = OutputFormat.text

    func validate() throws {
        if let from, from < 1 { throw ValidationError("--from \(from) is no turn: they are numbered from 1") }
        if let to, to < from ?? 1 { throw ValidationError("--to \(to) is before --from \(from ?? 1)") }
        if let last, last < 1 { throw ValidationError("--last \(last) is no number of turns: at least 1") }
        if last != nil, from != nil || to != nil { throw ValidationError("--last goes without --from and --to") }
    }

    func run() async throws {
        let journal = try options.settings().servedJournal(for: Types.self)
        let turns = last.map { JournalListing.Selection.newest($0) } ?? .turns((from ?? 1)...(to ?? .max))
        let format = format
        let extent =
            if batches {
                try await JournalListing.batches(in: journal, turns) { printData(Self.line(of: $0, format)) }
            } else {
                try await JournalListing.records(in: journal, turns) { printData(Self.line(of: $0, format)) }
            }
        if let place = extent.moved {
            printError("note: the journal was moved to \(escapeForTerminal(place)), and is closed for good")
        }
        if let from, from > extent.last {
            printError("note: the journal ends at turn \(extent.last)")
        } else if let to, to < extent.first {
            printError("note: the journal begins at turn \(extent.first)")
        }
    }

    private static func line(of batch: JournalListing.BatchEntry, _ format: OutputFormat) -> String {
        switch format {
        case .text: "\(turnsText(batch.first, batch.last))  \(batch.bytes) bytes"
        case .json:
            JSONTranscoder.text(
                of: ["first": .int(Int64(batch.first)), "last": .int(Int64(batch.last)), "bytes": .int(Int64(batch.bytes))])
        }
    }

    private static func line(of record: Record, _ format: OutputFormat) -> String {
        let time = instantText(of: record.time)
        switch format {
        case .text:
            let detail = record.detail == .nil ? "" : "  " + ViewText.line(of: record.detail)
            let sender = record.senderText.map { " by \($0)" } ?? ""
            return "\(record.turn)  \(time)  \(record.kind)  \(record.originText)\(sender)\(detail)"
        case .json:
            return JSONTranscoder.text(
                of: [
                    "turn": .int(Int64(record.turn)), "time": .string(time), "kind": .string(record.kind),
                    "origin": .string(record.originText), "root": .int(Int64(record.root)),
                    "instance": .string(record.instance.key), "sender": record.senderText.map { .string($0) } ?? .nil,
                    "detail": record.detail,
                ])
        }
    }
}
