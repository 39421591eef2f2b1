import Logging
import SamovarHost
import Testing

@testable import SamovarCommands

/// A page between two sessions.
@Suite struct PageClientTests {
    private func made() throws -> PageClient {
        let logger = Logger(label: "test")
        let access = try StoreAccess("ipc:///tmp/samovar-test-page")
        return try PageClient(logger: logger) { try StoreClient(at: access, logger: logger) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `A page that is closed while it waits for another session waits no longer`() async throws {
        let page = try made()
        async let pause: Void = page.wait(.seconds(3_600))
        page.close()
        await pause
        // A page that is closed already does not begin to wait.
        await page.wait(.seconds(3_600))
    }

    @Test(.timeLimit(.minutes(1)))
    func `Each pause of a page lasts, whatever ended the one before`() async throws {
        let (page, clock) = (try made(), ContinuousClock())
        for _ in 1...2 {
            let begun = clock.now
            await page.wait(.milliseconds(20))
            #expect(clock.now - begun >= .milliseconds(20))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `What is not for a page's key is answered without being sent, until the time for that is over`() async throws {
        let page = try made()
        page.refuse("not for this key", for: .seconds(3_600))
        // Nothing runs that could send it.
        #expect(await page.send([1]) == .rejected("not for this key"))
        page.refuse("not for this key", for: .zero)
        page.close()
        async let end: Void = page.run { _ in }
        #expect(await page.send([1]) != .rejected("not for this key"), "its client has it")
        try await end
    }
}
