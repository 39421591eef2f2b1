import SamovarCore
import SamovarTesting
import Testing
import XCTest

/// Where a recorded issue would be swallowed.
@Suite struct OutsideATestTests {
    @Test func `Outside a running test a difference ends the process, and the text says why`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Task.detached {
                let store = try TestStore(Kiosk.self)
                store.send(.chain(1))
                store.finish()
            }.value
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("send(.chain(1)): the state is not as expected\n  state.ticks: expected 0, is 1\nat "))
        #expect(
            text.contains(
                "No test of Swift Testing runs here, so nobody would hear of this: the process ends. Use the TestStore in the task of its test; under XCTest, give it a TestReporter that calls XCTFail."
            ))
    }

    @Test func `Outside a running test what is left at the end ends the process, too`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await Task.detached {
                let store = try TestStore(Kiosk.self)
                store.send(.call("a"))
            }.value
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("finish(): something is left\n  1 output: .called(\"a\")"))
    }
}

/// Under XCTest: what passes passes, and with a reporter what fails fails.
final class XCTestTests: XCTestCase {
    func testAStoreWorksUnderXCTestAsLongAsAllIsAsExpected() throws {
        XCTAssertNil(Test.current, "a recorded issue would be swallowed here")
        let store = try TestStore(Kiosk.self)
        store.send(.chain(2)) { $0.ticks = 2 }
        store.finish()
    }

    func testAReporterHearsOfDifferencesUnderXCTest() throws {
        let reports = Reports()
        let store = try TestStore(Kiosk.self, reporter: reports.reporter)
        store.send(.chain(1))
        XCTAssertEqual(reports.takeAll(), ["send(.chain(1)): the state is not as expected\n  state.ticks: expected 0, is 1"])
        store.finish()
    }
}
