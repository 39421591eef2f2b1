import MessagePack

/// What a client's store keeps of its session.
struct ClientSide {
    /// The number of the next new input, up to which one may be sent, and up to which the client has confirmed.
    var expected: Int64 = 1
    var credit: Int64 = 4_096
    var confirmed: Int64 = 0
    /// The inputs that came, by their numbers, and the greatest of these.
    var inputs: [Int64: Value] = [:]
    var newest: Int64 = 0
    /// The turns of those that have an outcome.
    private(set) var outcomes: [Int64: Int64] = [:]
    /// The input that ends the session, and whether it was applied.
    var last: Int64?

    /// Up to which number all have an outcome.
    private(set) var answered: Int64 = 0

    mutating func answer(_ number: Int64, in turn: Int64) {
        outcomes[number] = turn
        while outcomes[answered + 1] != nil { answered += 1 }
    }
}

extension Stage {
    /// A line for the client: an input.
    mutating func write(_ number: Int64) { actions.append(.write("{\"note\":{\"number\":\(number)}}")) }

    static func input(_ number: Int64) -> Value { binary(["note": ["number": .int(number)]]) }

    /// Outcomes of these inputs, each in a turn of its own.
    mutating func receipt(_ numbers: Int64..., verdict: [Value] = [0, .nil]) { receipt(numbers, verdict: verdict) }

    mutating func receipt(_ numbers: [Int64], verdict: [Value] = [0, .nil]) {
        let outcomes = numbers.map { number -> Value in
            if client.outcomes[number] == nil {
                head += 1
                client.answer(number, in: head)
            }
            return .array([.int(number), .int(client.outcomes[number] ?? 0)] + verdict)
        }
        tell(head)
        send(.receipt, client.credit, .array(outcomes))
    }

    // MARK: Checks

    mutating func clientGreeted(_ frame: RawFrame, _ body: Value) throws(Fault) {
        if frame.timeline == timeline { client.confirmed = 0 }
        try demand(
            frame.flags & 2 == 0 || client.last != nil, "The last input",
            expected: "bit 1 in HELLO only after an input that ends the session", seen: frame.text)
    }

    mutating func takeFromClient(_ frame: RawFrame, _ kind: Kind) throws(Fault) {
        switch kind {
        case .ping: try confirmed(frame.number)
        case .send:
            try confirmed(frame.number)
            let inputs = frame.body[0].elements
            var before: Int64?
            for input in inputs {
                let number = input[0]?.integer ?? 0
                try sent(number, input[2] ?? .nil, after: before)
                before = number
            }
            if frame.flags & 2 != 0, let before { try ended(by: before) }
            guard manners.receipts else { return }
            while client.inputs[client.expected] != nil { client.expected += 1 }
            let numbers = inputs.compactMap { $0[0]?.integer }.filter { $0 < client.expected }
            if !numbers.isEmpty { receipt(numbers) }
        case .viewRequest:
            if frame.number <= manners.newestView { view(at: max(min(head, manners.newestView), frame.number)) }
        case .settle: send(.settled, frame.number, [])
        default: break
        }
    }

    /// By the front listener, as an answer.
    mutating func view(at turn: Int64, in timeline: [UInt8]? = nil) {
        send(.view, turn, .nil, ["turn": .int(turn)], in: timeline)
    }

    private mutating func confirmed(_ number: Int64) throws(Fault) {
        try demand(
            number <= client.answered, "Confirmation",
            expected: "at most \(client.answered), up to which all inputs have an outcome", seen: "\(number)")
        client.confirmed = max(client.confirmed, number)
    }

    private mutating func sent(_ number: Int64, _ input: Value, after before: Int64?) throws(Fault) {
        let rule = "Numbers of a session"
        if let last = client.last, number > last {
            throw Fault(
                rule: "The last input", expected: "nothing after input \(last), which ends the session", seen: "input \(number)")
        }
        try demand(
            number >= 1 && number > before ?? 0, rule, expected: "rising numbers from 1",
            seen: "input \(number) after \(before.map { "\($0)" } ?? "none")")
        let hole = ((before ?? client.newest) + 1..<max(number, (before ?? client.newest) + 1)).first { client.outcomes[$0] == nil }
        if let hole {
            throw Fault(rule: rule, expected: "input \(hole), for the numbers have no hole", seen: "input \(number)")
        }
        try demand(number <= client.credit, "Credit", expected: "no input beyond \(client.credit)", seen: "input \(number)")
        if let known = client.inputs[number], known != input {
            throw Fault(rule: rule, expected: "under \(number) the input of before, \(known.text)", seen: input.text)
        }
        try demand(
            number - client.answered <= 4_096, "Limits",
            expected: "at most 4,096 inputs under way, with outcomes up to \(client.answered)", seen: "input \(number)")
        client.inputs[number] = input
        client.newest = max(client.newest, number)
    }

    private mutating func ended(by number: Int64) throws(Fault) {
        try demand(
            client.answered >= number - 1, "The last input",
            expected: "an input that ends the session only when all before it have an outcome",
            seen: "input \(number), with outcomes up to \(client.answered)")
        client.last = number
    }
}
