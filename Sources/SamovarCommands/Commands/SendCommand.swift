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
        let progress = Mutex("no answer of the store yet")
        let limit = timeout
        let receipt: Receipt = try await within(limit.duration) {
            try await outcome(of: value.encoded, client) { text in progress.withLock { $0 = text } }
        } else: {
            CommandFailure(.tryLater, "gave up after \(limit): \(client.obstacle ?? progress.withLock { $0 })")
        } giveUp: {
            client.close()
        }
        if let json = receipt.json { printData(JSONTranscoder.text(of: json)) }
        return receipt.failure
    }

    /// What is printed of an input's outcome, and why it is no success.
    private struct Receipt {
        var json: MessagePackValue?
        var failure: CommandFailure?
    }

    private func outcome(
        of input: [UInt8], _ client: StoreClient, onProgress: @escaping @Sendable (String) -> Void
    ) async throws -> Receipt {
        switch await client.send(input) {
        case .rejected(let reason): return Receipt(failure: CommandFailure(.badData, reason))
        case .unknown(let reason):
            return Receipt(
                json: ["status": "unknown", "reason": .string(reason)],
                failure: CommandFailure(.unavailable, "nobody can tell whether the input was applied: \(reason)"))
        case .answered(let outcome):
            switch outcome.verdict {
            case .rejected(let reason): return Receipt(failure: CommandFailure(.badData, reason))
            case .refused(let refusal):
                let reason = try MessagePackValue(encoded: refusal)
                return Receipt(
                    json: ["status": "refused", "turn": .int(Int64(outcome.turn)), "refusal": reason],
                    failure: CommandFailure(.badData, "refused: \(JSONTranscoder.text(of: reason))"))
            case .applied: return await settle(outcome.turn, client, onProgress)
            }
        }
    }

    private func settle(
        _ turn: Int, _ client: StoreClient, _ onProgress: @escaping @Sendable (String) -> Void
    ) async -> Receipt {
        guard wait == .settled else { return Receipt(json: ["status": "applied", "turn": .int(Int64(turn))]) }
        onProgress("turn \(turn) is applied, but its effects have not ended")
        switch await client.settle(turn, onWaiting: { onProgress("turn \(turn) is applied, but \($0)") }) {
        case .settled(let dead):
            return Receipt(
                json: ["status": "settled", "turn": .int(Int64(turn)), "dead": .array(dead.map { .string($0) })],
                failure: dead.isEmpty
                    ? nil : CommandFailure(.internal, "\(dead.count) effects died: \(dead.joined(separator: "; "))"))
        case .unknown(let reason):
            return Receipt(failure: CommandFailure(.unavailable, "applied in turn \(turn), and then unknown: \(reason)"))
        }
    }
}
