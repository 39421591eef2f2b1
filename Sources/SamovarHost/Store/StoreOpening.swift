import CrashPoints
import Journal
import MessagePack
import SamovarCore
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
    /// Listen on TCP although there are no keys: every user of the machine can then send, work and watch.
    public var allowsInsecureTCP: Bool
    /// How many of the newest turns the journal keeps at least, once snapshots stand for the others; nil keeps all.
    public var retain: Int?
    /// How long the connections stay after GOODBYE for those who have not closed theirs.
    public var goodbye = Duration.seconds(1)
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

    /// Opens a folder that is there, to read it, and waits up to 5 s for its lock.
    init(reading path: String, waiting: (String) -> Void = sayOnStandardError) throws(StoreError) {
        try self.init(path, isFresh: false, creating: false, access: .readOnly, waiting: waiting)
    }

    /// Opens or makes the folder and waits up to 5 s for its lock. A journal that is there is not changed before ``beginWriting(_:)``.
    init(at path: String, isFresh: Bool, waiting: (String) -> Void) throws(StoreError) {
        try self.init(path, isFresh: isFresh, creating: true, access: .readWrite, waiting: waiting)
    }

    private init(
        _ path: String, isFresh: Bool, creating: Bool, access: SQLiteJournal.Access, waiting: (String) -> Void
    ) throws(StoreError) {
        do {
            folder = try DataFolder(at: path, creating: creating, waiting: waiting)
            if isFresh { _ = try folder.archive() }
            journal = try SQLiteJournal(in: folder, access: access)
            let identity = try Self.identity(in: journal, Fact.timeline)
            let key = try Self.identity(in: journal, Fact.secret)
            timeline = identity ?? .random()
            let fresh = key ?? .random()
            secret = Secret(high: fresh.high, low: fresh.low)
            seed = try journal.fact(Fact.seed)
        } catch {
            throw StoreError(error)
        }
    }

    private static func identity(in journal: SQLiteJournal, _ name: String) throws(JournalError) -> UniqueID? {
        guard let bytes = try journal.fact(name) else { return nil }
        guard let id = UniqueID(fact: bytes) else {
            throw JournalError(.damaged, "The journal's \(name) has \(bytes.count) bytes, not 16.")
        }
        return id
    }

    /// Another program's journal would replay to nonsense; so would one of another version of its types, unless there are migrations
    /// from there.
    func requireProgram(of engine: any ProgramEngine) throws(StoreError) {
        let known: [UInt8]?
        do {
            known = try journal.fact(Fact.program)
        } catch {
            throw StoreError(error)
        }
        let schema = engine.schema
        guard let known, known != Array(schema.description.utf8) else { return }
        let text = String(decoding: known, as: UTF8.self)
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

    func beginWriting(_ page: TrapPage) throws(StoreError) {
        do {
            try journal.beginWriting()
        } catch {
            throw StoreError(error)
        }
        journal.mark(in: page.memory)
    }

    /// From here on the journal is one of this version, which an older one cannot read.
    func adopt(_ schema: Schema) throws(StoreError) {
        do {
            guard let known = try journal.fact(Fact.program), known != Array(schema.description.utf8) else { return }
            try journal.record(Array(schema.description.utf8), as: Fact.program)
        } catch {
            throw StoreError(error)
        }
    }

    /// Records what a new journal must know of itself, before its first turn.
    func establish(_ schema: Schema, seed: [UInt8]) throws(StoreError) {
        do {
            try journal.record(timeline.factBytes, as: Fact.timeline)
            try journal.record(UniqueID(high: secret.high, low: secret.low).factBytes, as: Fact.secret)
            try journal.record(Array(schema.description.utf8), as: Fact.program)
            try journal.record(seed, as: Fact.seed)
        } catch {
            throw StoreError(error)
        }
    }

    /// Brings a machine to the state of the journal's last turn: newest readable snapshot, then the later batches.
    ///
    /// - Parameter proceed: asked before each batch, and may throw to give up.
    func recover(
        through last: Int = .max, _ make: () -> StoreMachine, note: (String) -> Void,
        proceed: () throws(JournalError) -> Void = { () throws(JournalError) in }
    ) throws(StoreError) -> StoreMachine {
        do {
            if journal.first > 1, last < journal.first - 1 { throw trimmed(before: last) }
            let machine = try journal.recover(through: last, make) { (machine: inout StoreMachine, snapshot) in
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
        } catch let refused as Refused {
            throw refused.error
        } catch is MissingBeginning {
            throw StoreError(
                .damaged,
                "none of the snapshots in \(folder.path) can be used, and the turns before \(journal.first) are not kept any more (`--retain`)"
            )
        } catch let error as JournalError {
            throw StoreError(error)
        } catch let error as TrapError {
            throw StoreError(.program, "the journal in \(folder.path) cannot be replayed: \(error)")
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(
                .damaged, "the journal in \(folder.path) cannot be replayed: \(error)", divergence: nil,
                found: (error as? ReplayError)?.divergence)
        }
    }

    private func trimmed(before turn: Int) -> StoreError {
        StoreError(
            .configuration,
            "turn \(turn) is not kept any more: the journal in \(folder.path) was trimmed up to turn \(journal.first - 1) (`--retain`)"
        )
    }
}

extension UniqueID {
    /// As a fact of a journal: 16 bytes, big-endian.
    var factBytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
    }

    /// Nil if it is no such fact.
    init?(fact bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: word(bytes[0..<8]), low: word(bytes[8..<16]))
    }
}

/// What ends a recovery, whatever other snapshots there are.
private struct Refused: UnmendableError {
    let error: StoreError
}

extension StoreError {
    init(_ error: JournalError) {
        let code: Code =
            switch error.code {
            case .busy: .busy
            case .damaged: .damaged
            case .format, .missing: .configuration
            default: .inputOutput
            }
        // What a salvage can do is said where it is needed.
        let hint = error.code == .damaged ? " `journal verify` tells what is left, `journal salvage` goes on with that." : ""
        self.init(code, "\(error)\(hint)")
    }
}
