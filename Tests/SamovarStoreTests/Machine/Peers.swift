import MachineSupport
import MessagePack
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

func client(_ number: UInt8) -> Route { Route(listener: .front, id: [0, number]) }
func worker(_ number: UInt8) -> Route { Route(listener: .work, id: [0, number]) }
let admin = Route(listener: .admin, id: [0, 1])

func session(_ number: UInt8) -> SessionID { SessionID(high: 100, low: UInt64(number)) }
func workerID(_ number: UInt8) -> WorkerID { WorkerID(high: 200, low: UInt64(number)) }

let shop = Shop.schema

func inputs(_ inputs: [Shop.Input], from sequence: Int = 1, confirmed: Int = 0) -> Frame {
    .send(
        inputs.enumerated().map { Submission(sequence: sequence + $0.offset, input: packed($0.element)) }, confirmed: confirmed)
}

func job(
    _ name: String, queue: String = "default", attempts: Int = 1, timeout: Int? = nil, delay: Int = 0, diesSilently: Bool = false
) -> Shop.Job {
    Shop.Job(name: name, queue: queue, attempts: attempts, timeout: timeout, delay: delay, diesSilently: diesSilently)
}

func applied(_ sequence: Int, _ turn: Int) -> Outcome { Outcome(sequence: sequence, turn: turn, verdict: .applied) }

extension JobTask {
    func answered(_ names: String...) -> JobResult { result(.done(MessageList(names.map { packed(Shop.Message.finished($0)) }))) }

    func failed(_ text: String = "no luck", permanent: Bool = false) -> JobResult {
        result(.failed(.threw, text, permanent: permanent))
    }

    func result(_ answer: JobResult.Answer) -> JobResult {
        JobResult(effect: effect, lease: lease, token: token, answer: answer)
    }

    var name: String {
        do {
            return try unpacked(Shop.Job.self, Array(payload)).name
        } catch {
            return "\(error)"
        }
    }
}

extension Rig {
    /// A client that is welcomed under this number.
    @discardableResult
    func connectClient(
        _ number: UInt8 = 1, witness: Int = 0, proof: UInt64? = nil, start: Int = 0, takesProofs: Bool = true,
        epoch: Int = 1, at route: Route? = nil
    ) -> [Frame] {
        let hello = Hello(
            role: .client(session: session(number)), schema: shop, witness: witness, proof: proof, start: start,
            takesProofs: takesProofs, epoch: epoch)
        return exchange(.hello(hello), from: route ?? client(number))
    }

    /// A worker that is welcomed under this number and gives this credit.
    @discardableResult
    func connectWorker(
        _ number: UInt8 = 1, slots: Int = 1, queues: [Queue] = [.default], claims: [JobClaim] = [], credit: Int = 1,
        epoch: Int = 1, at route: Route? = nil, of timeline: Timeline = home
    ) -> [Frame] {
        let offer = WorkerOffer(id: workerID(number), slots: slots, queues: queues, running: claims)
        let route = route ?? worker(number)
        deliver(.hello(Hello(role: .worker(offer), schema: shop, epoch: epoch)), from: route, of: timeline)
        deliver(.credit(credit), from: route)
        round()
        return take(route)
    }

    /// Orders jobs through client 1, which must be connected.
    func order(_ jobs: Shop.Job..., sequence: Int = 1) {
        deliver(inputs([.order(jobs)], from: sequence), from: client(1))
        round()
    }

    func ask(_ verb: String, effect: String? = nil) -> AdminReply? {
        ask(verb, effect.map { ["effect": .string($0)] } ?? .nil)
    }

    func ask(_ verb: String, _ arguments: MessagePackValue) -> AdminReply? {
        requests += 1
        for case .reply(let reply) in exchange(.request(AdminRequest(id: requests, verb: verb, arguments: arguments)), from: admin)
        {
            return reply
        }
        return nil
    }
}

extension Connections {
    /// Nobody is there, and nothing is left of who was.
    var isEmpty: Bool { count == 0 && known.isEmpty }
}

extension [Frame] {
    var tasks: [JobTask] {
        flatMap { frame -> [JobTask] in
            if case .task(let tasks, _) = frame { tasks } else { [] }
        }
    }
}
