import Foundation
import Journal
import Logging
import MessagePack
import SQLiteJournal
import SamovarCore
import SamovarStore
import SamovarWire
import Synchronization

/// Interprets what the ``ShadowMachine`` says, on a thread of its own.
final class ShadowLoop: Sendable {
    /// How long an answer is waited for before it is told that there is none: a store is restarted in less.
    private static let patience = Duration.seconds(3)

    private let dataFolder: String
    private let store: StoreAccess
    private let build: String
    private let logger: Logger
    private let clock = HostClock()
    private let isEnding = Atomic<Bool>(false)
    private let ending = DispatchSemaphore(value: 0)

    init(dataFolder: String, store: StoreAccess, build: String, logger: Logger) {
        (self.dataFolder, self.store, self.build, self.logger) = (dataFolder, store, build, logger)
    }

    func end() {
        isEnding.store(true, ordering: .releasing)
        ending.signal()
    }

    private var isWanted: Bool { !isEnding.load(ordering: .acquiring) }

    func run(_ schema: Schema, engine: (Secret, GroupLimits) -> any ProgramEngine) throws {
        var shadow = ShadowMachine(build: build, now: clock.now())
        var replay = ShadowReplay(dataFolder: dataFolder, schema: schema)
        var actions = shadow.ticked(now: clock.now())
        while isWanted {
            while isWanted, !actions.isEmpty {
                switch actions.removeFirst() {
                case .ask(let request): actions += try ask(request, &shadow)
                case .begin(let beginning, let found, let secret, let timeline):
                    try replay.require(found)
                    if let why = try replay.begin(beginning, secret, timeline, engine) {
                        actions += shadow.cannotBegin(why, now: clock.now())
                    } else {
                        actions += shadow.began(HistoryRequest.Place(timeline: timeline, turn: replay.head))
                    }
                case .replay(let batches):
                    if let turn = try replay.take(batches, proceed: { isWanted }) {
                        actions += shadow.differs(at: turn)
                    } else {
                        actions += shadow.replayed(through: replay.head, compared: replay.compared, now: clock.now())
                    }
                case .search(let batches):
                    let isAccepted = try replay.search(batches)
                    actions += shadow.searched(through: batches.last?.last ?? 0, isAccepted: isAccepted)
                case .note(let note): logger.log(level: note.loggerLevel, "\(note.text)")
                case .end(.difference): throw replay.difference
                case .end(.otherBuild(let other)):
                    throw StoreError(.again, "the store is of build \(other) now: start this one again, too")
                }
            }
            let pause = clock.milliseconds(until: shadow.deadline) ?? 0
            if isWanted, pause > 0 { _ = ending.wait(timeout: .now() + .milliseconds(pause)) }
            actions = shadow.ticked(now: clock.now())
        }
        logger.info("stopped", metadata: ["turn": "\(replay.head)"])
    }

    private func ask(_ request: HistoryRequest, _ shadow: inout ShadowMachine) throws -> [ShadowAction] {
        do {
            let value = try AdminClient.ask(store, HistoryRequest.verb, request.value, Self.patience) { isWanted }
            guard let reply = HistoryReply(value) else {
                return shadow.failed("the store's answer cannot be read", now: clock.now())
            }
            return shadow.answered(reply, now: clock.now())
        } catch let error as AdminError {
            return shadow.failed("\(error)", now: clock.now())
        }
    }
}

/// The state of the process that follows, and what it differs in.
private struct ShadowReplay: ~Copyable {
    private let dataFolder: String
    private let schema: Schema
    private var machine: StoreMachine?
    private(set) var head = 0
    /// The newest turn after which its state was compared; 0 for none.
    private(set) var compared = 0
    private var terms = ReplayTerms()
    private var divergence: Divergence?
    /// What the journal tells of the turn of the divergence.
    private var traces = TurnTraces(of: 0)

    init(dataFolder: String, schema: Schema) {
        (self.dataFolder, self.schema) = (dataFolder, schema)
    }

    func require(_ found: Schema) throws(StoreError) {
        // Read before the branch: “Methods that borrow a machine” in docs/decisions.md.
        let (schema, dataFolder) = (schema, dataFolder)
        guard found != schema else { return }
        throw StoreError(.configuration, "the store of \(dataFolder) runs \(found); this program is \(schema)")
    }

    /// - Returns: why there is no state; nil if there is one.
    mutating func begin(
        _ beginning: HistoryBeginning, _ secret: Secret, _ timeline: Timeline, _ engine: (Secret, GroupLimits) -> any ProgramEngine
    ) throws -> String? {
        func fresh(_ terms: ReplayTerms) -> StoreMachine {
            let settings = StoreSettings()
            var machine = StoreMachine(
                settings: settings, engine: engine(secret, settings.group), timeline: timeline, secret: secret, build: "")
            machine.terms = terms
            return machine
        }
        (divergence, head, compared) = (nil, 0, 0)
        machine = nil
        var problem = "it has none"
        for turn in beginning.snapshots where turn + 1 >= beginning.first {
            var restored = fresh(terms)
            do {
                let snapshot = try SnapshotFolder(of: beginning.journal, in: dataFolder).read(turn)
                try restored.restore(snapshot: snapshot.bytes)
                head = restored.head
                machine = consume restored
                return nil
            } catch {
                // An older one will do, and one that is gone has given way to a newer one.
                problem = "\(error)"
            }
        }
        guard beginning.first <= 1 else { return "no snapshot of the store can be used: \(problem)" }
        machine = fresh(terms)
        return nil
    }

    /// - Returns: the turn at which the replay is not what the journal says, if nothing else is wrong.
    mutating func take(_ batches: [HistoryBatch], proceed: () -> Bool) throws -> Int? {
        do {
            for batch in batches where proceed() {
                try machine?.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
                head = max(head, batch.last)
            }
            compared = machine?.replayed.newestState ?? 0
            return nil
        } catch let error as ReplayError {
            guard let found = error.divergence else { throw StoreError(reading: error, in: dataFolder) }
            divergence = found
            traces = TurnTraces(of: found.turn)
            // Names the build, if the store was started in these.
            try read(batches) { [turn = found.turn] traces, record in
                if record.turn < turn { traces.note(record) }
            }
            return found.turn
        } catch let error as TrapError {
            throw StoreError(.program, "the journal in \(dataFolder) cannot be replayed: \(error)")
        }
    }

    /// - Returns: whether what differs was accepted.
    mutating func search(_ batches: [HistoryBatch]) throws -> Bool {
        guard let divergence else { return false }
        var accepted = terms.accepted
        try read(batches) { traces, record in
            if record.turn >= divergence.turn { traces.note(record) }
            guard case .divergenceAccepted(let turn, let hash, _) = record.event else { return }
            accepted[turn, default: []].insert(hash)
        }
        terms.accepted = accepted
        return terms.accepts(divergence)
    }

    private mutating func read(_ batches: [HistoryBatch], _ body: (inout TurnTraces, Record) -> Void) throws {
        do {
            for batch in batches {
                try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { body(&traces, $0) }
            }
        } catch {
            throw StoreError(reading: error, in: dataFolder)
        }
    }

    var difference: StoreError {
        // As above.
        let (divergence, traces) = (divergence, traces)
        guard let divergence else { return StoreError(.damaged, "the store's journal is not what is replayed of it") }
        return StoreError(divergence: DivergenceReport(divergence, traces: traces, kept: []), isFickle: false)
    }
}
