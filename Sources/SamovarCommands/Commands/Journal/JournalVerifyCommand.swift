import ArgumentParser
import MessagePack
import SamovarHost
import SamovarText

struct JournalVerifyCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract: "Reads a whole journal and says whether it is sound; exit 65 if not.",
            discussion: """
                Example: \(executableName) journal verify
                It checks the chain over the batches, that each record can be read, that no turn is missing, the witnesses of the
                end, and the snapshots; exit 78 if only a newer build can read on. Whether the program still does what the journal
                says is told by a replay.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false

    func run() async throws {
        let journal = try options.settings().servedJournal(for: Types.self)
        let found = try await JournalExamination.run(journal)
        printData(json ? JSONTranscoder.text(of: Self.value(of: found)) : Self.text(of: found))
        for warning in found.warnings { printError("warning: \(warning)") }
        guard !found.isSound else { return }
        if let newer = found.newer {
            let advice = found.isDamaged ? "let `journal verify` of that one tell what can be kept" : "run that one"
            throw CommandFailure(
                .configuration,
                "only a newer build can read what follows turn \(newer.first - 1) of the journal in \(journal): \(advice)")
        }
        let help =
            found.rest.map {
                "the snapshot of turn \($0.snapshot) and what follows it up to turn \($0.last) can be kept: see `journal salvage`"
            }
            ?? found.salvageable.map { "turns up to \($0) can be kept: see `journal salvage`" }
            ?? "nothing can be kept: put a backup back, or archive it with --fresh"
        throw CommandFailure(.badData, "the journal in \(journal) is not sound; \(help)")
    }

    private static func text(of found: JournalExamination) -> String {
        var lines: [String] = []
        if let program = found.program { lines.append("program   \(escapeForTerminal(program))") }
        if let timeline = found.timeline { lines.append("timeline  \(timeline)") }
        if let ancestor = found.ancestor { lines.append("goes on from \(escapeForTerminal(ancestor))") }
        if let moved = found.moved { lines.append("moved to  \(escapeForTerminal(moved)), and closed for good") }
        let sound = found.sound < found.first ? "no turns" : turnsText(found.first, found.sound)
        lines.append("sound     \(sound) in \(found.batches) batches of \(found.bytes) bytes")
        for snapshot in found.snapshots {
            lines.append("snapshot  turn \(snapshot.turn): \(snapshot.problem.map { "cannot be used: \($0)" } ?? "sound")")
        }
        lines += found.problems.map { "problem   \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func value(of found: JournalExamination) -> MessagePackValue {
        // What can be kept, the newer build tells.
        let (salvageable, rest) = found.newer == nil ? (found.salvageable, found.rest) : (nil, nil)
        return [
            "sound": .bool(found.isSound),
            "program": found.program.map { .string($0) } ?? .nil,
            "timeline": found.timeline.map { .string("\($0)") } ?? .nil,
            "ancestor": found.ancestor.map { .string($0) } ?? .nil,
            "movedTo": found.moved.map { .string($0) } ?? .nil,
            "first": .int(Int64(found.first)),
            "last": .int(Int64(found.sound)),
            "witnessed": .int(Int64(found.witnessed)),
            "batches": .int(Int64(found.batches)),
            "bytes": .int(Int64(found.bytes)),
            "newerBuild": found.newer.map { .string($0.problem) } ?? .nil,
            "salvageable": salvageable.map { .int(Int64($0)) } ?? .nil,
            "salvageableFromSnapshot": rest.map { .int(Int64($0.snapshot)) } ?? .nil,
            "snapshots": .array(
                found.snapshots.map {
                    ["turn": .int(Int64($0.turn)), "problem": $0.problem.map { .string($0) } ?? .nil]
                }),
            "problems": .array(found.problems.map { .string($0) }),
        ]
    }
}
