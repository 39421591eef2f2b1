public import Foundation
import Synchronization

/// A process that a test started. Its output goes to files, so it never waits for a reader; it is killed when nobody holds it.
///
/// Tests start none by Foundation's `Process`: on Linux that learns of an end from a socket, which whatever is started at the same moment
/// inherits, and then blocks a thread until that has ended, too.
public final class Child: Sendable {
    public enum End: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(Int32)

        public var description: String {
            switch self {
            case .exited(let code): "exit code \(code)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    public let id: pid_t
    private let name: String
    private let outputFile: String
    private let errorFile: String
    private let known = Mutex<End?>(nil)

    /// - Parameter variables: added to the environment, from which every `SAMOVAR_*` variable is taken out first.
    public init(
        _ executable: String, _ arguments: [String], in scratch: Scratch, input: String = "", variables: [String: String] = [:]
    ) throws {
        name = ([executable] + arguments).joined(separator: " ")
        let number = scratch.nextNumber()
        outputFile = scratch.folder("\(number).out")
        errorFile = scratch.folder("\(number).err")
        let inputFile = try scratch.write(input, to: "\(number).in")
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SAMOVAR_") }
        environment["SAMOVAR_RUNTIME_DIR"] = scratch.folder("run")
        // A backtrace takes seconds on a busy machine, in which a process that died is still there.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        environment.merge(variables) { $1 }
        id = try spawn(
            executable, arguments, environment,
            files: [(inputFile, O_RDONLY), (outputFile, Self.forWriting), (errorFile, Self.forWriting)])
    }

    /// Runs a program to its end, in a folder of its own.
    ///
    /// - Throws: `TimedOut`, and what starting a process throws.
    public static func run(
        _ executable: String, _ arguments: [String], input: String = "", variables: [String: String] = [:]
    ) async throws -> (end: End, output: String, errors: String) {
        let scratch = try Scratch()
        let child = try Child(executable, arguments, in: scratch, input: input, variables: variables)
        let end = try await child.wait()
        return (end, child.output, child.errors)
    }

    deinit {
        if end == nil {
            kill(id, SIGKILL)
            var status: Int32 = 0
            waitpid(id, &status, 0)
        }
    }

    private static let forWriting = O_WRONLY | O_CREAT | O_APPEND

    /// Nil while it runs.
    public var end: End? {
        known.withLock { known in
            if known == nil {
                var status: Int32 = 0
                if waitpid(id, &status, WNOHANG) == id {
                    known = status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .killed(status & 0x7f)
                }
            }
            return known
        }
    }

    public var output: String { String(decoding: outputBytes, as: UTF8.self) }
    public var outputBytes: Data { bytes(of: outputFile) }
    public var errors: String { String(decoding: bytes(of: errorFile), as: UTF8.self) }

    private func bytes(of file: String) -> Data { FileManager.default.contents(atPath: file) ?? Data() }

    /// Does nothing to a process that has ended.
    public func send(_ signal: Int32) {
        if end == nil { kill(id, signal) }
    }

    /// - Throws: `TimedOut`, with what the process has said.
    @discardableResult
    public func wait(within limit: Duration = patience) async throws -> End {
        do {
            return try await eventually("\(name) ends", within: limit) { self.end }
        } catch let error as TimedOut {
            throw TimedOut("\(error)\noutput: \(output.suffix(2_000))\nerrors: \(errors.suffix(4_000))")
        }
    }
}
