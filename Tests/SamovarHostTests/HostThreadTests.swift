import Testing
import ZeroMQ

@testable import SamovarHost

struct HostThreadTests {
    @Test(.timeLimit(.minutes(1))) func `Who waits for work on a thread is told that there is no thread`() async {
        // No address space has room for its stack.
        await #expect(throws: ZeroMQError.self) { try await onThread("samovar-test", stackSize: 1 << 60) {} }
    }
}
