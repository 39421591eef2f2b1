import Foundation
import Synchronization
import Testing

@testable import ZeroMQ

struct SystemThreadTests {
    @Test func `A thread has its name, or the beginning of it, and runs once what it is for`() throws {
        let ended = DispatchSemaphore(value: 0)
        let names = Mutex<[String?]>([])
        try SystemThread.start("samovar-maintenance") {
            names.withLock { $0.append(Thread.current.name) }
            ended.signal()
        }
        #expect(ended.wait(timeout: .now() + 60) == .success)
        #expect(names.withLock { $0 } == ["samovar-mainten"])
    }

    @Test func `A thread that the system does not give is an error with what to look at, and does nothing`() throws {
        let hasRun = Mutex(false)
        // No address space has room for its stack.
        let error = #expect(throws: ZeroMQError.self) {
            try SystemThread.start("samovar-test", stackSize: 1 << 60) { hasRun.withLock { $0 = true } }
        }
        #expect(error?.description.hasPrefix("start the thread samovar-test: ") == true)
        #expect(error?.description.contains("pids.max") == true)
        #expect(!hasRun.withLock { $0 })
    }
}
