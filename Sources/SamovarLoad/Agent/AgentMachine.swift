public import SamovarCore

/// The phases of an agent, as the coordinator leads it through them.
///
/// The idea: the agent never decides when anything begins; it says what it is, what it has and what it sees, and a coordinator that falls
/// silent ends it, for numbers that nobody collects are worth nothing.
///
/// | | joining | connecting | ready | running | draining | reporting |
/// |---|---|---|---|---|---|---|
/// | plan | prepare; connecting; fails if its numbers cannot be | fails | fails | fails | fails | fails |
/// | connected | – | says ready; ready | – | – | – | – |
/// | start | – | – | begin, progress; running | – | – | – |
/// | stop | fails | fails | fails | end; draining | – | – |
/// | ticked | – | how many are connected, each second | alive | progress; at the end: end, draining | progress; idle or too late: report, reporting | – |
/// | thanks | – | – | – | – | – | finish |
/// | dismissed | fails | fails | fails | fails | fails | fails |
/// | disconnected | fails | fails | fails | fails | fails | finish |
///
/// Limits: the coordinator thanks within 60 s, and begins at most 60 s after its word. While it waits for other agents it may say nothing
/// for ten minutes.
public struct AgentMachine: ~Copyable {
    public enum Action: Equatable, Sendable {
        case say(AgentMessage)
        /// Connect clients and subscribers.
        case prepare(LoadShare)
        /// Inputs are due from this time on.
        case begin(at: Timestamp)
        /// No further inputs; those that were due may be sent until `late`.
        case end(at: Timestamp, late: Timestamp)
        /// Say `progress`, with all that happened since the last one.
        case tellProgress(elapsed: Int64)
        /// Say all ledgers, and then the result.
        case report
        case finish
        case fail(String)
    }

    enum State: Equatable {
        case joining(until: Timestamp)
        case connecting(LoadShare)
        case ready(LoadShare, until: Timestamp)
        case running(LoadShare, from: Timestamp)
        /// With how many inputs were answered when `until` was set.
        case draining(LoadShare, from: Timestamp, answered: Int, until: Timestamp)
        case reporting(until: Timestamp)
        case ended
    }

    private(set) var state: State
    private var nextWord: Timestamp

    private static let patience = Duration.seconds(60)
    /// While others are waited for: the coordinator gives up first, and says so.
    private static let gatheringPatience = LoadProtocol.gathering + patience
    private static let interval = Duration.microseconds(LoadProtocol.interval)
    /// Between the word to start and the start, in microseconds.
    private static let longestLead: Int64 = 60_000_000

    public init(now: Timestamp) {
        state = .joining(until: now + Self.gatheringPatience)
        nextWord = now + Self.interval
    }

    /// When `ticked` is to be called at the latest.
    public var deadline: Timestamp {
        switch state {
        case .joining(let until), .reporting(let until): min(nextWord, until)
        case .running(let share, let start): min(nextWord, start + .microseconds(share.plan.duration))
        case .draining(_, _, _, let until): min(nextWord, until)
        case .connecting, .ready: nextWord
        case .ended: Timestamp(microseconds: .max)
        }
    }
}

// MARK: - Events

extension AgentMachine {
    /// The socket is there.
    public func joined(as name: String, on machine: String) -> [Action] {
        [.say(.join(version: LoadProtocol.version, name: name, machine: machine))]
    }

    public mutating func heard(_ message: CoordinatorMessage, now: Timestamp) -> [Action] {
        switch (state, message) {
        case (.ended, _): return []
        case (_, .dismissed(let reason)): return fail(reason)
        case (_, .plan(let share)) where !share.isPlausible: return fail("the coordinator's plan has numbers that cannot be")
        case (.joining, .plan(let share)):
            state = .connecting(share)
            return [.prepare(share)]
        case (.ready(let share, _), .start(let delay)):
            let start = now + .microseconds(min(max(0, delay), Self.longestLead))
            state = .running(share, from: start)
            nextWord = start + Self.interval
            return [.begin(at: start), .tellProgress(elapsed: 0)]
        case (.running(let share, let start), .stop): return end(share, start, now)
        case (.draining, .stop), (.reporting, .stop): return []
        case (.reporting, .thanks):
            state = .ended
            return [.finish]
        case (_, .stop): return fail("the load test was stopped before it began")
        default: return fail("the coordinator said something that makes no sense now: is it of another version?")
        }
    }

    /// All clients are welcome at the store.
    public mutating func connected(timeline: String, now: Timestamp) -> [Action] {
        guard case .connecting(let share) = state else { return [] }
        state = .ready(share, until: now + Self.gatheringPatience)
        return [.say(.ready(timeline: timeline))]
    }

    /// Time has passed.
    ///
    /// - Parameter answered: inputs with an outcome. As long as there are ever more of them, a slow store is waited for.
    public mutating func ticked(isIdle: Bool, answered: Int, connected: Int = 0, now: Timestamp) -> [Action] {
        switch state {
        case .ended: return []
        case .joining(let until), .ready(_, let until): return wait(Self.gatheringPatience, until: until, now)
        case .reporting(let until): return wait(Self.patience, until: until, now)
        case .connecting: return isTimeToSpeak(now) ? [.say(.connecting(count: connected))] : []
        case .running(let share, let start):
            var actions = progress(start, now)
            if now >= start + .microseconds(share.plan.duration) { actions += end(share, start, now) }
            return actions
        case .draining(let share, let start, let before, let until):
            var actions = progress(start, now)
            if answered > before { drain(share, start, answered, now) }
            guard isIdle || answered == before && now >= until else { return actions }
            // It may have been stopped before the start.
            actions += [.tellProgress(elapsed: max(0, (now - start).microseconds)), .report]
            state = .reporting(until: now + Self.patience)
            return actions
        }
    }

    /// The connection to the coordinator broke. An agent that has told its result has done its part: whether the coordinator made
    /// something of it, the coordinator says.
    public mutating func disconnected() -> [Action] {
        guard case .reporting = state else { return fail("the coordinator is gone") }
        state = .ended
        return [.finish]
    }
}

// MARK: - Decisions

extension AgentMachine {
    private mutating func wait(_ patience: Duration, until end: Timestamp, _ now: Timestamp) -> [Action] {
        if now >= end { return fail("the coordinator has said nothing for \(patience.components.seconds) s") }
        return isTimeToSpeak(now) ? [.say(.alive)] : []
    }

    private mutating func end(_ share: LoadShare, _ start: Timestamp, _ now: Timestamp) -> [Action] {
        drain(share, start, 0, now)
        // The second half is for the answers.
        return [.end(at: now, late: now + .microseconds(share.plan.drain / 2))]
    }

    private mutating func drain(_ share: LoadShare, _ start: Timestamp, _ answered: Int, _ now: Timestamp) {
        state = .draining(share, from: start, answered: answered, until: now + .microseconds(share.plan.drain))
    }

    private mutating func progress(_ start: Timestamp, _ now: Timestamp) -> [Action] {
        isTimeToSpeak(now) ? [.tellProgress(elapsed: (now - start).microseconds)] : []
    }

    /// Once in a second, and not more often after a pause.
    private mutating func isTimeToSpeak(_ now: Timestamp) -> Bool {
        guard now >= nextWord else { return false }
        while nextWord <= now { nextWord = nextWord + Self.interval }
        return true
    }

    private mutating func fail(_ reason: String) -> [Action] {
        guard state != .ended else { return [] }
        state = .ended
        return [.fail(reason)]
    }
}
