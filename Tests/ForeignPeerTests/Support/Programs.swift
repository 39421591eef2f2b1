import MessagePack

/// What the tests send to the counter and to the contract program.
extension Value {
    static func `case`(_ name: String, _ values: Value = [:]) -> Value { .map([.init(.string(name), values)]) }

    static var increment: Value { .case("increment") }
    static var decrement: Value { .case("decrement") }
    /// Orders one effect, which a worker answers with `finished`.
    static var incrementAsync: Value { .case("incrementAsync") }
    static func finished(_ count: Int64) -> Value { .case("finished", ["count": .int(count)]) }

    /// Of the contract program: orders an effect that its test answers, under a label.
    static func hang(id: String = "a") -> Value { .case("hang", ["file": "none", "id": .string(id)]) }
    static func cancel(id: String = "a") -> Value { .case("cancel", ["id": .string(id)]) }
    static func emit(_ count: Int64) -> Value { .case("emit", ["count": .int(count)]) }
    static func streamed(_ number: Int64) -> Value { .case("streamed", ["_0": .int(number)]) }
    static func noted(_ text: String) -> Value { .case("noted", ["_0": .string(text)]) }
}

/// One task, field by field.
struct RawTask {
    let turn, ordinal, lease, token, attempt, instance, queue, timeout, resume, payload: Value

    init(_ value: Value) throws {
        let fields = value.elements
        guard fields.count == 10 else { throw Unexpected("a task of \(fields.count) fields: \(value.text)") }
        (turn, ordinal, lease, token, attempt) = (fields[0], fields[1], fields[2], fields[3], fields[4])
        (instance, queue, timeout, resume, payload) = (fields[5], fields[6], fields[7], fields[8], fields[9])
    }

    var claim: Value { [turn, ordinal, lease, token] }
    var effect: String { "\(turn.integer ?? -1)/\(ordinal.integer ?? -1)" }

    func result(_ answer: Int64, _ what: Value) -> Value { [turn, ordinal, lease, token, .int(answer), what] }
    func done(_ messages: Value...) -> Value { result(0, .array(messages.map { binary($0) })) }
    func failed(_ text: String = "no luck", permanent: Bool = false) -> Value {
        result(1, ["threw", .string(text), .bool(permanent)])
    }
    var returned: Value { result(2, .nil) }
    func streamed(_ index: Int64, checkpoint: Value = .nil) -> Value {
        result(3, [.int(index), binary(.streamed(index)), checkpoint])
    }
}

extension RawPeer {
    /// The tasks of the next TASK.
    func tasks() async throws -> [RawTask] { try await next(.task).body.first?.elements.map { try RawTask($0) } ?? [] }

    /// The only task of the next TASK.
    func task() async throws -> RawTask {
        let tasks = try await tasks()
        guard tasks.count == 1 else { throw Unexpected("\(tasks.count) tasks") }
        return tasks[0]
    }

    func answer(_ results: Value..., credit: Int64 = 9) async throws { try await send(.result, credit, .array(results)) }

    /// The leases of the next ACKNOWLEDGE.
    func acknowledged() async throws -> [Value] { try await next(.acknowledge).body.first?.elements ?? [] }
}
