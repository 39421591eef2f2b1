import Foundation

/// A block of commands for a shell, as a README shows it: a line that begins with `#>` is what the command above it prints, in which
/// `…` stands for anything.
public struct ShellTranscript: Sendable {
    struct Step: Sendable {
        let command: String
        var expected: [String] = []
    }

    private(set) var steps: [Step] = []

    /// The first block below a heading, nil if there is none.
    public init?(below heading: String, of readme: String) {
        guard let start = readme.range(of: "\n\(heading)\n")?.upperBound,
            let block = readme[start...].components(separatedBy: "```sh\n").dropFirst().first?.components(separatedBy: "```").first
        else { return nil }
        for line in block.split(separator: "\n") {
            if line.hasPrefix("#>"), !steps.isEmpty {
                steps[steps.count - 1].expected.append(String(line.trimmingPrefix(/#> ?/)))
            } else {
                steps.append(Step(command: String(line)))
            }
        }
    }

    /// Types it into a shell in the folder of a test, with the executables of this package on its path.
    ///
    /// - Returns: what was not as the block says, in words.
    /// - Throws: `TimedOut`, and what starting a process throws.
    public func differences(in scratch: Scratch) async throws -> [String] {
        let script = try scratch.write(script(in: scratch), to: "script")
        // It ends its group, too: a program that a script has left behind would serve on. What is promised is what is printed, and not when:
        // a trial that kills processes some seventy times takes a minute and more where other tests run.
        let shell = try Child("/usr/bin/timeout", ["600", "bash", script], in: scratch)
        let end = try await shell.wait(within: .seconds(605))
        let printed = shell.output.components(separatedBy: Self.mark)
        var differences: [String] = []
        if end != .exited(0) {
            let log = FileManager.default.contents(atPath: scratch.folder("up.log")) ?? Data()
            differences.append(
                "\(end) after \(printed.count - 1) commands: \(shell.errors)\n\(String(decoding: log, as: UTF8.self))")
        }
        for (step, output) in zip(steps, printed) where !step.expected.isEmpty {
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            guard lines.count != step.expected.count || !zip(lines, step.expected).allSatisfy({ $0.matches($1) }) else { continue }
            differences.append("\(step.command) has printed\n\(output)and not\n\(step.expected.joined(separator: "\n"))")
        }
        return differences
    }

    private static let mark = "\u{1e}\n"

    /// The commands, with a mark after the output of each; the first that fails ends it.
    private func script(in scratch: Scratch) -> String {
        let commands = steps.map { step in
            // A command gives up after three seconds, in which a person's machine starts a store, and a busy one may not.
            let wait = step.command.hasSuffix(">up.log 2>&1 &") ? "until grep -q serving up.log; do sleep 0.1; done\n" : ""
            return "\(step.command)\n\(wait)printf '\\036\\n'\n"
        }
        return """
            set -eu
            cd \(scratch.path)
            export PATH="\(Executable.path("").dropLast()):$PATH" SAMOVAR_RUNTIME_DIR=\(scratch.folder("run"))
            trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
            \(commands.joined())
            """
    }
}

extension Substring {
    /// Whether it is the pattern, in which `…` stands for anything.
    fileprivate func matches(_ pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…")
        guard let first = parts.first, let last = parts.last, parts.count > 1 else { return self == pattern }
        guard count >= first.count + last.count, hasPrefix(first), hasSuffix(last) else { return false }
        var rest = dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.range(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return true
    }
}
