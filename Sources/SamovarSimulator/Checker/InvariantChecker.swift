import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// Holds everything that crosses a boundary against the promises, the moment it crosses: frames that leave a process, batches that
/// become durable, what clients and subscribers are told, handlers that start and end. It never looks into a machine, but for the
/// comparison of states at a restart and at the end.
final class InvariantChecker {
    unowned let world: World
    /// The history of the timeline that the disk holds.
    private(set) var reference: ReferenceModel
    /// Those of archived timelines.
    private(set) var archive: [Timeline: ReferenceModel] = [:]
    /// Every input that a client has put on the wire, by its number in the session and timeline.
    var wire: [SessionID: [Timeline: [Int: ClientProcess.Input]]] = [:]
    /// When a session's last greetings have reached the store.
    private var greetings: [SessionID: [Instant]] = [:]
    var effectsEnded = 0
    /// Sessions whose clients were told that their key is not for what they did, or that they are over, as they were then.
    var sentAway: Set<SessionID> = []
    /// What left in this round of the store, with whether it was a first attempt.
    var handedOut: [(effect: EffectID, queue: Queue, label: Label?, isFirst: Bool)] = []
    /// The leases of all tasks that left in this round of the store, and the newest of those before.
    var leases: (now: [Lease], newest: Lease?) = ([], nil)
    /// The greatest start number that each peer has said.
    var starts: [PeerLife: Int] = [:]

    init(_ world: World, reference: ReferenceModel) {
        self.world = world
        self.reference = reference
    }

    func require(
        _ holds: Bool, _ invariant: Invariant, expected: @autoclosure () -> String, seen: @autoclosure () -> String
    ) throws(Violation) {
        guard !holds else { return }
        throw Violation(invariant: invariant, time: world.now, expected: expected(), seen: seen())
    }

    func reference(of timeline: Timeline) -> ReferenceModel? {
        timeline == reference.timeline ? reference : archive[timeline]
    }

    func begin(_ next: ReferenceModel) {
        archive[reference.timeline] = reference
        reference = next
    }

    // MARK: Sessions

    func greeted(_ session: SessionID) {
        greetings[session, default: []].append(world.now)
        if let count = greetings[session]?.count, count > 16 { greetings[session]?.removeFirst() }
    }

    /// For how long the store has heard no greeting of a session when it made this record, which may be a while ago.
    func silence(of session: SessionID, at record: Record) -> Instant? {
        let (made, before) = (reference.instant(of: record.time), reference.before(record.time))
        return greetings[session]?.last { $0 <= before }.map { made - $0 }
    }

    // MARK: The journal

    /// The disk has made a batch durable, whether the store has heard of it or not.
    ///
    /// - Parameter epoch: of its writer, where several stores share the journal.
    func durable(_ batch: Batch, epoch: Int? = nil) throws(Violation) {
        if let epoch {
            try require(
                epoch >= reference.epoch, .i27, expected: "a batch of epoch \(reference.epoch) or later", seen: "one of \(epoch)")
            reference.epoch = epoch
        }
        try require(
            batch.first == reference.last + 1, .i3, expected: "a batch from turn \(reference.last + 1)",
            seen: "one from turn \(batch.first)")
        var records: [Record] = []
        do {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { records.append($0) }
        } catch {
            try require(false, .i4, expected: "records that can be read", seen: "\(error)")
        }
        for record in records { try take(record) }
        try require(
            reference.announced.isEmpty, .i4, expected: "a group in one batch",
            seen: "turn \(batch.last) ends its batch, and one of \(reference.announced.first?.origin ?? .store) is to come")
    }

    // MARK: Restarts

    /// A store has read what is on the disk.
    func recovered(_ machine: borrowing StoreMachine) throws(Violation) {
        try require(
            machine.head == reference.last, .i1, expected: "a store at turn \(reference.last)", seen: "one at turn \(machine.head)")
        try compare(machine, "after a restart")
    }

    /// The books and the state of a store that has nothing to write down are those of its journal.
    func compare(_ machine: borrowing StoreMachine, _ when: String) throws(Violation) {
        let books = machine.books
        try require(books == reference.books, .i4, expected: "\(reference.books)", seen: "\(when): \(books)")
        guard reference.last > 0 else { return }
        let bytes = try state(of: machine)
        try require(
            bytes == packed(reference.state), .i4, expected: "the state of the journal at turn \(reference.last)",
            seen: "another one \(when)")
    }

    private func state(of machine: borrowing StoreMachine) throws(Violation) -> [UInt8] {
        do {
            return try machine.stateBytes()
        } catch {
            throw Violation(invariant: .i4, time: world.now, expected: "a state that can be encoded", seen: "\(error)")
        }
    }

    func ended(_ id: EffectID, _ record: Record) {
        effectsEnded += 1
        if case .failure = record.origin {} else if reference.open[id]?.wasRequeued == true { reference.count(.doneAfterAll) }
        reference.close(id, turn: record.turn)
    }
}

/// A peer from its start to its end, in one timeline.
struct PeerLife: Hashable {
    let name: String
    let incarnation: Int
    let timeline: Timeline
}
