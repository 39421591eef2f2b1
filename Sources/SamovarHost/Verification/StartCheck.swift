import Journal
import JournalChain
import MessagePack
public import SamovarCore
public import SamovarStore
import SamovarWire

/// Whether a store of this build would start on a data folder, and whether all that it takes over can be read.
///
/// It does in memory what a start does up to its first record, and then reads what is left to workers and readers: the effects that are
/// open or dead, and the outputs that nobody has confirmed. Nothing is changed. The folder's lock is taken, so no store may be running
/// on it; of one that runs, a copy is checked, which ends with a snapshot of its last turn as an orderly stop does.
public struct StartCheck: Sendable {
    /// Of the journal.
    public let timeline: Timeline
    /// Name and version of the program that has written the journal last.
    public let author: String
    /// The last turn.
    public let turn: Int
    /// The turn of the snapshot that was read; nil if all turns were replayed.
    public let snapshot: Int?
    /// Of the turns after the snapshot.
    public let replayed: ReplayCounts
    /// Open effects, those of sources included.
    public let openEffects: Int
    /// Effects that have failed for good.
    public let deadEffects: Int
    /// Clients that the store knows.
    public let sessions: Int
    /// Outputs that are kept for readers.
    public let outputs: Int
    /// What a start would log: snapshots that it passes over, say.
    public let warnings: [String]
    /// What a start takes as it is, and a worker or a reader could not read. In sentences; empty if all is well.
    public let problems: [String]

    /// Whether the state was read as an orderly stop leaves it: from a snapshot of the last turn.
    public var hasReadState: Bool { snapshot == turn }

    /// - Parameters:
    ///   - configuration: of the store that is to start.
    ///   - wait: how long to wait for the folder's lock.
    ///   - engine: as a store's.
    /// - Throws: `StoreError`, which a start would throw.
    public static func run<P: Program>(
        _ program: P.Type = P.self, _ configuration: StoreConfiguration, wait: Duration = .seconds(5),
        engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine
    ) async throws -> StartCheck {
        try await onThread("samovar-check") {
            try configuration.requireSafeEndpoint()
            _ = try configuration.keys()
            let opened = try OpenedJournal(reading: configuration.journal, wait: wait)
            defer { opened.close() }
            try opened.requireNotMoved(configuration.journal)
            try opened.requireProgram(of: engine(opened.secret, configuration.settings.group))
            try opened.requireSeed(configuration.seed)
            return try StartCheck(P.self, of: opened, configuration, engine)
        }
    }

    private init<P: Program>(
        _ program: P.Type, of opened: OpenedJournal, _ configuration: StoreConfiguration,
        _ engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine
    ) throws(StoreError) {
        var accepted = AcceptedDivergences(requested: configuration.acceptedDivergences)
        var notes = opened.journal.warnings
        var machine = try opened.recover(accepting: &accepted) {
            opened.machine(
                engine(opened.secret, configuration.settings.group), settings: configuration.settings, build: configuration.build)
        } note: {
            notes.append($0)
        }
        (timeline, turn) = (opened.timeline, machine.head)
        author = try opened.author() ?? "\(machine.schema)"
        snapshot = machine.restored > 0 ? machine.restored : nil
        replayed = machine.replayed
        let kept = machine.keptOutputs
        (openEffects, deadEffects, outputs) = (machine.openEffects.count, machine.deadEffects.count, kept.count)
        sessions = machine.books.sessions.count
        // The program is asked for its subscriptions and its view now, and may refuse the seed of a new timeline.
        _ = try opened.start(&machine, seed: configuration.seed, accepting: accepted.fresh, now: HostClock().now())
        do {
            _ = try machine.viewBytes()
        } catch {
            throw StoreError(.program, "the view cannot be made: \(error)")
        }
        warnings = notes
        // Of a source that this build does not want any more, its start has made an end.
        let effects = machine.openEffects + machine.deadEffects.map(\.effect)
        problems =
            Self.unreadable(effects.map { ("effect \($0.id)", $0.payload) }, as: P.Effect.self, "effects")
            + Self.unreadable(kept.map { ("output \($0.id)", $0.bytes) }, as: P.Output.self, "outputs")
    }

    /// At most so many values are told of one by one.
    private static let shown = 5

    private static func unreadable<Value: Decodable>(
        _ values: [(name: String, bytes: [UInt8])], as type: Value.Type, _ what: String
    ) -> [String] {
        let decoder = MessagePackDecoder(lenient: true, refusingUnknownFields: false)
        let found = values.compactMap { name, bytes -> String? in
            do {
                _ = try decoder.decode(type, from: bytes)
                return nil
            } catch {
                return "\(name) cannot be read by this build: \(describe(decodingFailure: error, of: type))"
            }
        }
        let rest = found.count - shown
        return found.prefix(shown) + (rest > 0 ? ["and \(rest) more \(what)"] : [])
    }
}
