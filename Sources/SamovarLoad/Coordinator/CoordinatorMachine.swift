public import SamovarCore

/// Leads the agents through a load test and keeps what they tell.
///
/// The idea: nobody begins before everybody is ready, and nobody's end is taken for granted. An agent that dies or falls silent is a
/// finding of its own and ends the test: what the others saw is still reported, and that one is missing is said.
///
/// | | gathering | preparing | running | collecting |
/// |---|---|---|---|---|
/// | join | kept; the last one: plan to all, preparing | dismissed | dismissed | dismissed |
/// | ready | – | the last one: start to all, running | – | – |
/// | alive | heard | heard | heard | heard |
/// | connecting | – | if more are connected: the time for it begins anew | – | – |
/// | progress, ledger | – | – | kept; too much: missing | the same; more of it: the time begins anew |
/// | result | – | – | thanks; the last one: finish | the same |
/// | failed, gone, silent | missing: finish | missing: finish | missing: stop to all, collecting | missing |
/// | interrupted | finish | finish | stop to all, collecting | the second time: finish |
/// | ticked | too late: finish | too late: finish | kills; at the end: collecting | too late: finish |
///
/// Limits: as many agents as were asked for; 30 s in which no further client connects; 10 s of silence; ten words
/// of progress and two more a second; a ledger for each client, and 4 GiB of them; texts of 1,000
/// characters, and ten problems of an agent.
public struct CoordinatorMachine: ~Copyable {
    /// The socket's name of an agent.
    public typealias Peer = [UInt8]

    public enum Action: Equatable, Sendable {
        case say(CoordinatorMessage, to: Peer)
        /// All agents send after so long.
        case started(in: Duration)
        case kill(KillPlan.Role)
        /// A second of the test is over for all agents.
        case show(LoadProgress)
        /// For people.
        case note(String)
        case finish
    }

    enum State: Equatable {
        case gathering(until: Timestamp)
        case preparing(until: Timestamp)
        case running(from: Timestamp)
        case collecting(from: Timestamp, until: Timestamp)
        case ended
    }

    /// What is known of one agent.
    public struct Agent: Sendable {
        public let name: String
        public let machine: String
        public internal(set) var progress: [AgentProgress] = []
        /// How many of them were shown.
        var shown = 0
        /// By the text of the session.
        public internal(set) var ledgers: [String: (sent: Int, bytes: [UInt8])] = [:]
        var ledgerBytes = 0
        public internal(set) var result: AgentResult?
        /// Why it has no result.
        public internal(set) var problem: String?
        var isReady = false
        /// Clients and subscribers that the store has welcomed.
        var connected = 0
        var heard: Timestamp
        var isOver: Bool { result != nil || problem != nil }
        /// The oldest report that was not shown.
        var next: AgentProgress? { progress.indices.contains(shown) ? progress[shown] : nil }
    }

    private(set) var state: State
    private let plan: LoadPlan
    private let expected: Int
    private let kills: KillPlan?
    private var nextKill = 0
    /// The time of the newest second that was shown, in microseconds since the start.
    private var shown: Int64 = 0
    private var order: [Peer] = []
    private var byPeer: [Peer: Agent] = [:]
    /// The store's timeline at the start, in text.
    private var timeline: String?
    /// What went wrong, and not with one agent alone.
    public private(set) var problems: [String] = []
    /// How long inputs were due, if the test was stopped before its time; nil if it was not.
    public private(set) var stoppedAfter: Duration?

    /// A process of this machine that ends is noticed at once. This is for those of other machines and for those that hang, and not for an
    /// agent of a thousand clients that gets a fiftieth of a core: one round takes it some seconds.
    static let silence = Duration.seconds(10)
    /// Without a further client that connects. Ten thousand of them take longer than that on a busy machine.
    static let preparation = Duration.seconds(30)
    /// From the word to start until the start, so that it has reached everybody.
    static let lead = Duration.milliseconds(300)

    /// Of all ledgers of all agents, which this process keeps in memory.
    static let ledgerBytes = 4 << 30

    /// - Parameter patience: how long to wait for the agents.
    public init(_ plan: LoadPlan, expected: Int, kills: KillPlan?, patience: Duration, now: Timestamp) {
        self.plan = plan
        self.expected = expected
        self.kills = kills
        state = .gathering(until: now + patience)
    }

    /// In the order in which they joined.
    public var agents: [Agent] { order.compactMap { byPeer[$0] } }

    /// When `ticked` is to be called at the latest.
    public var deadline: Timestamp {
        let own =
            switch state {
            case .gathering(let until), .preparing(let until), .collecting(_, let until): until
            case .running(let start): [start + .microseconds(plan.duration), killTime(start)].compactMap { $0 }.min() ?? start
            case .ended: Timestamp(microseconds: .max)
            }
        let silent = byPeer.values.filter { !$0.isOver }.map { $0.heard + Self.silence }.min()
        return min(own, silent ?? own)
    }

    private func killTime(_ start: Timestamp) -> Timestamp? {
        kills?.due(nextKill, within: plan.duration).map { start + .microseconds($0) }
    }
}

// MARK: - Events

extension CoordinatorMachine {
    public mutating func heard(_ message: AgentMessage, from peer: Peer, now: Timestamp) -> [Action] {
        let message = message.bounded
        if case .join(let version, let name, let machine) = message { return join(peer, version, name, machine, now) }
        guard byPeer[peer]?.isOver == false else { return [] }
        // All in place: a copy of an agent lets each piece of its ledgers cost as much as all pieces before it.
        byPeer[peer]?.heard = now
        guard message.isPlausible else { return missing(peer, "it told numbers that cannot be", now) }
        guard isExpected(message) else { return [] }
        switch message {
        case .join, .alive: return []
        case .failed(let reason): return missing(peer, reason, now)
        case .connecting(let count):
            let before = byPeer[peer]?.connected ?? 0
            if case .preparing = state, count > before { state = .preparing(until: now + Self.preparation) }
            byPeer[peer]?.connected = max(before, count)
            return []
        case .ready(let text):
            byPeer[peer]?.isReady = true
            if let timeline, timeline != text {
                problems.append("\(byPeer[peer]?.name ?? "") is connected to another store than the others")
            }
            timeline = timeline ?? text
            return startIfReady(now)
        case .progress(let progress):
            if progress.counts.answered > byPeer[peer]?.progress.last?.counts.answered ?? 0 { wait(now) }
            guard byPeer[peer]?.progress.count ?? 0 < progressLimit(now) else {
                return missing(peer, "it told too often how far it is", now)
            }
            byPeer[peer]?.progress.append(progress)
            return show()
        case .ledger(let session, let sent, let piece):
            byPeer[peer]?.ledgers[session, default: (sent, [])].bytes += piece
            byPeer[peer]?.ledgerBytes += piece.count
            let bytes = byPeer.values.reduce(0) { $0 + $1.ledgerBytes }
            guard byPeer[peer]?.ledgers.count ?? 0 <= plan.clients, bytes <= Self.ledgerBytes else {
                return missing(peer, "its ledgers are more than \(plan.clients) or have too many bytes", now)
            }
            if !piece.isEmpty { wait(now) }
            return []
        case .result(let result):
            byPeer[peer]?.result = result
            return [.say(.thanks, to: peer)] + show() + finishIfOver()
        }
    }

    /// What an agent may say now; the rest is passed over.
    private func isExpected(_ message: AgentMessage) -> Bool {
        switch (message, state) {
        case (.ready, .preparing): true
        case (.progress, .running), (.ledger, .running), (.result, .running): true
        case (.progress, .collecting), (.ledger, .collecting), (.result, .collecting): true
        case (.ready, _), (.progress, _), (.ledger, _), (.result, _): false
        case (.join, _), (.alive, _), (.connecting, _), (.failed, _): true
        }
    }

    /// One is told each second, and one at the end.
    private func progressLimit(_ now: Timestamp) -> Int {
        switch state {
        case .running(let start), .collecting(let start, _): 10 + 2 * Int((now - start).components.seconds)
        case .gathering, .preparing, .ended: 0
        }
    }

    /// The host knows that an agent's process has ended; its name is the one by which it joined.
    public mutating func ended(_ name: String, _ reason: String, now: Timestamp) -> [Action] {
        guard let peer = order.first(where: { byPeer[$0]?.name == name }) else {
            guard case .gathering = state else { return [] }
            problems.append("\(name) ended before it joined: \(reason)")
            return finish()
        }
        guard byPeer[peer]?.isOver == false else { return [] }
        return missing(peer, reason, now)
    }

    /// Somebody wants it to end.
    public mutating func interrupted(now: Timestamp) -> [Action] {
        switch state {
        case .running(let start):
            problems.append("interrupted after \((now - start).components.seconds) s")
            return stop(start, now)
        case .gathering, .preparing, .collecting:
            problems.append("interrupted")
            return finish()
        case .ended: return []
        }
    }

    /// Time has passed.
    public mutating func ticked(now: Timestamp) -> [Action] {
        var actions = silences(now)
        switch state {
        case .gathering(let until):
            guard now >= until else { break }
            problems.append("only \(byPeer.count) of \(expected) agents have joined")
            actions += finish()
        case .preparing(let until):
            guard now >= until else { break }
            let late = agents.filter { !$0.isReady }.map(\.name)
            problems.append("not all clients could connect to the store: \(late.joined(separator: ", "))")
            actions += finish()
        case .running(let start):
            while let time = killTime(start), now >= time, let kills {
                actions.append(.kill(kills.role(nextKill)))
                nextKill += 1
            }
            if now >= start + .microseconds(plan.duration) { collect(start, now) }
        case .collecting(_, let until):
            guard now >= until else { break }
            for peer in order where byPeer[peer]?.isOver == false { byPeer[peer]?.problem = "it gave no result in time" }
            actions += finish()
        case .ended: break
        }
        return actions
    }
}

// MARK: - Decisions

extension CoordinatorMachine {
    private mutating func join(
        _ peer: Peer, _ version: Int, _ name: String, _ machine: String, _ now: Timestamp
    ) -> [Action] {
        guard version == LoadProtocol.version else {
            return [.say(.dismissed("this is another version of Samovar than the coordinator's"), to: peer)]
        }
        guard case .gathering = state, byPeer[peer] == nil else {
            return [.say(.dismissed("all agents have joined already"), to: peer)]
        }
        let twins = byPeer.values.count { $0.name == name || $0.name.hasPrefix(name + " #") }
        byPeer[peer] = Agent(name: twins == 0 ? name : "\(name) #\(twins + 1)", machine: machine, heard: now)
        order.append(peer)
        guard order.count == expected else { return [] }
        state = .preparing(until: now + Self.preparation)
        return zip(order, plan.shares(expected)).map { .say(.plan($1), to: $0) }
    }

    private mutating func startIfReady(_ now: Timestamp) -> [Action] {
        guard case .preparing = state, byPeer.values.allSatisfy(\.isReady) else { return [] }
        state = .running(from: now + Self.lead)
        return order.map { .say(.start(in: Self.lead.microseconds), to: $0) } + [.started(in: Self.lead)]
    }

    /// A second is shown when all who are there have told of it or of a later one. Reports belong together by their time and not by
    /// their number: an agent that was held up has told of fewer.
    ///
    /// - Parameter isLast: whether nobody is waited for.
    private mutating func show(isLast: Bool = false) -> [Action] {
        var actions: [Action] = []
        while let second = byPeer.values.compactMap({ $0.next?.second }).min(), isLast || isTold(second) {
            actions.append(.show(progress(through: second)))
        }
        return actions
    }

    private func isTold(_ second: Int64) -> Bool {
        byPeer.values.allSatisfy { agent in agent.isOver || agent.progress.last.map { $0.second >= second } ?? false }
    }

    /// What all have told up to this second. Of an agent that has told nothing new, what it told last still counts.
    private mutating func progress(through second: Int64) -> LoadProgress {
        var sum = LoadProgress(elapsed: 0, counts: ClientCounts(), views: 0, applied: [])
        var first: Int64?
        for peer in order {
            var time: Int64?
            while let report = byPeer[peer]?.next, report.second <= second {
                byPeer[peer]?.shown += 1
                sum.applied.append(report.applied)
                time = report.elapsed
            }
            if let time { first = min(first ?? time, time) }
            guard let agent = byPeer[peer], agent.shown > 0 else { continue }
            let newest = agent.progress[agent.shown - 1]
            sum.counts = sum.counts + newest.counts
            sum.views += newest.views
        }
        shown = max(shown, first ?? 0)
        sum.elapsed = shown
        return sum
    }

    private mutating func collect(_ start: Timestamp, _ now: Timestamp) {
        state = .collecting(from: start, until: now)
        wait(now)
    }

    /// Agents drain by their own clocks, as long as answers come; the rest is for what they have to tell, as long as they tell it.
    private mutating func wait(_ now: Timestamp) {
        guard case .collecting(let start, _) = state else { return }
        state = .collecting(from: start, until: now + .microseconds(plan.drain) + .seconds(30))
    }

    private mutating func stop(_ start: Timestamp, _ now: Timestamp) -> [Action] {
        // The start may be still to come.
        let time = max(.zero, now - start)
        if time < .microseconds(plan.duration) { stoppedAfter = time }
        collect(start, now)
        return order.filter { byPeer[$0]?.isOver == false }.map { .say(.stop, to: $0) } + finishIfOver()
    }

    private mutating func silences(_ now: Timestamp) -> [Action] {
        var actions: [Action] = []
        for peer in order {
            guard let agent = byPeer[peer], !agent.isOver, now >= agent.heard + Self.silence else { continue }
            actions += missing(peer, "nothing was heard of it for \(Self.silence.components.seconds) s", now)
        }
        return actions
    }

    private mutating func missing(_ peer: Peer, _ reason: String, _ now: Timestamp) -> [Action] {
        byPeer[peer]?.problem = reason
        let note = Action.note("\(byPeer[peer]?.name ?? "") is missing: \(reason)")
        switch state {
        case .gathering, .preparing: return [note] + finish()
        case .running(let start): return [note] + stop(start, now)
        case .collecting: return [note] + finishIfOver()
        case .ended: return []
        }
    }

    private mutating func finishIfOver() -> [Action] {
        switch state {
        case .running, .collecting: byPeer.values.allSatisfy(\.isOver) ? finish() : []
        case .gathering, .preparing, .ended: []
        }
    }

    private mutating func finish() -> [Action] {
        guard state != .ended else { return [] }
        state = .ended
        let waiting = order.filter { byPeer[$0]?.isOver == false }
        return show(isLast: true) + waiting.map { .say(.dismissed("the load test has ended"), to: $0) } + [.finish]
    }
}

/// One second of all agents together.
public struct LoadProgress: Equatable, Sendable {
    /// Microseconds since the start, of the first that told of it; never less than before.
    public var elapsed: Int64
    /// Since the start.
    public var counts: ClientCounts
    public var views: Int
    /// Of this second, and of reports that came too late for the one before.
    public var applied: [Distribution]
}

extension AgentProgress {
    /// The full seconds since the start.
    fileprivate var second: Int64 { elapsed / LoadProtocol.interval }
}
