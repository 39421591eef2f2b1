import SamovarCommands
import SamovarText
import Testing

@Suite struct WithinTests {
    private static let failure = CommandFailure(.tryLater, "took too long")

    @Test func `What does not end within its limit is given up`() async {
        let (stream, _) = AsyncStream<Int>.makeStream()
        let failure = await #expect(throws: CommandFailure.self) {
            try await within(.milliseconds(1)) {
                for await value in stream { return value }
                return 0
            } else: {
                Self.failure
            }
        }
        #expect(failure?.description == "took too long")
    }

    @Test func `What was told before a cancellation is not lost`() async throws {
        for _ in 0..<100 {
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            continuation.yield(7)
            let told = try await withThrowingTaskGroup(of: Int.self) { group in
                group.cancelAll()
                group.addTask {
                    try await within(.seconds(60)) {
                        // The cancelled wait for the limit ends meanwhile.
                        for _ in 0..<10 { await Task.yield() }
                        for await value in stream { return value }
                        return 0
                    } else: {
                        Self.failure
                    }
                }
                return try await group.next()
            }
            #expect(told == 7)
        }
    }
}
