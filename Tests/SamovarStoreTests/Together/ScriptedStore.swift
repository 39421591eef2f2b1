import MachineSupport
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// As much of a store as a client and a worker can tell: each input is a turn that orders one effect. What it has taken stays;
/// what it knows of its peers' connections is lost with them.
struct ScriptedStore {
    private var head = 0
    private var outcomes: [Outcome] = []
    private var confirmed = 0
    /// Effects without an answer, and the lease under which each was handed out.
    private var open: [EffectID: Lease?] = [:]
    private var leases = 0
    /// How often an answer was applied, by effect.
    private(set) var applied: [EffectID: Int] = [:]
    /// How many messages each effect has streamed.
    private(set) var streamed: [EffectID: Int] = [:]
    /// Effects whose answer came before all that they had streamed, or whose messages came out of order.
    private(set) var torn: [EffectID] = []
    private var marks: [Lease: Int] = [:]

    private var knowsClient = false
    private var knowsWorker = false
    private var credit = 0
    private var handedOut = 0

    let window = 8

    var inputs: Int { outcomes.count }
    var isSettled: Bool { open.isEmpty }

    mutating func loseClient() {
        knowsClient = false
    }

    mutating func loseWorker() {
        knowsWorker = false
    }

    mutating func fromClient(_ frame: Frame) -> [Frame] {
        if case .hello = frame {
            knowsClient = true
            return [
                .welcome(
                    Welcome(
                        schema: counter, expected: outcomes.count + 1, credit: confirmed + window, head: head,
                        silence: .seconds(6)))
            ]
        }
        guard knowsClient else { return [.error(PeerError(.unknownPeer, "say HELLO first"))] }
        switch frame {
        case .ping(let confirmed):
            self.confirmed = max(self.confirmed, confirmed)
            return [.pong(self.confirmed + window)]
        case .send(let submissions, let confirmed):
            self.confirmed = max(self.confirmed, confirmed)
            return take(submissions)
        default: return []
        }
    }

    private mutating func take(_ submissions: [Submission]) -> [Frame] {
        var answers: [Outcome] = []
        for submission in submissions {
            guard submission.sequence <= outcomes.count + 1 else {
                let error = PeerError(.resync, "out of order", expected: outcomes.count + 1)
                return [.receipt(answers, credit: confirmed + window), .error(error)]
            }
            if submission.sequence == outcomes.count + 1 {
                head += 1
                outcomes.append(Outcome(sequence: submission.sequence, turn: head, verdict: .applied))
                open[EffectID(turn: head, ordinal: 0)] = .some(nil)
            }
            answers.append(outcomes[submission.sequence - 1])
        }
        return [.receipt(answers, credit: confirmed + window)]
    }

    mutating func fromWorker(_ frame: Frame) -> [Frame] {
        if case .hello(let hello) = frame, case .worker(let offer) = hello.role {
            return welcome(offer) + handOut()
        }
        guard knowsWorker else { return [.error(PeerError(.unknownPeer, "say HELLO first"))] }
        switch frame {
        case .ping(let number), .credit(let number):
            credit = max(credit, number)
            return [.pong(number)] + handOut()
        case .result(let results, let number):
            credit = max(credit, number)
            for result in results { take(result) }
            let answered = results.filter { if case .streamed = $0.answer { false } else { true } }.map(\.lease)
            defer { marks.removeAll() }
            let streams = marks.sorted { $0.key < $1.key }.map { StreamMark(lease: $0.key, index: $0.value) }
            return (streams.isEmpty ? [] : [.streamed(streams)]) + (answered.isEmpty ? [] : [.acknowledge(answered)]) + handOut()
        default: return []
        }
    }

    private mutating func welcome(_ offer: WorkerOffer) -> [Frame] {
        knowsWorker = true
        credit = 0
        handedOut = 0
        let claimed = Set(offer.running.map(\.lease))
        for (effect, lease) in open {
            // Handed out, and never arrived.
            if let lease, !claimed.contains(lease) { open[effect] = .some(nil) }
        }
        return [.welcome(Welcome(schema: counter, head: head, silence: .seconds(6)))]
    }

    private mutating func take(_ result: JobResult) {
        guard open[result.effect] != nil else { return }
        switch result.answer {
        case .done(let messages):
            if messages.first?.first.map(Int.init) != streamed[result.effect, default: 0] { torn.append(result.effect) }
            open[result.effect] = nil
            applied[result.effect, default: 0] += 1
            head += 1
        case .streamed(let index, _, _):
            let last = streamed[result.effect, default: 0]
            guard index <= last + 1 else { return }
            streamed[result.effect] = max(last, index)
            marks[result.lease] = max(marks[result.lease, default: 0], index)
        case .failed, .returned:
            open[result.effect] = .some(nil)
        }
    }

    /// Hands out what has no lease, as far as the worker's credit goes.
    mutating func handOut() -> [Frame] {
        guard knowsWorker else { return [] }
        var tasks: [JobTask] = []
        for effect in open.keys.sorted() where open[effect] == .some(nil) && handedOut < credit {
            leases += 1
            handedOut += 1
            let lease = Lease(start: 1, counter: leases)
            open[effect] = lease
            tasks.append(JobTask(effect: effect, lease: lease, token: 0, attempt: 1, payload: [0xc0]))
        }
        return tasks.isEmpty ? [] : [.task(tasks, number: handedOut)]
    }
}
