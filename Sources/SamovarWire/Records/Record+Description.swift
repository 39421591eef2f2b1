public import MessagePack
import SamovarCore

/// A record for people and scripts: what `journal list` shows.
extension Record {
    /// `started`, `applied` and so on, as docs/journal.md has them.
    public var kind: String { "\(event.kind)" }

    /// Who caused it, in a few words.
    public var originText: String {
        switch origin {
        case .store: "store"
        case .client(let session, let sequence): "client \(session) #\(sequence)\(endsSession ? ", its last" : "")"
        case .effect(let effect, let lease, let index): "effect \(effect) lease \(lease.start).\(lease.counter) message \(index)"
        case .failure(let effect): "failure of effect \(effect)"
        case .followUp(let turn): "follow-up of \(turn)"
        case .operator: "operator"
        case .subscription(let activation, _): "subscription \(activation)"
        }
    }

    /// With which key it came; nil if none was needed.
    public var senderText: String? { sender.map { "\($0.name) \($0.fingerprint)" } }

    /// Whether it is an input with which its client's session ends.
    private var endsSession: Bool {
        if case .applied(_, _, closes: true) = event { true } else { false }
    }

    /// What else it holds; nil if nothing.
    public var detail: MessagePackValue {
        switch event {
        case .started(let number, let build, let schema, _):
            ["start": .int(Int64(number)), "build": .string(Record.Event.name(ofBuild: build)), "schema": .string("\(schema)")]
        case .applied(let message, _, _), .streamed(let message, _, _): MessagePackValue(shown: message)
        case .refused(.refused(let refusal)): MessagePackValue(shown: refusal)
        case .refused(.rejected(let text)): .string(text)
        case .refused(.applied), .drained: .nil
        case .attemptFailed(let effect, let reason, let text, _):
            ["effect": .string("\(effect)"), "reason": .string(reason.rawValue), "text": .string(text)]
        case .dead(let effect, let failure): ["effect": .string("\(effect)"), "failure": .string("\(failure)")]
        case .done(let effect), .requeued(let effect), .dropped(let effect): ["effect": .string("\(effect)")]
        case .quarantined(let why): .string(why)
        case .divergenceAccepted(let turn, _, let build): ["turn": .int(Int64(turn)), "build": .string(build)]
        case .controlled(let control): control.shown
        case .stateDigest(let digest): ["digest": .string(hexadecimal(digest))]
        case .workerJoined(let id), .workerLeft(let id): ["worker": .string("\(id)")]
        case .sessionExpired(let id): ["session": .string("\(id)")]
        }
    }
}

extension MessagePackValue {
    package init(shown bytes: [UInt8]) {
        var reader = MessagePackReader(bytes)
        // What cannot be shown is shown as bytes: it must not hide the rest of a list.
        self = (try? reader.readValue()) ?? .binary(bytes)
    }
}
