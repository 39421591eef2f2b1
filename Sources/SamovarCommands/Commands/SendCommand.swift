import ArgumentParser
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarProtocol
import Synchronization

struct SendCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "send", abstract: "Sends an input and prints its receipt.",
            discussion: """
                Example: \(executableName) send '{"increment":{}}' --wait settled
                A case without values may be written as a bare word: \(executableName) send increment
                With - inputs are read from standard input, one per line, and a receipt is printed for each.
                """)
    }

    enum Wait: String, ExpressibleByArgument, CaseIterable {
        case applied, settled
    }

    @OptionGroup var options: StoreOptions

    @Argument(help: "The input as JSON, or - for one per line from standard input.")
    var input: String

    @Option(name: .long, help: "applied: its turn is on disk; settled: everything that it caused is done.")
    var wait = Wait.applied

    @Option(name: .long, help: "How long to wait for the receipt.")
    var timeout = Seconds(.seconds(30))

    func run() async throws {
        let worst = try await withClient(options, for: Types.self) { [self] client in
            guard input == "-" else { return try await send(input, client) }
            var worst: CommandFailure?
            while let line = readLine() {
                guard !line.allSatisfy(\.isWhitespace) else { continue }
                worst = try await send(line, client) ?? worst
            }
            return worst
        }
        if let worst { throw worst }
    }

    /// Prints the receipt, and returns the failure if it is not a success.
    private func send(_ text: String, _ client: StoreClient) async throws -> CommandFailure? {
        let value: MessagePackValue
        do {
            value = try JSONTranscoder.parseArgument(text)
        } catch {
            throw CommandFailure(.badData, "the input is no JSON: \(error)")
        }
        let waiting = Mutex("the store's answer")
        let limit = timeout.duration
        return try await within(limit) {
            try await receipt(of: value.encoded, client) { reason in waiting.withLock { $0 = reason } }
        } else: {
            let reason = waiting.withLock { $0 }
            return CommandFailure(.tryLater, "nothing within \(limit.components.seconds) s; still waiting: \(reason)")
        }
    }

    private func receipt(
        of input: [UInt8], _ client: StoreClient, onWaiting: @escaping @Sendable (String) -> Void
    ) async throws -> CommandFailure? {
        switch await client.send(input) {
        case .rejected(let reason): return CommandFailure(.badData, reason)
        case .unknown(let reason):
            try show(["status": "unknown", "reason": .string(reason)])
            return CommandFailure(.unavailable, "nobody can tell whether the input was applied: \(reason)")
        case .answered(let outcome):
            switch outcome.verdict {
            case .rejected(let reason): return CommandFailure(.badData, reason)
            case .refused(let refusal):
                let reason = try MessagePackValue(encoded: refusal)
                try show(["status": "refused", "turn": .int(Int64(outcome.turn)), "refusal": reason])
                return CommandFailure(.badData, "refused: \(JSONTranscoder.text(of: reason))")
            case .applied: return try await settle(outcome.turn, client, onWaiting)
            }
        }
    }

    private func settle(
        _ turn: Int, _ client: StoreClient, _ onWaiting: @escaping @Sendable (String) -> Void
    ) async throws -> CommandFailure? {
        guard wait == .settled else {
            try show(["status": "applied", "turn": .int(Int64(turn))])
            return nil
        }
        onWaiting("the effects of turn \(turn)")
        switch await client.settle(turn, onWaiting: onWaiting) {
        case .settled(let dead):
            try show(["status": "settled", "turn": .int(Int64(turn)), "dead": .array(dead.map { .string($0) })])
            return dead.isEmpty ? nil : CommandFailure(.internal, "\(dead.count) effects died: \(dead.joined(separator: "; "))")
        case .unknown(let reason): return CommandFailure(.unavailable, "applied in turn \(turn), and then unknown: \(reason)")
        }
    }

    private func show(_ receipt: MessagePackValue) throws {
        printData(JSONTranscoder.text(of: receipt))
    }
}
