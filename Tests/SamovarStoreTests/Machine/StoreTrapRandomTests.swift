import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Several poisonous items in one run, met in any order: inputs and answers that end the store, jobs that kill their workers.
@Suite struct StoreTrapRandomTests {
    /// Clients with scripts, workers with a job each, and a store that dies whenever it meets a poison, or is killed.
    final class World {
        let store: TrappedStore
        let scripts: [UInt8: [Shop.Input]]
        let seed: UInt64
        var random: Random
        var outcomes: [UInt8: [Int: Outcome.Verdict]] = [:]
        var sent: [UInt8: Int] = [:]
        /// The job of each worker, by the number of its process.
        var held: [UInt8: JobTask] = [:]
        var credit: [UInt8: Int] = [:]
        var workers: [UInt8] = [1, 2]
        var epoch = 1
        /// Of the newest connection of each; what is sent to an older one is lost with it.
        var clientRoutes: [UInt8: Route] = [:]
        var workerRoutes: [UInt8: Route] = [:]

        var rig: Rig { store.rig }

        init(seed: UInt64) throws {
            self.seed = seed
            var random = Random(seed: seed)
            var scripts: [UInt8: [Shop.Input]] = [:]
            for client: UInt8 in 1...3 {
                var script: [Shop.Input] = (1...6).map { .add(Int(client) * 100 + $0) }
                script += (1...2).map { .order([job("fine \(client) \($0)")]) }
                // At most two of each client: a poison, a job with a deadly answer, a job that is deadly for its worker.
                let poisons: [Shop.Input] = [
                    .add(World.poison + Int(client)), .order([job("trap \(client)")]),
                    .order([job("kill \(client)", diesSilently: true)]),
                ]
                script += poisons.shuffled(using: &random).prefix(client == 1 ? 3 : 2)
                scripts[client] = script.shuffled(using: &random)
            }
            self.scripts = scripts
            self.random = random
            store = try TrappedStore { call in
                switch call {
                case .input(.add(let number)): number > World.poison
                case .answer(let name): name.hasPrefix("trap")
                default: false
                }
            }
        }

        static let poison = 1_000_000

        var isDone: Bool {
            scripts.allSatisfy { outcomes[$0.key]?.count == $0.value.count } && rig.durable.ledger.open.isEmpty && held.isEmpty
        }

        /// One life of the store. Whoever was connected comes back, with what it holds.
        func life() throws {
            sent.removeAll()
            let commitsAtOnce = Bool.random(using: &random)
            rig.commits = commitsAtOnce
            for client in scripts.keys.sorted() where !store.hasTrapped { connect(client: client) }
            for worker in workers where !store.hasTrapped { connect(worker: worker) }
            for _ in 0..<80 where !store.hasTrapped && !isDone { step() }
            if isDone { return }
            // Whoever kills it from outside does so at any place.
            let isKilled = !store.hasTrapped || Int.random(in: 0..<6, using: &random) == 0
            try store.restart(isKilled ? .kill : .trap)
        }

        func connect(client number: UInt8) {
            let route = nextRoute(.front)
            clientRoutes[number] = route
            collect(client: number, rig.connectClient(number, epoch: epoch, at: route))
        }

        func connect(worker number: UInt8) {
            let route = nextRoute(.work)
            workerRoutes[number] = route
            let claims = held[number].map { [JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token)] } ?? []
            credit[number] = claims.isEmpty ? 1 : 0
            let frames = rig.connectWorker(
                number, claims: claims, credit: credit[number] ?? 0, epoch: epoch, at: route)
            collect(worker: number, frames)
        }

        private func nextRoute(_ listener: Listener) -> Route {
            epoch += 1
            return Route(listener: listener, id: [1, UInt8(truncatingIfNeeded: epoch >> 8), UInt8(truncatingIfNeeded: epoch)])
        }

        func step() {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: send(UInt8.random(in: 1...3, using: &random))
            case 4...6: if let worker = workers.randomElement(using: &random) { work(worker) }
            case 7...8: rig.commit()
            default: pass(.milliseconds(Int.random(in: 0...2_500, using: &random)))
            }
            guard !store.hasTrapped else { return }
            rig.round()
            for (number, route) in clientRoutes { collect(client: number, rig.take(route)) }
            for number in workers { if let route = workerRoutes[number] { collect(worker: number, rig.take(route)) } }
        }

        /// Everything from the first on: what the store has, it knows.
        func send(_ number: UInt8) {
            guard let script = scripts[number], let route = clientRoutes[number] else { return }
            let count = min(script.count, sent[number, default: 0] + Int.random(in: 1...4, using: &random))
            sent[number] = count
            rig.deliver(inputs(Array(script.prefix(count))), from: route)
        }

        func work(_ number: UInt8) {
            guard let task = held[number], let route = workerRoutes[number] else { return }
            guard !task.name.hasPrefix("kill") else {
                held[number] = nil
                rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
                workers.removeAll { $0 == number }
                let next = (workers.max() ?? 0) &+ 1
                workers.append(max(next, number &+ 1))
                return connect(worker: workers[workers.count - 1])
            }
            rig.deliver(.result([task.answered(task.name)], credit: credit[number] ?? 0), from: route)
        }

        /// Those who are there are heard of again.
        func pass(_ time: Duration) {
            rig.now = rig.now + time
            for client in scripts.keys.sorted() where !store.hasTrapped { connect(client: client) }
            for worker in workers where !store.hasTrapped { connect(worker: worker) }
        }

        func collect(client number: UInt8, _ frames: [Frame]) {
            for outcome in frames.outcomes {
                let known = outcomes[number, default: [:]].updateValue(outcome.verdict, forKey: outcome.sequence)
                #expect(known == nil || known == outcome.verdict, "seed \(seed): client \(number) is told something else")
            }
        }

        func collect(worker number: UInt8, _ frames: [Frame]) {
            for frame in frames {
                switch frame {
                case .task(let tasks, _):
                    #expect(tasks.count == 1 && held[number] == nil, "seed \(seed): more than there is room for")
                    held[number] = tasks.first
                case .acknowledge(let leases), .cancel(let leases, _):
                    guard let task = held[number], leases.contains(task.lease) else { continue }
                    held[number] = nil
                    credit[number, default: 0] += 1
                    if let route = workerRoutes[number] { rig.deliver(.credit(credit[number] ?? 0), from: route) }
                default: break
                }
            }
        }
    }

    @Test(arguments: 1...6)
    func `However many poisons there are, each is given up and all else is applied exactly once`(group: UInt64) throws {
        for seed in (group * 5 - 4)...(group * 5) {
            let world = try World(seed: seed)
            for _ in 0..<400 where !world.isDone { try world.life() }
            #expect(world.isDone, "seed \(seed): \(world.outcomes) \(world.rig.durable.ledger.open.keys)")
            try expectJustice(world, seed)
            try expectService(world, seed)
        }
    }

    private func expectJustice(_ world: World, _ seed: UInt64) throws {
        var total = 0
        var done: [String] = []
        var parked: [String: Failure.Reason] = [:]
        var poisons = 0
        for (client, script) in world.scripts {
            for (index, input) in script.enumerated() {
                let verdict = try #require(world.outcomes[client]?[index + 1])
                switch input {
                case .add(let number) where number > World.poison:
                    poisons += 1
                    guard case .rejected(let text) = verdict, text.hasPrefix("quarantined: the store ended") else {
                        Issue.record("seed \(seed): \(verdict)")
                        continue
                    }
                case .add(let number):
                    total += number
                    #expect(verdict == .applied, "seed \(seed): \(input)")
                case .order(let jobs):
                    #expect(verdict == .applied, "seed \(seed): \(input)")
                    let name = jobs[0].name
                    switch name.prefix(4) {
                    case "trap":
                        poisons += 1
                        parked[name] = .unhandled
                    case "kill": parked[name] = .workerDied
                    default: done.append(name)
                    }
                default: Issue.record("not in a script")
                }
            }
        }
        let state = try world.rig.state()
        #expect(state.total == total, "seed \(seed)")
        #expect(state.done.sorted() == done.sorted(), "seed \(seed)")
        var dead: [String: Failure.Reason] = [:]
        for entry in world.rig.durable.ledger.dead.values {
            dead[try unpacked(Shop.Job.self, entry.effect.payload).name] = entry.failure.reason
        }
        #expect(dead == parked, "seed \(seed)")
        #expect(world.store.starts > 3 * poisons, "seed \(seed): \(world.store.starts) starts for \(poisons) poisons")
        #expect(world.rig.suspects.isEmpty, "seed \(seed)")
    }

    /// The store takes more, and the next one comes to the same.
    private func expectService(_ world: World, _ seed: UInt64) throws {
        let rig = world.rig
        rig.commits = true
        rig.connectClient(9)
        #expect(rig.exchange(inputs([.add(7)]), from: client(9)).outcomes.map(\.verdict) == [.applied], "seed \(seed)")
        let again = try rig.restarted()
        #expect(try again.state() == rig.state(), "seed \(seed)")
    }
}
