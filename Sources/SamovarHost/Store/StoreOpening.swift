import CrashPoints
import Journal
import JournalChain
import MessagePack
public import SamovarCore
public import SamovarProtocol
import SQLiteJournal

/// What a store needs to start.
public struct StoreConfiguration: Sendable {
    /// Where the journal is; created if it is not there.
    public var dataFolder: String
    /// Where its sockets are.
    public var endpoint: Endpoint
    /// The seed in MessagePack; nil takes the data folder's own, or for a new one the empty map.
    public var seed: [UInt8]?
    /// Names the build in the journal.
    public var build: String
    /// Archive the timeline that the data folder has, and begin another.
    public var isFresh: Bool
    /// Turns at which this build may order something else than the journal says; see docs/journal.md.
    public var acceptedDivergences: Set<Int>
    /// The folder with the keys of the store and of those who come over the network; see `docs/security.md`. Nil for none: then only this
    /// machine gets in.
    public var keysFolder: String?
    /// Listen on TCP although there are no keys: every user of the machine can then send, work and watch.
    public var allowsInsecureTCP: Bool
    /// How many of the newest turns the journal keeps at least, once snapshots stand for the others; nil keeps all.
    public var retain: Int?
    /// How long the connections stay after GOODBYE for those who have not closed theirs.
    public var goodbye = Duration.seconds(1)
    /// Hears how much work waits.
    public var backlogObserver: BacklogObserver? {
        didSet { settings.backlogInterval = backlogObserver?.interval }
    }
    /// All other limits and times.
    public var settings: StoreSettings

    /// A store of this data folder at this endpoint.
    public init(
        dataFolder: String, endpoint: Endpoint, seed: [UInt8]? = nil, build: String = "", isFresh: Bool = false,
        acceptedDivergences: Set<Int> = [], allowsInsecureTCP: Bool = false, retain: Int? = nil,
        settings: StoreSettings = StoreSettings()
    ) {
        self.dataFolder = dataFolder
        self.endpoint = endpoint
        self.seed = seed
        self.build = build
        self.isFresh = isFresh
        self.acceptedDivergences = acceptedDivergences
        self.allowsInsecureTCP = allowsInsecureTCP
        self.retain = retain
        self.settings = settings
    }

    /// - Throws: `StoreError` for an endpoint where a store does not listen, or that is open to everybody without consent to that.
    func requireSafeEndpoint() throws(StoreError) {
        do {
            try endpoint.requireListening(hasKeys: keysFolder != nil, allowsInsecure: allowsInsecureTCP)
        } catch {
            throw StoreError(.configuration, "\(error)")
        }
    }
}

/// A data folder, opened and locked: the journal and what it says of itself.
struct OpenedJournal: Sendable {
    let folder: DataFolder
    let journal: SQLiteJournal
    let timeline: Timeline
    let secret: Secret
    /// The seed of the timeline; nil if the journal is new.
    let seed: [UInt8]?

    enum Fact {
        static let timeline = "timeline"
        static let secret = "secret"
        static let seed = "seed"
        static let program = "program"
        /// For people: which turn of which timeline this one goes on from.
        static let ancestor = "ancestor"
    }

    /// Waits for the lock of a folder, which is made if it is to be written. A journal that is there is not changed before
    /// ``beginWriting(_:)``.
    init(
        _ path: String, access: SQLiteJournal.Access = .readOnly, isFresh: Bool = false, wait: Duration = .seconds(5),
        waiting: (String) -> Void = sayOnStandardError
    ) throws(StoreError) {
        do {
            folder = try DataFolder(at: path, creating: access == .readWrite, wait: wait, waiting: waiting)
            if isFresh { try folder.archive() }
            journal = try SQLiteJournal(in: folder, access: access)
            timeline = try Self.identity(in: journal, Fact.timeline) ?? .random()
            let key = try Self.identity(in: journal, Fact.secret) ?? .random()
            secret = Secret(high: key.high, low: key.low)
            seed = try journal.fact(Fact.seed)
        } catch {
            throw StoreError(error)
        }
    }

    private static func identity(in journal: SQLiteJournal, _ name: String) throws(JournalError) -> UniqueID? {
        guard let bytes = try journal.fact(name) else { return nil }
        guard let id = UniqueID(bytes: bytes) else {
            throw JournalError(.damaged, "The journal's \(name) has \(bytes.count) bytes, not 16.")
        }
        return id
    }

    /// Another program's journal would replay to nonsense; so would one of another version of its types, unless there are migrations
    /// from there.
    func requireProgram(of engine: any ProgramEngine) throws(StoreError) {
        let schema = engine.schema
        guard let text = try author(), text != schema.description else { return }
        let found = "\(folder.path) holds the journal of \(text); this program is \(schema)"
        let prefix = "\(schema.name) version "
        guard text.hasPrefix(prefix), let version = Int(text.dropFirst(prefix.count)) else {
            throw StoreError(.configuration, found)
        }
        guard version < schema.version else {
            throw StoreError(.configuration, "\(found), which is older: run the newer program, or begin anew with --fresh")
        }
        guard version >= engine.oldestReadableVersion else {
            throw StoreError(
                .configuration,
                "\(found), and has no migration from version \(version): add one to `migrations`, or begin anew with --fresh")
        }
    }

    /// Name and version of the program whose journal it is; nil if it is new.
    func author() throws(StoreError) -> String? {
        try StoreError.replacing { () throws(JournalError) in
            try journal.fact(Fact.program).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// A timeline has one seed, which another does not replace.
    func requireSeed(_ given: [UInt8]?) throws(StoreError) {
        guard let given, let seed, given != seed else { return }
        throw StoreError(
            .configuration,
            "\(folder.path) was begun with another seed; go on without --seed, archive it with --fresh, or name another folder with --data"
        )
    }

    /// Has a machine that knows the journal write the record of a start.
    ///
    /// - Parameter given: the seed of a new timeline; nil for the empty map, which is what a seed without fields looks like.
    /// - Returns: the seed of the timeline.
    func start(
        _ machine: inout StoreMachine, seed given: [UInt8]?, accepting divergences: [Divergence], now: Timestamp
    ) throws(StoreError) -> [UInt8] {
        let begin = given ?? seed ?? [0x80]
        do {
            try machine.start(seed: begin, now: now, accepting: divergences)
        } catch {
            throw StoreError(.configuration, "cannot begin: \(error)\(given == nil ? "; give a seed with --seed" : "")")
        }
        return begin
    }

    func beginWriting(_ page: TrapPage) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in try journal.beginWriting() }
        journal.mark(in: page.memory)
    }

    /// From here on the journal is one of this version, which an older one cannot read.
    func adopt(_ schema: Schema) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in
            guard let known = try journal.fact(Fact.program), known != Array(schema.description.utf8) else { return }
            try journal.record(Array(schema.description.utf8), as: Fact.program)
        }
    }

    /// Records what a new journal must know of itself, before its first turn.
    func establish(_ schema: Schema, seed: [UInt8]) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in
            try journal.record(timeline.bytes, as: Fact.timeline)
            try journal.record(UniqueID(high: secret.high, low: secret.low).bytes, as: Fact.secret)
            try journal.record(Array(schema.description.utf8), as: Fact.program)
            try journal.record(seed, as: Fact.seed)
        }
    }

    /// Brings a machine to the state of the journal's last turn: newest readable snapshot, then the later batches.
    ///
    /// - Parameters:
    ///   - accepted: the divergences that are accepted in the journal or by the caller.
    ///   - proceed: asked before each batch, and may throw to give up.
    /// - Throws: `StoreError`; of a divergence that nobody accepts, with a report of it.
    func recover(
        through last: Int = .max, accepting accepted: inout AcceptedDivergences, _ make: () -> StoreMachine,
        note: (String) -> Void, proceed: () throws(JournalError) -> Void = { () throws(JournalError) in }
    ) throws(StoreError) -> StoreMachine {
        while true {
            do {
                return try replay(through: last, accepted.terms, make, note: note, proceed: proceed)
            } catch {
                guard let divergence = (error as? ReplayError)?.divergence else { throw failure(error) }
                guard try isCovered(divergence, by: &accepted) else {
                    throw StoreError(divergence: try report(on: divergence, make), isFickle: accepted.isFresh(divergence))
                }
            }
        }
    }

    private func replay(
        through last: Int, _ terms: ReplayTerms, _ make: () -> StoreMachine, note: (String) -> Void,
        proceed: () throws(JournalError) -> Void
    ) throws -> StoreMachine {
        if journal.first > 1, last < journal.first - 1 {
            throw StoreError(
                .configuration,
                "turn \(last) is not kept any more: the journal in \(folder.path) was trimmed up to turn \(journal.first - 1) (`--retain`)"
            )
        }
        let machine = try journal.recover(through: last) {
            var machine = make()
            machine.terms = terms
            return machine
        } restore: { (machine: inout StoreMachine, snapshot) in
            do {
                try machine.restore(snapshot: snapshot.bytes)
            } catch let error as MigrationError {
                // Without it, turns of the older version would be computed again, which orders what `update` says now.
                throw Refused(
                    error: StoreError(
                        .configuration, "the snapshot of turn \(snapshot.turn) in \(folder.path) cannot be migrated: \(error)"))
            }
        } replay: { (machine: inout StoreMachine, batch) in
            try proceed()
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last)
            CrashPoint.pass(.storeDuringRecovery)
        } note: {
            note($0)
        }
        if last >= journal.last { try machine.requireEndOfGroup() }
        return machine
    }

    private func failure(_ error: any Error) -> StoreError {
        switch error {
        case let refused as Refused: refused.error
        case is MissingBeginning:
            StoreError(
                .damaged,
                "none of the snapshots in \(folder.path) can be used, and the turns before \(journal.first) are not kept any more (`--retain`)"
            )
        case let error as TrapError: StoreError(.program, "the journal in \(folder.path) cannot be replayed: \(error)")
        default: StoreError(reading: error, in: folder.path)
        }
    }
}

/// What ends a recovery, whatever other snapshots there are.
private struct Refused: UnmendableError {
    let error: StoreError
}

extension StoreError {
    /// Runs `body`, whose errors become those of a store.
    static func replacing<Result>(_ body: () throws(JournalError) -> Result) throws(StoreError) -> Result {
        do {
            return try body()
        } catch {
            throw StoreError(error)
        }
    }

    init(_ error: JournalError) {
        let code: Code =
            switch error.code {
            case .busy, .fenced: .busy
            case .damaged: .damaged
            case .format, .missing: .configuration
            default: .inputOutput
            }
        // What a salvage can do is said where it is needed.
        let hint = error.code == .damaged ? " `journal verify` tells what is left, `journal salvage` goes on with that." : ""
        self.init(code, "\(error)\(hint)")
    }
}

/// Why a store did not start or had to end, in one sentence for a person.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it is, from which commands take their exit code.
    public enum Code: Sendable {
        /// A setting or a seed that does not fit.
        case configuration
        /// Another store has the data folder.
        case busy
        /// The journal is damaged, or tells another story than the program.
        case damaged
        /// The disk or the sockets failed.
        case inputOutput
        /// The program does not survive its own journal, or the journal lost its tail. Another start cannot help.
        case program
        /// A group of turns broke a limit. The next start knows why this one ended, and takes that item alone or not at all.
        case again
    }

    /// What kind of trouble it is, for code.
    public let code: Code
    /// What is wrong and what to do, for a person.
    public let description: String
    /// What was ordered and what is ordered now, if a replay found that these are not the same and nobody has accepted it.
    public let divergence: DivergenceReport?

    /// An error of this kind.
    public init(_ code: Code, _ description: String) {
        self.init(code, description, divergence: nil)
    }

    init(_ code: Code, _ description: String, divergence: DivergenceReport?) {
        self.code = code
        self.description = description
        self.divergence = divergence
    }
}
