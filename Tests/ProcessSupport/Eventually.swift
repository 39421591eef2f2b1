/// What was waited for did not happen in time.
public struct TimedOut: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

/// How long a test waits for what no promise sets a time to: a machine with other things to do may take so long, and only what never
/// happens takes longer.
public let patience = Duration.seconds(60)

/// Asks again and again until there is an answer.
///
/// - Throws: `TimedOut`, or what `probe` throws.
public func eventually<Answer>(
    _ what: @autoclosure () throws -> String, within limit: Duration = patience, isolation: isolated (any Actor)? = #isolation,
    _ probe: () async throws -> Answer?
) async throws -> Answer {
    let end = ContinuousClock.now + limit
    while true {
        if let answer = try await probe() { return answer }
        guard ContinuousClock.now < end else { throw TimedOut("not within \(limit): \(try what())") }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// Asks again and again until it is so.
public func eventually(
    _ what: @autoclosure () throws -> String, within limit: Duration = patience, isolation: isolated (any Actor)? = #isolation,
    _ isSo: () async throws -> Bool
) async throws {
    _ = try await eventually(try what(), within: limit) { try await isSo() ? true : nil } as Bool
}
