import Foundation
public import Testing

/// Where a `TestStore` and a `TestRun` tell of what is not as expected.
///
/// By default that is Swift Testing, as an issue of the running test at the line of the call. Where no test of Swift Testing runs, a
/// recorded issue would be swallowed and the test would pass: the store ends the process instead, with the text. This is so
/// under XCTest, where a reporter of one line does better:
///
/// ```swift
/// let reporter = TestReporter { text, location in
///     XCTFail(text, file: "\(location.fileID)", line: UInt(location.line))
/// }
/// let store = try TestStore(Counter.self, reporter: reporter)
/// ```
public struct TestReporter: Sendable {
    let report: @Sendable (_ text: String, _ location: SourceLocation) -> Void

    /// A reporter that hands differences to a function.
    ///
    /// - Parameter report: gets the whole text, of one or more lines, and the place of the call in the test.
    public init(_ report: @escaping @Sendable (_ text: String, _ location: SourceLocation) -> Void) {
        self.report = report
    }

    /// Issues of the running test.
    public static let swiftTesting = TestReporter { text, location in
        guard Test.current != nil else {
            let message = """
                \(text)
                at \(location.fileID):\(location.line)
                No test of Swift Testing runs here, so nobody would hear of this: the process ends. Use the TestStore in the task of \
                its test; under XCTest, give it a TestReporter that calls XCTFail.

                """
            FileHandle.standardError.write(Data(message.utf8))
            exit(EXIT_FAILURE)
        }
        Issue.record(Comment(rawValue: text), sourceLocation: location)
    }
}
