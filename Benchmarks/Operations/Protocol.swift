import Foundation
import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

private let timeline = UniqueID(high: 1, low: 1)
private let session = UniqueID(high: 9, low: 9)
private let now = Timestamp(microseconds: 1_700_000_000_000_000)

func protocolBenchmarks() {
    let input = prepared { try MessagePackEncoder().encode(PackableMessage(step: 1)) }
    let frame = Envelope(.send((1...64).map { Submission(sequence: $0, input: input) }, confirmed: 0), timeline: timeline)
    let parts = frame.parts
    precondition(prepared { try Envelope(parts: parts) } == frame, "a frame is not read as it was written")
    measure("frames, write 64 inputs") { frame.parts }
    measure("frames, read 64 inputs") { try Envelope(parts: parts) }

    let store = prepared { try Store() }
    measure("store machine, one input to its receipt") { try store.take(input) }
}

/// A store's machine with one client, whose journal commits at once.
private final class Store {
    private var machine: StoreMachine
    private let route = Route(listener: .front, id: [1])
    private var sequence = 0

    init() throws {
        var settings = StoreSettings()
        settings.snapshotTurns = .max
        settings.snapshotBytes = .max
        let secret = Secret(high: 1, low: 2)
        machine = StoreMachine(
            settings: settings, engine: TypedEngine(Tally<PackableMessage>.self, secret: secret), timeline: timeline,
            secret: secret,
            build: "benchmark")
        try machine.start(seed: try MessagePackEncoder().encode(NoSeed()), now: now)
        let hello = Hello(role: .client(session: session), schema: Tally<PackableMessage>.schema)
        machine.received(Envelope(.hello(hello), timeline: .zero).parts, from: route, now: now)
        _ = machine.takeActions()
    }

    func take(_ input: [UInt8]) throws -> Int {
        let head = machine.head
        sequence += 1
        let submission = Submission(sequence: sequence, input: input)
        let frame = Envelope(.send([submission], confirmed: sequence - 1), timeline: timeline)
        machine.received(frame.parts, from: route, now: now)
        machine.advance(now: now)
        machine.flush(now: now)
        for case .append(_, let last, _) in machine.takeActions() { machine.committed(through: last, now: now) }
        precondition(machine.head == head + 1, "the input was not taken")
        return machine.takeActions().count
    }
}
