package import MessagePack
import SamovarCore
package import SamovarStore
import SamovarWire

/// What would have been, for people: sections that have something to say.
extension WhatIf {
    package var lines: [String] {
        section("fell away:", lost) { "turn \($0.record.turn) (\($0.record.messageName)): \($0.reason.text)" }
            + section("new turns:", gained) { "turn \($0.turn), \($0.cause.text): \(shortened(text(of: $0.content), to: 200))" }
            + section("refused now:", refusals) { "turn \($0.turn): \(shortened(text(of: $0.verdict), to: 200))" }
            + section("ordered now:", ordered) { "effect \($0.id): \(shortened(text(of: $0.payload), to: 200))" }
            + section("not ordered any more:", missing) { "effect \($0.id): \(shortened(text(of: $0.payload), to: 200))" }
            + (assumptions.isEmpty ? [] : ["assumed:"] + assumptions.map { "  \($0.text)" })
    }

    private func section<Element>(_ title: String, _ list: List<Element>, _ line: (Element) -> String) -> [String] {
        guard list.count > 0 else { return [] }
        let more = list.count - list.elements.count
        return [title] + list.elements.map { "  \(line($0))" } + (more > 0 ? ["  … and \(more) more"] : [])
    }

    private func text(of bytes: [UInt8]) -> String { ViewText.line(of: MessagePackValue(shown: bytes)) }

    private func text(of verdict: Outcome.Verdict) -> String {
        switch verdict {
        case .refused(let refusal): text(of: refusal)
        case .rejected(let why): escapeForTerminal(why)
        case .applied: "applied"
        }
    }

    // MARK: For programs

    package var value: MessagePackValue {
        [
            "last": .int(Int64(last)),
            "lost": value(of: lost) { lost in
                [
                    "turn": .int(Int64(lost.record.turn)), "kind": .string(lost.record.kind),
                    "message": .string(lost.record.messageName), "why": .string(lost.reason.text),
                ]
            },
            "gained": value(of: gained) {
                ["turn": .int(Int64($0.turn)), "cause": .string($0.cause.text), "content": MessagePackValue(shown: $0.content)]
            },
            "refused": value(of: refusals) { refusal in
                var why: MessagePackValue = .string(text(of: refusal.verdict))
                if case .refused(let bytes) = refusal.verdict { why = MessagePackValue(shown: bytes) }
                return ["turn": .int(Int64(refusal.turn)), "refusal": why]
            },
            "ordered": value(of: ordered) { ["id": .string("\($0.id)"), "effect": MessagePackValue(shown: $0.payload)] },
            "missing": value(of: missing) { ["id": .string("\($0.id)"), "effect": MessagePackValue(shown: $0.payload)] },
            "assumed": .array(assumptions.map { .string($0.text) }),
        ]
    }

    private func value<Element>(of list: List<Element>, _ value: (Element) -> MessagePackValue) -> MessagePackValue {
        ["count": .int(Int64(list.count)), "listed": .array(list.elements.map(value))]
    }
}

extension WhatIf.Reason {
    fileprivate var text: String {
        switch self {
        case .removed: "removed"
        case .notOrdered(let turn): "turn \(turn) does not order it"
        case .withoutEffect(let effect): "effect \(effect) is not ordered"
        case .ofAnotherEffect(let effect): "effect \(effect) is another one"
        case .ofClosedEffect(let effect): "effect \(effect) is closed by then"
        case .notDue(let label): "subscription “\(escapeForTerminal(label.text))” is not wanted, or not due"
        case .ofRequest(let turn): "the operator's request of turn \(turn) falls away"
        }
    }
}

extension WhatIf.Gained.Cause {
    fileprivate var text: String {
        switch self {
        case .inserted(let turn): "inserted after \(turn)"
        case .followUp(let turn): "follow-up of \(turn)"
        }
    }
}

extension WhatIf.Assumption {
    fileprivate var text: String {
        switch self {
        case .acceptedInputs(let count):
            "accepted inputs are accepted, for the journal does not keep inputs that are no messages: \(count)"
        case .remadeInputs(let count):
            "inputs are the messages that the journal has, of which `accept` makes others now; if it did so then, they were others: \(count)"
        case .refusedInputs(let count): "refused inputs are refused, for the journal does not keep them: \(count)"
        case .answers(let count): "messages of workers are what they were, for the same effects: \(count)"
        case .failures(let count): "effects fail as they did: \(count)"
        case .requests(let count): "requests of operators are what they were: \(count)"
        case .open(let count): "effects that were never ordered stay open, for nobody knows their answers: \(count)"
        case .due(let label, let time):
            "timer “\(escapeForTerminal(label.text))” was due at \(instantText(of: time)), and none with its label fired then"
        }
    }
}
