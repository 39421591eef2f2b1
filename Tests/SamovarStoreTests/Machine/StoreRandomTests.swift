import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Events in any order, commits that come late, peers that die and come back, and a store that is killed.
@Suite struct StoreRandomTests {
    /// What one client and its workers do; they keep to the protocol, apart from sending things twice.
    struct World {
        var rig: Rig
        var random: Random
        var sequence = 0
        var held: [UInt8: [JobTask]] = [:]
        var attempts = 1
        var credit: [UInt8: Int] = [:]
        /// The newest message that each attempt has streamed.
        var streamed: [Lease: Int] = [:]

        init(seed: UInt64) throws {
            var settings = StoreSettings()
            settings.batchTurns = 6
            settings.turnsPerRound = 3
            settings.window = 16
            settings.openEffects = 40
            rig = try Rig(settings)
            rig.commits = false
            random = Random(seed: seed)
            connect()
        }

        mutating func connect() {
            attempts += 1
            sequence = rig.machine.turns.state.sessions.last(of: session(1))
            rig.connectClient(epoch: attempts)
            for number: UInt8 in 1...3 { join(number) }
        }

        mutating func join(_ number: UInt8) {
            attempts += 1
            let claims = held[number, default: []].map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
            credit[number] = 2
            collect(number, rig.connectWorker(number, slots: 2, claims: claims, credit: 2, epoch: attempts))
        }

        mutating func collect(_ number: UInt8, _ frames: [Frame]) {
            for frame in frames {
                switch frame {
                case .task(let tasks, _): held[number, default: []] += tasks
                case .acknowledge(let leases), .cancel(let leases, _):
                    held[number]?.removeAll { leases.contains($0.lease) }
                case .streamed(let marks):
                    for mark in marks {
                        guard let task = held[number]?.first(where: { $0.lease == mark.lease }),
                            let effect = rig.durable.ledger.open[task.effect]
                        else { continue }
                        #expect((effect.place?.index ?? 0) >= mark.index, "acknowledged, and not on disk")
                    }
                default: break
                }
            }
        }

        mutating func step() throws {
            let number = UInt8.random(in: 1...3, using: &random)
            switch Int.random(in: 0..<18, using: &random) {
            case 0...3: submit()
            case 4...6: if Int.random(in: 0..<3, using: &random) == 0 { answer(number) } else { stream(number) }
            case 7...9: rig.commit()
            case 10: rig.now = rig.now + .milliseconds(Int.random(in: 0...2_000, using: &random))
            case 11: rig.deliver(.ping(rig.machine.turns.state.sessions.last(of: session(1)) - 3), from: client(1))
            case 12: join(number)
            case 16, 17: stream(number)
            case 13: rig.deliver(.settle(turn: Int.random(in: 1...rig.machine.head, using: &random)), from: client(1))
            case 14:
                rig.deliver(.viewRequest(instance: .main, atLeast: rig.machine.head + 1), from: client(1))
                _ = rig.ask("inspect")
            default:
                held[number] = nil
                rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
                join(number)
            }
            if Int.random(in: 0..<3, using: &random) > 0 { rig.round() }
            for number: UInt8 in 1...3 { collect(number, rig.take(worker(number))) }
            for case .error(let error) in rig.take(client(1)) {
                if error.code == .unknownPeer { rig.connectClient(epoch: attempts) }
                sequence = rig.machine.clients[session(1)]?.received ?? 0
            }
        }

        mutating func submit() {
            let choices: [Shop.Input] = [
                .add(1), .chain(3), .forbidden, .order([job("a", attempts: 2, timeout: 1)]),
                .order([job("b", diesSilently: true), job("c", delay: 1)]),
            ]
            guard let input = choices.randomElement(using: &random) else { return }
            sequence += 1
            rig.deliver(inputs([input], from: max(1, sequence - Int.random(in: 0...1, using: &random))), from: client(1))
        }

        /// The next message of a job, one that was sent before, or one too early.
        mutating func stream(_ number: UInt8) {
            guard let task = held[number]?.randomElement(using: &random) else { return }
            let last = streamed[task.lease] ?? task.resume?.index ?? 0
            let index = max(1, last + ([1, 1, 1, 0, 2].randomElement(using: &random) ?? 1))
            if index == last + 1 { streamed[task.lease] = index }
            let message = packed(Shop.Message.finished("stream \(task.effect) \(index)"))
            let checkpoint: [UInt8]? = Bool.random(using: &random) ? [UInt8(truncatingIfNeeded: index)] : nil
            let result = task.result(.streamed(index: index, message: message, checkpoint: checkpoint))
            rig.deliver(.result([result], credit: credit[number, default: 2]), from: worker(number))
        }

        mutating func answer(_ number: UInt8) {
            guard let task = held[number]?.randomElement(using: &random) else { return }
            let choices = [
                task.answered("x"), task.answered("x", "y"), task.answered(), task.failed(), task.result(.returned),
                task.result(.done([[0xc1]])),
            ]
            guard let result = choices.randomElement(using: &random) else { return }
            credit[number, default: 2] += 1
            rig.deliver(.result([result], credit: credit[number, default: 2]), from: worker(number))
        }
    }

    /// What streams have left in the state: the numbers of each effect.
    static func streams(in rig: Rig) throws -> [String: [Int]] {
        var streams: [String: [Int]] = [:]
        for entry in try rig.state().done where entry.hasPrefix("stream ") {
            let words = entry.split(separator: " ")
            streams[String(words[1]), default: []].append(Int(words[2]) ?? 0)
        }
        return streams
    }

    /// The rig holds every frame against what is on disk, after each event.
    @Test(arguments: 1...8)
    func `Nothing tells of more than is on disk and a replay gives what was live`(_ group: UInt64) throws {
        var turns = 0
        var streams = 0
        for seed in (group * 25 - 24)...(group * 25) {
            var world = try World(seed: seed)
            for step in 0..<180 {
                try world.step()
                if step == 100 {
                    world.rig = try world.rig.restarted()
                    world.rig.commits = false
                    world.connect()
                }
                guard world.rig.stop == nil else { break }
            }
            let rig = world.rig
            #expect(rig.stop == nil, "seed \(seed)")
            rig.commits = true
            rig.round()
            #expect(rig.durable.head == rig.machine.head, "seed \(seed)")
            try Self.expectEqual(rig.machine.turns.state, rig.durable, seed: seed)
            try Self.expectSnapshotHolds(rig, seed: seed)
            turns += rig.durable.head
            for (effect, numbers) in try Self.streams(in: rig) {
                #expect(numbers == Array(1...numbers.count), "seed \(seed): the stream of effect \(effect)")
                streams += numbers.count
            }
        }
        #expect(
            turns > 25 * 40 && streams > 25 * 4,
            "the worlds do too little to show anything: \(turns) turns, \(streams) streamed messages")
    }

    /// Confirmations are no records, so only what is not confirmed is compared.
    static func expectEqual(_ live: StoreState, _ replayed: StoreState, seed: UInt64) throws {
        #expect(try live.engine.state() == replayed.engine.state(), "seed \(seed)")
        #expect(live.ledger == replayed.ledger, "seed \(seed)")
        #expect(live.joined == replayed.joined, "seed \(seed)")
        #expect(live.time == replayed.time && live.starts == replayed.starts && live.seed == replayed.seed, "seed \(seed)")
        #expect(live.sessions.sessions.keys == replayed.sessions.sessions.keys, "seed \(seed)")
        for (id, session) in live.sessions.sessions {
            let other = try #require(replayed.sessions.sessions[id])
            #expect(session.last == other.last)
            #expect(Array(session.outcomes) == Array(other.outcomes.suffix(session.outcomes.count)), "seed \(seed)")
        }
    }

    /// A snapshot of the replayed state, read back, is that state again.
    static func expectSnapshotHolds(_ rig: Rig, seed: UInt64) throws {
        let bytes = try rig.durable.snapshot()
        var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: rig.durable.sessions.window)
        try restored.restore(bytes)
        #expect(restored.head == rig.durable.head, "seed \(seed)")
        #expect(restored.ledger == rig.durable.ledger && restored.sessions == rig.durable.sessions, "seed \(seed)")
        #expect(try restored.snapshot() == bytes, "seed \(seed)")
    }
}
