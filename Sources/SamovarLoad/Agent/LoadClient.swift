import DequeModule
public import SamovarCore
public import SamovarPeers
public import SamovarWire

/// One sending session: a `ClientMachine` that is fed by a schedule, and the account of what it was told.
///
/// The idea: when an input is due is fixed beforehand, and what the machine cannot take yet waits in the schedule, where it costs nothing.
/// Every latency counts from that time. Rejected: keeping due inputs in a queue of their own, which would be unbounded when a store stalls.
///
/// | | waiting | sending | draining |
/// |---|---|---|---|
/// | begin | sending | – | – |
/// | pump | – | submits what is due and has room | the same, for inputs that were due, until `late` |
/// | end | – | draining | – |
/// | received, ticked, disconnected | to the machine | to the machine, outcomes to the account | the same |
///
/// Limits: those of the machine; 4,096 requests for the end of effects over all clients.
public struct LoadClient: ~Copyable {
    /// A measurement; times are in microseconds.
    public enum Sample: Equatable, Sendable {
        case applied(after: Int64, turn: Int, due: Timestamp)
        case settled(after: Int64)
        /// The store has another journal: turns heard before mean nothing.
        case timelineChanged
    }

    enum State: Equatable {
        case waiting
        case sending(from: Timestamp)
        /// The first `count` inputs were due, and are sent until `late`.
        case draining(from: Timestamp, count: Int, late: Timestamp)
    }

    /// Inputs that are sent and have no outcome, as for any client.
    static let window = 4_096

    private(set) var state = State.waiting
    private var machine: ClientMachine
    private let schedule: SendSchedule
    private let pace: LoadPlan.Pace
    /// Its number among all clients, from 0.
    private let client: Int
    private let clients: Int
    private let inputs: [InputTemplate]
    private var settling: [Int: Timestamp] = [:]
    /// Inputs that were chosen to be asked for, and of which nobody will tell the end.
    private var unmeasured = 0
    private let settleChoice: SettleChoice
    private let settleLimit: Int
    /// When the inputs without an outcome were due, from `oldest` on; nil once it has one.
    private var dueTimes: Deque<Timestamp?> = []
    private var oldest = 1
    /// The next input, from 0.
    private var next = 0
    private var last: (sequence: Int, turn: Int)?
    private var samples: [Sample] = []

    public let session: SessionID
    public private(set) var ledger = SessionLedger()
    public private(set) var counts = ClientCounts()
    /// Why an input was rejected, for example.
    public private(set) var rejection: String?
    /// Why this client sends nothing: its next input is larger than any may be; or the store will not have it, for good or until
    /// the file of its key has another one.
    public var refusal: String? { unsendable ?? refused }
    private var unsendable: String?
    private var refused: String?

    public init(
        _ number: Int, of plan: LoadPlan, inputs: [InputTemplate], session: SessionID, schema: Schema?,
        settings: ClientMachine.Settings = .standard, random: Random
    ) {
        self.session = session
        client = number
        clients = plan.clients
        pace = plan.pace
        self.inputs = inputs
        settleChoice = SettleChoice(oneIn: plan.settleStride)
        settleLimit = max(1, 4_096 / plan.clients)
        let rate = if case .rate(let rate) = plan.pace { rate } else { 1.0 }
        schedule = SendSchedule(client: number, of: plan.clients, rate: rate, duration: plan.duration)
        machine = ClientMachine(session: session, schema: schema, settings: settings, random: random)
    }

    public var isConnected: Bool { machine.isConnected }
    /// See ``ClientMachine/places``.
    public var places: Int {
        get { machine.places }
        set { machine.places = newValue }
    }
    public var timeline: Timeline { machine.timeline }
    /// Inputs that were chosen for send → settled, and whose end was not told until now: it is waited for, there was no room to
    /// ask, or the store could not tell any more. The slow ones are among them, so what was measured is too good.
    public var withoutEnd: Int { unmeasured + settling.count }
    /// Everything that was sent has an outcome, and everything that was asked for has ended.
    public func isIdle(now: Timestamp) -> Bool { counts.unanswered == 0 && settling.isEmpty && !hasMore(now) }

    private func hasMore(_ now: Timestamp) -> Bool {
        guard case .rate = pace, refusal == nil else { return false }
        return switch state {
        case .waiting, .sending: next < schedule.count
        case .draining(_, let count, let late): next < count && now < late
        }
    }

    /// When `pump` or `ticked` is to be called at the latest. The schedule itself is not in it: the host has a pacemaker for that.
    public var deadline: Timestamp? { machine.deadline }

    /// The measurements since the last call.
    public mutating func takeSamples() -> [Sample] {
        guard !samples.isEmpty else { return [] }
        defer { samples.removeAll(keepingCapacity: true) }
        return samples
    }
}

// MARK: - Events

extension LoadClient {
    /// From now on inputs are due.
    public mutating func begin(at start: Timestamp) {
        guard case .waiting = state else { return }
        state = .sending(from: start)
    }

    /// No further input becomes due; those that were are sent until `late`.
    public mutating func end(at now: Timestamp, late: Timestamp) {
        guard case .sending(let start) = state else { return }
        state = .draining(from: start, count: due(by: now), late: late)
    }

    /// Sends what is due. To be called in each round of the host's loop, after all else.
    public mutating func pump(now: Timestamp) -> [ClientMachine.Action] {
        switch (state, pace) {
        case (.waiting, _): break
        case (.sending(let start), .rate): submitDue(start, schedule.count, now)
        case (.draining(let start, let count, let late), .rate): if now < late { submitDue(start, count, now) }
        case (.sending(let start), .saturate(let window)):
            if now >= start { while counts.unanswered < window, submit(due: now) {} }
        case (.draining, .saturate): break
        }
        return machine.flush(now: now)
    }

    public mutating func received(_ envelope: Envelope, now: Timestamp) -> [ClientMachine.Action] {
        take(machine.received(envelope, now: now), now)
    }

    public mutating func ticked(now: Timestamp) -> [ClientMachine.Action] {
        take(machine.ticked(now: now), now)
    }

    public mutating func disconnected(now: Timestamp, because reason: Disconnection = .broken) -> [ClientMachine.Action] {
        take(machine.disconnected(now: now, because: reason), now)
    }

    /// See ``ClientMachine/keyShown(_:)``.
    public mutating func keyShown(_ key: Fingerprint?) { machine.keyShown(key) }

    /// See ``ClientMachine/keyFound(_:now:)``.
    public mutating func keyFound(_ key: Fingerprint?, now: Timestamp) -> [ClientMachine.Action] {
        take(machine.keyFound(key, now: now), now)
    }

    /// Asks for a view on behalf of a subscriber, through this client's socket.
    public mutating func requestView(atLeast turn: Int, in timeline: Timeline, now: Timestamp) -> [ClientMachine.Action] {
        // No room for one more request: the subscriber asks again.
        (try? machine.requestView(atLeast: turn, in: timeline, now: now)) ?? []
    }

    /// Ends the session.
    public mutating func close(now: Timestamp) -> [ClientMachine.Action] {
        take(machine.close(), now)
    }
}

// MARK: - Decisions

extension LoadClient {
    private mutating func submitDue(_ start: Timestamp, _ count: Int, _ now: Timestamp) {
        while next < count {
            let due = start + .microseconds(schedule.due(next))
            guard due <= now, submit(due: due) else { return }
        }
    }

    /// False if the machine does not take it.
    private mutating func submit(due: Timestamp) -> Bool {
        // What the machine would not send yet is better left in the schedule: nobody has to ask what became of it.
        guard counts.unanswered < Self.window, unsendable == nil else { return false }
        let template = inputs[(next &+ client) % inputs.count]
        let input = template.input(n: next * clients + client + 1, client: client + 1, sequence: next + 1)
        do throws(ClientMachine.SubmitError) {
            _ = try machine.submit(input)
        } catch {
            // No room, or refused for good, as is told elsewhere: what is due stays due.
            if case .tooLarge = error { unsendable = "\(error)" }
            return false
        }
        dueTimes.append(due)
        next += 1
        counts.sent += 1
        return true
    }

    /// How many inputs were due by now.
    public func due(by now: Timestamp) -> Int {
        switch (state, pace) {
        case (.waiting, _): 0
        case (_, .saturate): counts.sent
        case (.draining(_, let count, _), .rate): count
        case (.sending(let start), .rate(let rate)):
            min(schedule.count, SendSchedule(client: client, of: clients, rate: rate, duration: (now - start).microseconds).count)
        }
    }

    /// Keeps the account, and leaves to the host what is its business.
    private mutating func take(_ actions: [ClientMachine.Action], _ now: Timestamp) -> [ClientMachine.Action] {
        var rest: [ClientMachine.Action] = []
        for action in actions {
            switch action {
            case .answered(let outcome): answered(outcome, now, &rest)
            case .unknown(let sequence, let reason):
                counts.unknown += 1
                ledger.append(sequence, turn: last?.turn ?? 0, .unknown)
                forget(sequence)
                if case .timelineChanged = reason, samples.last != .timelineChanged { samples.append(.timelineChanged) }
            case .settled(let turn, let dead):
                guard let due = settling.removeValue(forKey: turn) else { break }
                counts.dead += dead.count
                samples.append(.settled(after: now.microseconds - due.microseconds))
            case .unsettled(let turn, _): if settling.removeValue(forKey: turn) != nil { unmeasured += 1 }
            case .refused(let error):
                refused = error.text
                rest.append(action)
            case .keyRefused(let reason): refused = reason
            case .welcomed:
                refused = nil
                rest.append(action)
            default: rest.append(action)
            }
        }
        return rest
    }

    private mutating func answered(_ outcome: Outcome, _ now: Timestamp, _ actions: inout [ClientMachine.Action]) {
        ledger.append(outcome.sequence, turn: outcome.turn, SessionLedger.Verdict(outcome.verdict))
        if let last, (outcome.sequence > last.sequence) != (outcome.turn > last.turn) { counts.outOfOrder += 1 }
        last = (outcome.sequence, outcome.turn)
        guard let due = forget(outcome.sequence) else { return }
        switch outcome.verdict {
        case .refused: counts.refused += 1
        case .rejected(let reason):
            counts.rejected += 1
            rejection = rejection ?? reason
        case .applied:
            counts.applied += 1
            // Without a `Duration`, whose 128 bits take longer than the rest of this.
            samples.append(.applied(after: now.microseconds - due.microseconds, turn: outcome.turn, due: due))
            if settleChoice.includes(outcome.sequence - 1, of: client) { settle(outcome.turn, due, now, &actions) }
        }
    }

    /// Which inputs are asked for is decided by their number, before anybody knows how long they take; were it decided by how many
    /// requests wait, a slow time would be measured less often than a fast one.
    private mutating func settle(_ turn: Int, _ due: Timestamp, _ now: Timestamp, _ actions: inout [ClientMachine.Action]) {
        // One for which the machine has no room either is counted, too.
        guard settling.count < settleLimit, let asked = try? machine.settle(turn: turn, now: now) else {
            unmeasured += 1
            return
        }
        settling[turn] = due
        actions += asked
    }

    /// When it was due; nil if its outcome is known already.
    @discardableResult
    private mutating func forget(_ sequence: Int) -> Timestamp? {
        let index = sequence - oldest
        guard dueTimes.indices.contains(index), let due = dueTimes[index] else { return nil }
        dueTimes[index] = nil
        while let first = dueTimes.first, first == nil {
            dueTimes.removeFirst()
            oldest += 1
        }
        return due
    }
}
