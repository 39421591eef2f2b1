import CrashPoints
import Journal
import MessagePack
import SamovarCore
public import SamovarProtocol
import SQLiteJournal

/// What a store needs to start.
public struct StoreConfiguration: Sendable {
    public var dataFolder: String
    public var endpoint: Endpoint
    /// The seed in MessagePack; nil takes the data folder's own, or for a new one the empty map.
    public var seed: [UInt8]?
    /// Names the build in the journal.
    public var build: String
    /// Archive the timeline that the data folder has, and begin another.
    public var isFresh: Bool
    /// Turns at which this build may order something else than the journal says; see docs/journal.md.
    public var acceptedDivergences: Set<Int>
    public var settings: StoreSettings

    public init(
        dataFolder: String, endpoint: Endpoint, seed: [UInt8]? = nil, build: String = "", isFresh: Bool = false,
        acceptedDivergences: Set<Int> = [], settings: StoreSettings = StoreSettings()
    ) {
        self.dataFolder = dataFolder
        self.endpoint = endpoint
        self.seed = seed
        self.build = build
        self.isFresh = isFresh
        self.acceptedDivergences = acceptedDivergences
        self.settings = settings
    }
}

/// A data folder, opened and locked: the journal and what it says of itself.
struct OpenedJournal {
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
    }

    /// Opens a folder that is there, to read it, and waits up to 5 s for its lock.
    init(reading path: String) throws(StoreError) {
        try self.init(path, isFresh: false, creating: false, access: .readOnly)
    }

    /// Opens or makes the folder and waits up to 5 s for its lock.
    init(at path: String, isFresh: Bool) throws(StoreError) {
        try self.init(path, isFresh: isFresh, creating: true, access: .readWrite)
    }

    private init(_ path: String, isFresh: Bool, creating: Bool, access: SQLiteJournal.Access) throws(StoreError) {
        do {
            folder = try DataFolder(at: path, creating: creating)
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
        guard bytes.count == 16 else { throw JournalError(.damaged, "the journal's \(name) has \(bytes.count) bytes, not 16") }
        return UniqueID(high: word(bytes[0..<8]), low: word(bytes[8..<16]))
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
            try journal.record(bytes(timeline.high, timeline.low), as: Fact.timeline)
            try journal.record(bytes(secret.high, secret.low), as: Fact.secret)
            try journal.record(Array(schema.description.utf8), as: Fact.program)
            try journal.record(seed, as: Fact.seed)
        } catch {
            throw StoreError(error)
        }
    }

    /// Brings a machine to the state of the journal's last turn: newest readable snapshot, then the later batches.
    func recover(
        through last: Int = .max, _ make: () -> StoreMachine, note: (String) -> Void
    ) throws(StoreError) -> StoreMachine {
        do {
            for turn in try journal.snapshots() where turn <= last {
                var machine = make()
                do {
                    try machine.restore(snapshot: try journal.snapshot(at: turn).bytes)
                } catch let error as MigrationError {
                    // Without it, turns of the older version would be computed again, which orders what `update` says now.
                    throw StoreError(.configuration, "the snapshot of turn \(turn) in \(folder.path) cannot be migrated: \(error)")
                } catch {
                    note("the snapshot of turn \(turn) cannot be used, an older one or the whole journal will do: \(error)")
                    continue
                }
                try replay(into: &machine, from: turn + 1, through: last)
                return machine
            }
            var machine = make()
            try replay(into: &machine, from: 1, through: last)
            return machine
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

    private func replay(into machine: inout StoreMachine, from turn: Int, through last: Int) throws {
        try journal.read(from: turn) { batch in
            guard batch.first <= last else { return }
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last)
            CrashPoint.pass(.storeDuringRecovery)
        }
    }
}

private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

private func bytes(_ words: UInt64...) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
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
        self.init(code, "\(error)")
    }
}
