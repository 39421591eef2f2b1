import Logging
import ProcessSupport
import SamovarCore
import SamovarStore
import Testing

@testable import SamovarHost

@Suite struct HostClockTests {
    @Test func `How far the machine's clock is ahead of the loop's is told to the machine of the store`() throws {
        let scratch = try Scratch()
        let configuration = StoreConfiguration(dataFolder: scratch.folder("data"), endpoint: .local(folder: scratch.path))
        let loop = try StoreLoop(configuration, logger: Logger(label: "test"))
        let now = HostClock().now()
        for seconds in [-3_600, 3_600] {
            let step = loop.ownProcess(now: Timestamp(microseconds: now.microseconds - Int64(seconds) * 1_000_000)).clockStep
            #expect(step >= .seconds(seconds - 1) && step < .seconds(seconds + 60), "\(step)")
        }
    }
}
