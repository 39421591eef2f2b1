import Foundation

/// The build of a copy: optimised, for it has much to run, and with assertions, for it shall find something.
extension Workplace {
    private static let flags = ["-c", "release", "-Xswiftc", "-assert-config", "-Xswiftc", "Debug", "-Xswiftc", "-enable-testing"]

    public struct CompilerError: Hashable, Sendable {
        /// Below the folder of the copy.
        public let path: String
        public let line: Int
        /// In bytes, from 1 on.
        public let column: Int
        public let text: String
    }

    public enum BuildFailure: Error, CustomStringConvertible {
        /// It is not the sources that could not be built.
        case other(String)

        public var description: String {
            switch self {
            case .other(let output): "the copy cannot be built:\n\(output)"
            }
        }
    }

    /// Returns what the compiler found wrong in the sources; nothing if all is built.
    public func build(withTests: Bool, jobs: Int) throws -> [CompilerError] {
        let what = withTests ? ["--build-tests"] : ["--product", "Simulate"]
        let run = try ChildProcess.run("swift", ["build", "-j", "\(jobs)"] + Self.flags + what, in: folder)
        if run.end == .exited(0) { return [] }
        let prefix = folder.resolvingSymlinksInPath().path(percentEncoded: false)
        var errors: Set<CompilerError> = []
        for line in run.output.split(separator: "\n") {
            guard let found = line.firstMatch(of: /^(\/.*\.swift):(\d+):(\d+): error: (.*)$/), found.1.hasPrefix(prefix),
                let number = Int(found.2), let column = Int(found.3)
            else { continue }
            let path = found.1.dropFirst(prefix.count).drop { $0 == "/" }
            errors.insert(CompilerError(path: String(path), line: number, column: column, text: String(found.4)))
        }
        guard !errors.isEmpty else {
            throw BuildFailure.other(run.output.split(separator: "\n").suffix(40).joined(separator: "\n"))
        }
        return errors.sorted { ($0.path, $0.line, $0.column) < ($1.path, $1.line, $1.column) }
    }

    /// The simulator of the copy.
    public var simulator: String { folder.appending(path: ".build/release/Simulate").path(percentEncoded: false) }

    /// The tests of the copy.
    public var tests: String { folder.appending(path: ".build/release/samovarPackageTests.xctest").path(percentEncoded: false) }
}
