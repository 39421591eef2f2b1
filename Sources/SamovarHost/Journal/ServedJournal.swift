import Journal
import JournalChain
import SQLiteJournal
import SamovarCore
import SamovarStore
import Synchronization

/// The journal of a running store that has its data folder for itself: read by asking the store, a page at a time, up to the turn that was the
/// newest on disk when it was opened or ``refresh()`` was called last.
///
/// The store has compared each batch with its digest when it reads it; here their numbers are checked. Snapshots are files of their own in the
/// folder. Nothing can be written.
final class ServedJournal: StoredJournal {
    private struct State {
        var beginning: HistoryBeginning
        var last: Int
    }

    /// A store that is restarted meanwhile is waited for.
    private static let patience = Duration.seconds(5)
    /// Who wants to know what is new has other ways than to wait.
    private static let patienceForNews = Duration.seconds(2)

    let identity: UniqueID
    private let store: StoreAccess
    private let dataFolder: String
    private let timeline: Timeline
    private let secret: Secret
    private let schema: Schema
    private let state: Mutex<State>

    /// - Parameter patience: how long to wait for a store that does not answer.
    /// - Returns: nil if none has answered: who has the folder is no store, or one that does not serve yet.
    /// - Throws: `JournalError` if the store tells nothing of its journal.
    convenience init?(of store: StoreAccess, in dataFolder: String, patience: Duration) throws(JournalError) {
        do {
            try self.init(store, dataFolder, try Self.ask(store, HistoryRequest(), patience))
        } catch {
            if case .noStore? = error as? AdminError { return nil }
            throw Self.meaning(of: error)
        }
    }

    private init(_ store: StoreAccess, _ dataFolder: String, _ reply: HistoryReply) throws(JournalError) {
        guard case .beginning(let beginning, let schema, let secret) = reply.content else { throw Self.misfit }
        (self.store, self.dataFolder, self.schema, self.secret) = (store, dataFolder, schema, secret)
        (identity, timeline) = (beginning.journal, reply.timeline)
        state = Mutex(State(beginning: beginning, last: reply.head))
    }

    // MARK: Asking

    private static let misfit = JournalError(.unavailable, "The store's answer cannot be read.")

    private static func ask(_ store: StoreAccess, _ request: HistoryRequest, _ patience: Duration) throws -> HistoryReply {
        let value = try AdminClient.ask(store, HistoryRequest.verb, request.value, patience)
        guard let reply = HistoryReply(value) else { throw misfit }
        return reply
    }

    /// What it means for a journal that asking has failed.
    private static func meaning(of error: any Error) -> JournalError {
        let refused = "The store tells nothing of its journal."
        switch error as? AdminError {
        case .noStore?, .unknown?:
            return JournalError(.unavailable, "The store whose journal was read is away.", underlying: "\(error)")
        case .later?: return JournalError(.busy, refused, underlying: "\(error)")
        case .keyRefused?, .refused?: return JournalError(.unavailable, refused, underlying: "\(error)")
        case nil:
            let failure = JournalError(.unavailable, "The store cannot be asked for its journal.", underlying: "\(error)")
            return error as? JournalError ?? failure
        }
    }

    private func page(after turn: Int) throws(JournalError) -> [HistoryBatch] {
        let request = HistoryRequest(after: HistoryRequest.Place(timeline: timeline, turn: turn))
        let reply: HistoryReply
        do { reply = try Self.ask(store, request, Self.patience) } catch { throw Self.meaning(of: error) }
        switch reply.content {
        case .batches(let batches): return batches
        case .anew(.trimmed):
            throw JournalError(.missing, "What follows turn \(turn) was trimmed meanwhile (`--retain`).")
        case .anew: throw JournalError(.missing, "The store has begun another timeline meanwhile.")
        case .damaged(let why): throw JournalError(.damaged, why)
        case .beginning: throw Self.misfit
        }
    }

    /// Moves ``last`` to what is the newest turn on disk by now.
    func refresh() throws(JournalError) {
        do {
            let reply = try Self.ask(store, HistoryRequest(), Self.patienceForNews)
            guard case .beginning(let beginning, _, _) = reply.content else { throw Self.misfit }
            guard reply.timeline == timeline else {
                throw JournalError(.missing, "The store has begun another timeline meanwhile.")
            }
            state.withLock { $0 = State(beginning: beginning, last: reply.head) }
        } catch {
            throw Self.meaning(of: error)
        }
    }

    // MARK: Reading

    var first: Int { state.withLock { $0.beginning.first } }

    var last: Int { state.withLock { $0.last } }

    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireKept(turn)
        let end = last
        var place = turn - 1
        while place < end {
            let batches = try page(after: place)
            guard let newest = batches.last else { throw Self.hole(after: place) }
            for stored in batches where stored.first <= end {
                guard stored.first <= place + 1, stored.last > place else { throw Self.hole(after: place) }
                place = stored.last
                try body(Batch(first: stored.first, last: stored.last, bytes: stored.bytes))
            }
            if newest.first > end { return }
        }
    }

    private static func hole(after turn: Int) -> JournalError {
        JournalError(.damaged, "The batches after turn \(turn) are missing in what the store answers.")
    }

    func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError? {
        do {
            try read(from: (turn ?? first - 1) + 1, body)
            return nil
        } catch let error as JournalError where error.code == .damaged {
            return error
        }
    }

    func chain(behind turn: Int?) throws(JournalError) -> BatchChain {
        guard turn == nil else { throw JournalError(.missing, "The store tells only where its journal begins.") }
        return state.withLock { BatchChain(last: $0.beginning.first - 1, digest: $0.beginning.anchor) }
    }

    func snapshots() -> [Int] { state.withLock { $0.beginning.snapshots } }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try SnapshotFolder(of: identity, in: dataFolder).read(turn)
    }

    func facts() -> [(name: String, value: [UInt8])] {
        typealias Fact = OpenedJournal.Fact
        let key = UniqueID(high: secret.high, low: secret.low)
        let known = [(Fact.timeline, timeline.bytes), (Fact.secret, key.bytes), (Fact.program, Array(schema.description.utf8))]
        let (seed, ancestor) = state.withLock { ($0.beginning.seed, $0.beginning.ancestor) }
        return known + (seed.map { [(Fact.seed, $0)] } ?? []) + (ancestor.map { [(Fact.ancestor, Array($0.utf8))] } ?? [])
    }

    func fact(_ name: String) -> [UInt8]? { facts().first { $0.name == name }?.value }

    /// The store knows where its journal ends.
    var witnessed: Int { last }
    var isWitnessed: Bool { true }
    var hasSoundFacts: Bool { true }

    func close() {}

    // MARK: Nothing of this

    private static var readOnly: JournalError { JournalError(.misuse, "The journal of a running store is only read.") }

    func beginWriting() throws(JournalError) { throw Self.readOnly }
    func append(_ batch: Batch) throws(JournalError) { throw Self.readOnly }
    func save(_ snapshot: Snapshot) throws(JournalError) { throw Self.readOnly }
    func record(_ value: [UInt8], as name: String) throws(JournalError) { throw Self.readOnly }
    func trim(through turn: Int) throws(JournalError) -> Bool { throw Self.readOnly }
}
