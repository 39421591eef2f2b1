import ArgumentParser
import SamovarHost
import SamovarText

struct JournalSalvageCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "salvage",
            abstract: "Goes on after damage: keeps what is sound as a new timeline, and archives the rest.",
            discussion: """
                Example: \(executableName) journal salvage --upto 1200
                         \(executableName) journal salvage --upto 1200 --accept-loss
                Without --accept-loss it only says what would be lost. Nothing is deleted: the old journal goes to the folder archive.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, parsing: .unconditional, help: "The last turn to keep. Default: as much as is sound.")
    var upto: Int?
    @Flag(name: .customLong("accept-loss"), help: "Do it.") var acceptLoss = false

    func validate() throws {
        if let upto, upto < 1 { throw ValidationError("--upto \(upto) is no turn: they are numbered from 1") }
    }

    func run() async throws {
        let journal = try options.settings().namedJournal(for: Types.self)
        let salvage = try await JournalSalvage.run(journal, upTo: upto, accept: acceptLoss)
        if salvage.wasResumed {
            printData("Ended a replacement of the journal that was cut short: it has the turns up to \(salvage.kept).")
        } else {
            printData(Self.text(of: salvage))
        }
        guard let result = salvage.result else {
            throw CommandFailure(.usage, "nothing was changed; say --accept-loss to do it")
        }
        printData("The timeline is \(result.timeline).")
        if let archive = result.archive { printData("The old journal is in \(archive).") }
    }

    private static func text(of salvage: JournalSalvage) -> String {
        var lines = salvage.problems.map { "problem: \($0)" }
        let (kept, witnessed, readable) = (salvage.kept, salvage.witnessed, salvage.readable)
        let timeline = salvage.isWhole ? "the same timeline" : "a new timeline"
        if let rest = salvage.rest {
            let records = rest.first > kept ? "" : ", and the records of \(turnsText(rest.first, kept))"
            lines.append(
                """
                Kept: the state after turn \(rest.snapshot), which is a snapshot\(records), as \(timeline).
                Not kept: the records of the turns before. What came of them is in the snapshot; what can be read of them stays in the archive.
                """)
            if salvage.isWhole { return lines.joined(separator: "\n") }
        } else {
            lines.append("Kept: the turns up to \(kept), as \(timeline).")
        }
        if !salvage.hasSoundFacts {
            lines.append(
                """
                Kept as they stand: secret, program and seed. One of them may not be what was written: run `verify` before you serve.
                """)
        }
        if witnessed > kept {
            lines.append("Lost: \(turnsText(kept + 1, witnessed)).")
        } else {
            lines.append("Lost: what there may have been after turn \(kept).")
        }
        if readable.count > 0 {
            lines.append(
                """
                  Of these, \(turnsText(kept + 1, readable.last)) can still be read: \(counted(readable.applied, "input")) applied and \
                \(readable.refused) refused, of \(counted(readable.clients.count, "client")); \(counted(readable.reopened, "effect")) closed.
                """)
        }
        if witnessed > max(kept, readable.last) {
            lines.append("  Nobody can say what was in \(turnsText(max(kept, readable.last) + 1, witnessed)).")
        }
        if let turn = salvage.lostSnapshot {
            lines.append(
                """
                  The state after turn \(turn) is in a snapshot that goes to the archive: a journal goes on only from one that its \
                batches reach.
                """)
        }
        lines.append(
            """
            What follows from it:
              Inputs of lost turns are not applied, even if their client was told so. A client that waits for an answer, or has not
              confirmed it, learns that its outcome is unknown; one that has heard it is not told again.
              Effects that lost turns closed are open again, and run again. Effects that lost turns ordered may have run; what they
              answer is not taken.
              Monitors go back to the view of turn \(kept).
            """)
        return lines.joined(separator: "\n")
    }
}
