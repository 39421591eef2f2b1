import MessagePack
import SamovarCore
import SamovarPeers
import SamovarText
import SamovarWire

@testable import SamovarConformance

/// Our client machine, which sends what it reads and prints what became of it, in the order of the lines.
final class VirtualClient: VirtualPeer {
    var deeds: [Deed] = []
    private var machine: ClientMachine
    private var unread: [[UInt8]] = []
    private var isInputClosed = false
    private var outcomes: [Int: Value] = [:]
    private var printed = 0

    init(settings: ClientMachine.Settings = .standard, seed: UInt64 = 1) {
        machine = ClientMachine(session: SessionID(high: 3, low: 4), schema: nil, settings: settings, random: Random(seed: seed))
    }

    var deadline: Timestamp? { machine.deadline }

    func received(_ parts: [[UInt8]], now: Timestamp) {
        // What is no frame is dropped.
        if let envelope = try? Envelope(parts: parts) { perform(machine.received(envelope, now: now)) }
        goOn(now)
    }

    func ticked(now: Timestamp) {
        perform(machine.ticked(now: now))
        goOn(now)
    }

    func read(_ line: String?, now: Timestamp) {
        if let line, let value = try? JSONTranscoder.parse(line) { unread.append(packed([value])) } else { isInputClosed = true }
        goOn(now)
    }

    func terminate(now: Timestamp) {}

    private func goOn(_ now: Timestamp) {
        while let input = unread.first, (try? machine.submit(input)) != nil { unread.removeFirst() }
        perform(machine.flush(now: now))
        tell()
        if isInputClosed, unread.isEmpty, machine.unanswered == 0 {
            isInputClosed = false
            perform(machine.close())
        }
    }

    private func tell() {
        while let line = outcomes.removeValue(forKey: printed + 1) {
            printed += 1
            deeds.append(.print(line))
        }
    }

    private func perform(_ actions: [ClientMachine.Action]) {
        for action in actions {
            switch action {
            case .connect: deeds.append(.connect)
            case .disconnect: deeds.append(.disconnect)
            case .send(let envelope): deeds.append(.send(envelope.parts))
            case .answered(let outcome): outcomes[outcome.sequence] = line(outcome)
            case .unknown(let sequence, _): outcomes[sequence] = ["status": "unknown"]
            case .refused:
                tell()
                deeds.append(.exit(78))
            case .stop: deeds.append(.exit(0))
            default: break
            }
        }
    }

    private func line(_ outcome: Outcome) -> Value {
        let turn = Value.int(Int64(outcome.turn))
        switch outcome.verdict {
        case .applied: return ["status": "applied", "turn": turn]
        case .refused(let bytes): return ["status": "refused", "turn": turn, "refusal": Value.binary(bytes).unpacked ?? .nil]
        case .rejected(let reason): return ["status": "rejected", "reason": .string(reason)]
        }
    }
}
