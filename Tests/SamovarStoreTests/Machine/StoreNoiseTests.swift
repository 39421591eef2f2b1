import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// A peer can never crash the store, whatever it sends.
@Suite struct StoreNoiseTests {
    @Test(arguments: Listener.allCases)
    func `Noise is counted and dropped`(_ listener: Listener) throws {
        let rig = try Rig()
        rig.round()
        let route = Route(listener: listener, id: [1])
        for parts: [[UInt8]] in [[], [[]], [[1, 2, 3]], [[], [], []], [Array(repeating: 0, count: 32)]] {
            rig.machine.received(parts, from: route, now: rig.now)
        }
        rig.machine.receivedNoise("more than two frames", from: route, now: rig.now)
        rig.round()
        #expect(rig.machine.out.droppedFrames == 6)
        #expect(rig.takeNotes().count == 3, "of the 1st, 2nd, 4th …")
        #expect(rig.take(route) == [])
        #expect(rig.machine.head == 1)
    }

    @Test func `Noise that comes when the store has stopped is neither counted nor told of`() throws {
        let rig = try Rig()
        rig.round()
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(rig.stop == .drained)
        _ = rig.takeNotes()
        rig.machine.receivedNoise("more than two frames", from: client(1), now: rig.now)
        rig.round()
        #expect(rig.takeNotes() == [] && rig.machine.out.droppedFrames == 0)
    }

    @Test func `Frames at the wrong door are misuse`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        let clientHello = Frame.hello(Hello(role: .client(session: session(8)), schema: shop))
        for (frame, route) in [
            (clientHello, worker(8)), (.pong(1), client(1)), (.settled(turn: 1, dead: []), worker(1)), (.ping(1), admin),
        ] {
            guard case .error(let error)? = rig.exchange(frame, from: route).last else {
                Issue.record("\(frame) was taken")
                continue
            }
            #expect(error.code == .misuse)
        }
        #expect(rig.machine.out.droppedFrames == 4)
    }

    @Test(arguments: ["inspect", "effects", "drop", "drain"])
    func `The state and the effects are for operators: a client or a worker that asks is told nothing`(_ verb: String) throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        let request = Frame.request(AdminRequest(id: 1, verb: verb, arguments: .nil))
        for route in [client(1), worker(1)] {
            guard case .error(let error)? = rig.exchange(request, from: route).last else {
                Issue.record("\(verb) was taken from \(route)")
                continue
            }
            #expect(error.code == .misuse)
        }
        #expect(rig.ask(verb) != nil, "an operator is answered")
    }

    /// Frames of every kind at every listener, with numbers at the ends of their range, in a store that has work.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `No frame traps`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(slots: 4, credit: 4)
        rig.deliver(inputs([.add(1), .order([job("a"), job("b", timeout: 2)]), .add(2)]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        for index in 0..<5_000 {
            let route = [client(1), worker(1), admin, client(2), worker(2)].randomElement(using: &random) ?? admin
            var parts = Envelope(frame(tasks, &random), timeline: home).parts
            if Bool.random(using: &random) { mutate(&parts, &random) }
            rig.machine.received(parts, from: route, now: rig.now)
            if index % 8 == 0 { rig.tick(.milliseconds(20)) }
            guard rig.stop == nil else { break }
        }
        #expect(rig.stop == nil)
    }

    private func frame(_ tasks: [JobTask], _ random: inout Random) -> Frame {
        let number = [Int.min, -1, 0, 1, 2, 5, 1_000, .max].randomElement(using: &random) ?? 0
        let task = tasks.randomElement(using: &random)
        let result = JobResult(
            effect: task?.effect ?? EffectID(turn: number, ordinal: number), lease: Lease(start: 1, counter: number),
            token: UInt64(truncatingIfNeeded: number), answer: .done([]))
        let genuine = task?.failed() ?? result
        let submission = Submission(sequence: number, input: packed(Shop.Input.add(1)))
        let verb = ["status", "inspect", "effects", "requeue", "drop", "nonsense"].randomElement(using: &random) ?? ""
        let frames: [Frame] = [
            .hello(Hello(role: .client(session: session(1)), schema: shop, witness: number, epoch: number)),
            .hello(
                Hello(
                    role: .worker(WorkerOffer(id: workerID(2), slots: 65_536, queues: ["", "default"])), schema: shop,
                    epoch: number)),
            .ping(number), .pong(number), .goodbye, .drain, .send([submission, submission], confirmed: number),
            .settle(turn: number), .viewRequest(instance: .main, atLeast: number), .credit(number),
            .result([result, genuine], credit: number), .acknowledge([]),
            .request(AdminRequest(id: number, verb: verb, arguments: ["effect": .string("\(number)/\(number)")])),
        ]
        return frames.randomElement(using: &random) ?? .goodbye
    }

    private func mutate(_ parts: inout [[UInt8]], _ random: inout Random) {
        guard let part = parts.indices.randomElement(using: &random), !parts[part].isEmpty else { return }
        // The header's timeline and number, or anything of the body.
        let range = part == 0 ? 5..<32 : 0..<parts[part].count
        guard let index = range.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: parts[part][index] = UInt8.random(in: 0...255, using: &random)
        case 1: parts[part][index] ^= 0x80
        default: parts[part].removeLast()
        }
    }
}
