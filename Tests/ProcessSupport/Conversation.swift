import Foundation

/// A process that is told lines, and answers each of them with one.
public final class Conversation {
    private let child: Child
    private let input: Int32
    private var isOpen = true
    private var answered = 0

    public init(_ executable: String, _ arguments: [String], in scratch: Scratch, variables: [String: String] = [:]) throws {
        let pipe = scratch.folder("conversation-\(UUID().uuidString)")
        guard mkfifo(pipe, 0o600) == 0 else { throw TimedOut("cannot make \(pipe)") }
        // Opened for both, so that neither side waits for the other.
        input = open(pipe, O_RDWR | O_CLOEXEC)
        child = try Child(
            "sh", ["-c", #"in=$1; shift; exec "$@" <"$in""#, "sh", pipe, executable] + arguments, in: scratch, variables: variables)
    }

    deinit { if isOpen { close(input) } }

    /// The answer to a line.
    public func ask(_ line: String) async throws -> String {
        let bytes = Array((line + "\n").utf8)
        guard write(input, bytes, bytes.count) == bytes.count else { throw TimedOut("nothing can be asked: \(child.errors)") }
        answered += 1
        return try await eventually("\(line) is answered: \(child.errors)") { [child, answered] in
            let lines = child.output.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.count > answered ? String(lines[answered - 1]) : nil
        }
    }

    /// Says nothing any more.
    public func end() async throws -> Child.End {
        close(input)
        isOpen = false
        return try await child.wait()
    }
}
