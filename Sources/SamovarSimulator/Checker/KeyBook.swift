import SamovarCore
import SamovarWire

/// What the checker keeps of keys, in one timeline: which table was in force at which turn, who has sent what while it was allowed to, and whose
/// sessions and workers are.
struct KeyBook {
    struct Owner: Equatable {
        /// Of its key; nil if none was needed.
        let name: KeyName?
    }

    /// Those in force, each for the turns after one.
    private var tables: [(after: Int, table: KeyTable)] = []
    /// By the journal.
    var owners: [UniqueID: Owner] = [:]
    /// Those of workers that have left since the store has started: it remembers them.
    private var former: [WorkerID: Owner] = [:]
    /// From whom the store has read each input of a session.
    var senders: [SessionID: [Int: Set<Sender?>]] = [:]
    /// And with which keys workers have said HELLO.
    var workerSenders: [WorkerID: Set<Sender?>] = [:]
    /// When the store has heard a worker last, and before.
    private(set) var heard: [WorkerID: [Instant]] = [:]
    /// Those that have said goodbye, or of whose death the store was told.
    var farewells: Set<WorkerID> = []

    /// A table comes into force. What was made under others and is not on disk is lost if the store has started since.
    mutating func bring(_ table: KeyTable, after turn: Int) {
        tables.removeAll { $0.after >= turn }
        tables.append((turn, table))
    }

    /// The store starts, and knows what its journal says.
    mutating func start() { former.removeAll() }

    /// Whose a session or a worker is; nil if it is nobody's yet.
    func owner(of id: UniqueID) -> Owner? { owners[id] ?? former[id] }

    mutating func leave(_ worker: WorkerID) {
        if let owner = owners.removeValue(forKey: worker) { former[worker] = owner }
    }

    mutating func hear(_ worker: WorkerID, _ time: Instant) {
        heard[worker, default: []].append(time)
        if let count = heard[worker]?.count, count > 64 { heard[worker]?.removeFirst() }
    }

    func table(at turn: Int) -> KeyTable { tables.last { $0.after < turn }?.table ?? .none }

    /// The key with which something came into this turn; nil if it was not good then.
    func key(of sender: Sender, at record: Record) -> Key? {
        table(at: record.turn)[sender.fingerprint].flatMap { $0.name == sender.name && $0.isValid(now: record.time) ? $0 : nil }
    }

    /// The good keys of a name.
    func keys(of name: KeyName, at record: Record) -> [Key] {
        table(at: record.turn).keys.filter { $0.name == name && $0.isValid(now: record.time) }
    }

    func isRevoked(_ name: KeyName, at turn: Int) -> Bool { !table(at: turn).keys.contains { $0.name == name } }
}
