import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

/// The outcome of `check`, for people and for scripts.
enum CheckText {
    static func text(of check: StartCheck, _ schema: Schema, _ folder: String) -> String {
        """
        \(check.problems.isEmpty ? "ok: this build goes on with" : "this build starts, but cannot read all of") \(folder)
          journal    \(counted(check.turn, "turn")) of timeline \(check.timeline)
          program    \(check.author == "\(schema)" ? check.author : "\(check.author), read as \(schema)")
          snapshot   \(check.snapshot.map { "turn \($0)" } ?? "none: every turn is replayed")
          replayed   \(replayed(check))
          effects    \(check.openEffects) open, \(check.deadEffects) dead
          outputs    \(check.outputs) kept for readers
          sessions   \(check.sessions)
        """
    }

    private static func replayed(_ check: StartCheck) -> String {
        let turns = counted(check.turn - (check.snapshot ?? 0), "turn")
        return check.replayed.compared + check.replayed.uncompared == 0
            ? turns : "\(turns): \(VerdictText.commands(check.replayed))"
    }

    /// Of a build that would not start.
    static func value(of refusal: CommandFailure) -> MessagePackValue {
        [
            "ok": .bool(false), "exit": .int(Int64(refusal.code.rawValue)),
            "problems": .array([.string(refusal.description)]),
        ]
    }

    static func value(of check: StartCheck, _ schema: Schema) -> MessagePackValue {
        [
            "ok": .bool(check.problems.isEmpty), "timeline": .string("\(check.timeline)"), "turns": .int(Int64(check.turn)),
            "writtenBy": .string(check.author), "program": .string("\(schema)"),
            "snapshot": check.snapshot.map { .int(Int64($0)) } ?? .nil,
            "commands": [
                "compared": .int(Int64(check.replayed.compared)), "uncompared": .int(Int64(check.replayed.uncompared)),
            ],
            "openEffects": .int(Int64(check.openEffects)), "deadEffects": .int(Int64(check.deadEffects)),
            "outputs": .int(Int64(check.outputs)), "sessions": .int(Int64(check.sessions)),
            "warnings": .array(check.warnings.map { .string($0) }), "problems": .array(check.problems.map { .string($0) }),
        ]
    }
}
