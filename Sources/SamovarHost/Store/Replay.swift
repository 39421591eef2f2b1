import Journal
import JournalChain
public import Logging
public import SamovarCore
public import SamovarStore

/// What a journal says a program's state was, as of a turn. It changes nothing, and a store may be running on the journal.
public struct Replay<P: Program>: Sendable {
    /// Of the journal.
    public let timeline: Timeline
    /// The turn that was asked for, or the last.
    public let turn: Int
    /// In MessagePack.
    public let state: [UInt8]
    /// In MessagePack.
    public let view: [UInt8]

    /// - Parameters:
    ///   - turn: nil for the last.
    ///   - engine: `TypedEngine(P.self, secret: secret)` where the program is known, which makes it several times as fast.
    /// - Throws: `StoreError` if the journal cannot be read, names the program of another folder, or ends before the turn.
    public static func run(
        _ program: P.Type = P.self, of location: JournalLocation, through turn: Int?, logger: Logger,
        engine: @escaping @Sendable (Secret) -> any ProgramEngine = { TypedEngine(P.self, secret: $0) }
    ) async throws -> Replay {
        try await onThread("samovar-replay") {
            let opened = try OpenedJournal(reading: location)
            defer { opened.close() }
            try opened.requireProgram(of: engine(opened.secret))
            for warning in opened.journal.warnings { logger.warning("\(warning)") }
            guard turn ?? 0 <= opened.journal.last else {
                throw StoreError(.configuration, "the journal in \(location) ends at turn \(opened.journal.last)")
            }
            var accepted = AcceptedDivergences()
            let machine = try opened.recover(through: turn ?? .max, accepting: &accepted) {
                opened.machine(engine(opened.secret))
            } note: {
                logger.warning("\($0)")
            }
            if machine.replayed.uncompared > 0 { logger.warning("\(OpenedJournal.ofOlder)") }
            guard machine.head > 0 else {
                throw StoreError(.configuration, "the journal in \(location) has no turn yet: its store never came to serve")
            }
            return Replay(
                timeline: opened.timeline, turn: machine.head, state: try machine.stateBytes(), view: try machine.viewBytes())
        }
    }
}
