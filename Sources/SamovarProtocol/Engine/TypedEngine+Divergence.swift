import DequeModule
public import SamovarCore

/// A replayed turn that orders something else than it did.
extension TypedEngine {
    /// What a turn orders is not what the journal says, or it shall be shown: ends the replay, unless it was accepted.
    @usableFromInline
    func diverge(
        _ record: Record, _ turn: Turn, _ command: Command<P>, message: [UInt8], recorded: UInt64
    ) throws(ReplayError) {
        let command = sink.divergence(command, of: turn, message: message, recorded: recorded)
        if terms.shown == record.turn { throw ReplayError(turn: record.turn, "the replay was to end here", command) }
        // So it is with each turn that a build before `CommandHash` wrote.
        if command.hash == recorded { return }
        guard terms.accepts(command) else {
            throw ReplayError(
                turn: record.turn, "`update` returns another command than it did: it has changed or is not deterministic",
                command)
        }
        excused.insert(record.turn)
        sink.group.forgetFollowUps()
    }
}
