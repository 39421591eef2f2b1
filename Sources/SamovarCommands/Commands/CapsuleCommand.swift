import ArgumentParser
import Foundation
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

struct CapsuleCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "capsule", abstract: "Writes a test that lets some turns happen again, and fails as they did.",
            discussion: """
                Example: \(executableName) capsule 812..812 --fails 'state.left < 0' Tests/NegativeTests.swift
                         \(executableName) capsule 1..640 --fails 'no negative stock' --shrink Tests/Capsules
                The capsule has the state before the first turn and what came from outside up to the last one. A source holds it, if it is small; \
                in a folder it is a file beside the source. After the last turn, or the end of its chain, the expression is true, or the \
                invariant was broken by one of the turns; the test expects the contrary. --shrink leaves out inputs that are not needed for \
                that, for at most a minute. A capsule holds what was in the state and the messages, in clear. Works beside a \
                running store, too.
                """)
    }

    /// For leaving out inputs; what is left then is good enough.
    private static var shrinkingTime: Duration { .seconds(60) }

    @OptionGroup var options: StoreOptions
    @Argument(help: "The first and the last turn: 630..640.") var turns: String
    @Argument(help: "The source to write, or the folder for it and the capsule.") var output: String
    @Option(
        name: .long, help: "What is true when it fails: an expression, as for `bisect`, or the name of an invariant that breaks.")
    var fails: String
    @Flag(name: .long, help: "Leave out inputs, as long as it still fails.") var shrink = false
    @Flag(
        name: .long,
        help:
            "Put the journal's secret in, of which random numbers are computed: without it they are others. It also forges job tokens."
    )
    var secret = false

    func validate() throws { _ = try range() }

    private func range() throws -> ClosedRange<Int> {
        let parts = turns.split(separator: "..", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let first = parts[0], let last = parts[1], first >= 1, last >= first else {
            throw ValidationError("“\(turns)” are no turns: name the first and the last one, such as 630..640")
        }
        return first...last
    }

    func run() async throws {
        let goal = try Bisection.Goal(named: fails, for: App.Program.self)
        let (turns, usesSecret, shrink) = (try range(), secret, shrink)
        let end = ContinuousClock.now + Self.shrinkingTime
        let (capsule, count, remark) = try await StorePast<App>.read(try options.settings(), "capsule") { past in
            // Of its own, and the same for each capsule of this timeline.
            let secret = usesSecret ? past.secret : Secret(high: ~past.timeline.high, low: ~past.timeline.low)
            let content = try CapsuleCut.content(of: turns, in: past, schema: App.Program.schema, secret: secret)
            var packing = try CapsulePacking<App.Program>(content, goal)
            guard packing.fails else {
                throw try Self.refusal(past, content, goal, usesSecret: usesSecret)
            }
            if shrink { try packing.shrink { ContinuousClock.now >= end } }
            return (try packing.packed(), content.items.count, packing.remark)
        }
        try write(capsule, goal)
        if let remark { printError(remark) }
        printError(
            "\(capsule.items.count) of \(count) records in \(capsule.bytes.count) bytes\(usesSecret ? ", with the journal's secret" : "")"
        )
    }

    /// Why a capsule does not do what its turns did.
    private static func refusal(
        _ past: Past, _ content: CapsuleContent, _ goal: Bisection.Goal, usesSecret: Bool
    ) throws -> CommandFailure {
        if !usesSecret {
            var other = content
            other.secret = past.secret
            if try CapsulePacking<App.Program>(other, goal).fails {
                return CommandFailure(
                    .badData,
                    "with other random numbers it does not happen again: --secret puts the journal's secret in, which is as secret as the store"
                )
            }
        }
        return CommandFailure(
            .badData,
            "it is not so after turn \(content.last), where the chain of the last turn ends: `bisect` finds the turn after which it is"
        )
    }

    private func write(_ capsule: CapsuleContent, _ goal: Bisection.Goal) throws {
        let isSource = output.hasSuffix(".swift")
        let bytes = capsule.bytes
        guard !isSource || bytes.count <= CapsuleTest.maximumInSource else {
            throw CommandFailure(
                .badData,
                "the capsule has \(bytes.count) bytes, too many for a source: name a folder, or leave out inputs with --shrink")
        }
        let name = "Turns\(capsule.turn + 1)To\(capsule.last)"
        let test = try CapsuleTest(
            capsule, goal, text: fails, file: isSource ? nil : "\(name).capsule", program: String(reflecting: App.Program.self))
        let folder = URL(fileURLWithPath: isSource ? (output as NSString).deletingLastPathComponent : output, isDirectory: true)
        let source = isSource ? URL(fileURLWithPath: output) : folder.appending(path: "\(name)Tests.swift")
        let file = folder.appending(path: "\(name).capsule")
        let files = isSource ? [source] : [file, source]
        for file in files where FileManager.default.fileExists(atPath: file.path) {
            throw CommandFailure(
                .inputOutput, "\(file.relativePath) exists already; nothing was written. Take another name or move it away")
        }
        do {
            if !isSource {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try write(Data(bytes), to: file)
            }
            try write(Data(test.source.utf8), to: source)
            for file in files { printData(file.relativePath) }
        } catch {
            throw CommandFailure(.inputOutput, "cannot write \(source.relativePath): \(error.localizedDescription)")
        }
    }

    /// With the journal's secret it is for its owner alone, from the first byte on.
    private func write(_ data: Data, to file: URL) throws {
        guard secret else { return try data.write(to: file, options: .atomic) }
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: attributes) else {
            throw CocoaError(.fileWriteUnknown)
        }
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: data)
        try handle.close()
    }
}
