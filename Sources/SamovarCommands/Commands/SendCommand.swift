import ArgumentParser
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire
import Synchronization

struct SendCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "send", abstract: "Sends an input and prints its receipt.",
            discussion: """
                Example: \(executableName) send '{"increment":{}}' --wait settled
                A case without values may be written as a bare word: \(executableName) send increment
                With - inputs are read from standard input, one per line, and a receipt is printed for each, in their order. A line that
                is no JSON or no UTF-8 has the last one: {"status":"rejected","line":3,"reason":…}. What follows it is not sent.
                With --outbox FILE inputs are kept in the file until their receipts are printed, and taken also while no store answers:
                \(executableName) send --outbox orders.outbox sends what is left.
                """)
    }

    enum Wait: String, ExpressibleByArgument, CaseIterable {
        case applied, settled
    }

    @OptionGroup var options: PeerOptions

    @Argument(help: "The input as JSON, or - for one per line from standard input.")
    var input: String?

    @Option(name: .long, help: "applied: its turn is on disk; settled: everything that it caused is done.")
    var wait = Wait.applied

    @Option(name: .long, help: "How long to wait for the store, and for each receipt. Default: 3s, and 30s.")
    var timeout: Seconds?

    @Option(
        name: .long,
        help: "A file that keeps inputs until their receipts are printed, over any crash. Without an input, sends what is in it.")
    var outbox: String?

    private var patience: Seconds { timeout ?? Seconds(.seconds(30)) }

    func validate() throws {
        if let timeout { try timeout.requirePositive("--timeout") }
        if input == nil, outbox == nil { throw ValidationError("which input? give it as JSON, or - for standard input") }
    }

    func run() async throws {
        let worst: CommandFailure?
        do {
            worst = try await withClient(options, for: Types.self, patience: timeout, outbox: outbox) { [self] client in
                try await exchange(client)
            }
        } catch let error as OutboxError {
            throw CommandFailure(.inputOutput, "\(error); an input that it has not taken was not sent")
        }
        if let worst { throw worst }
    }

    /// Something whose receipt is printed when its turn comes.
    private enum Pending: Sendable {
        case submitted(StoreClient.Submitted, line: Int?)
        /// It is no JSON.
        case unreadable(String, line: Int?)
    }

    /// What waits for its receipt. Whatever was handed over is in it, and once it is closed nothing more is handed over.
    private final class Queue: Sendable {
        let pending: AsyncStream<Pending>
        private let continuation: AsyncStream<Pending>.Continuation
        private let isOpen = Mutex(true)

        init() { (pending, continuation) = AsyncStream.makeStream() }

        func add(_ next: () -> Pending) {
            isOpen.withLock { isOpen in
                if isOpen { continuation.yield(next()) }
            }
        }

        func close() {
            isOpen.withLock { $0 = false }
            continuation.finish()
        }
    }

    /// Inputs are handed over as fast as they are read, and receipts printed in the order of the inputs: what an outbox held
    /// before comes first.
    private func exchange(_ client: StoreClient) async throws -> CommandFailure? {
        let lines = try LineReader(input == "-" ? nil : input.map { [$0] } ?? [])
        return try await withThrowingTaskGroup(of: CommandFailure?.self) { group in
            let queue = Queue()
            group.addTask {
                for await line in lines.lines {
                    do {
                        guard let text = line.text else { throw JSONError("the text is not UTF-8") }
                        let bytes = try JSONTranscoder.parseArgument(text).encoded
                        // Of a stream, nobody knows which line is the last.
                        queue.add { .submitted(client.submit(bytes, endsSession: line.number == nil), line: line.number) }
                    } catch {
                        queue.add { .unreadable("the input is no JSON: \(error)", line: line.number) }
                        break
                    }
                }
                queue.close()
                return lines.error.map {
                    CommandFailure(.inputOutput, "cannot read standard input: \(String(cString: strerror($0)))")
                }
            }
            group.addTask {
                var worst: CommandFailure?
                var gaveUp: CommandFailure?
                /// False if there was nothing to wait for.
                func printReceipt(_ next: @escaping @Sendable (@escaping Progress) async throws -> Receipt?) async throws -> Bool {
                    do {
                        guard let receipt = try await shown(client, next) else { return false }
                        worst = receipt.failure ?? worst
                    } catch let failure as CommandFailure where failure.code == .tryLater && gaveUp == nil {
                        // The client is closed: what was handed over has its outcome at once, and no more is handed over.
                        gaveUp = failure
                        queue.close()
                    }
                    return true
                }
                while gaveUp == nil, try await printReceipt({ try await nextRestored(client, onProgress: $0) }) {}
                for await next in queue.pending {
                    _ = try await printReceipt { try await receipt(of: next, client, onProgress: $0) }
                    lines.release()
                }
                if let gaveUp { throw gaveUp }
                return worst
            }
            defer { group.cancelAll() }
            var worst: CommandFailure?
            while let failure = try await group.next() { worst = failure ?? worst }
            return worst
        }
    }

    /// Prints the receipt that `next` waits for; nil if there is none.
    private func shown(
        _ client: StoreClient, _ next: @escaping @Sendable (@escaping Progress) async throws -> Receipt?
    ) async throws -> Receipt? {
        let limit = patience
        let nothing = "no answer of the store yet, at \(client.store.named(.front))"
        let known = Mutex<(text: String, json: MessagePackValue?)>((nothing, nil))
        do {
            let receipt = try await within(limit.duration) {
                try await next { text, json in known.withLock { $0 = (text, json) } }
            } else: {
                CommandFailure(.tryLater, "gave up after \(limit): \(client.obstacle ?? known.withLock(\.text))")
            } giveUp: {
                client.close()
            }
            if let json = receipt?.json { printData(JSONTranscoder.text(of: json)) }
            if let sequence = receipt?.sequence { client.seen(sequence) }
            return receipt
        } catch let failure as CommandFailure where failure.code == .tryLater {
            // It may be applied later, so the receipt must not be missing.
            let reason = outbox == nil ? "gave up after \(limit)" : "gave up after \(limit); it is kept in the outbox"
            let json = known.withLock(\.json) ?? ["status": "unknown", "reason": .string(reason)]
            printData(JSONTranscoder.text(of: json))
            throw failure
        }
    }

    /// What is printed of an input's outcome, and why it is no success.
    private struct Receipt {
        var json: MessagePackValue?
        var failure: CommandFailure?
        /// The input's number in its session, if the store has answered.
        var sequence: Int?

        /// It was not applied, and never will be.
        static func rejected(_ reason: String, line: Int?) -> Receipt {
            let place: [MessagePackPair] = line.map { [MessagePackPair("line", .int(Int64($0)))] } ?? []
            return Receipt(
                json: .map([MessagePackPair("status", "rejected")] + place + [MessagePackPair("reason", .string(reason))]),
                failure: CommandFailure(.badData, line.map { "line \($0) of standard input: \(reason)" } ?? reason))
        }
    }

    private typealias Progress = @Sendable (_ text: String, _ json: MessagePackValue?) -> Void

    /// Of the inputs that an earlier process has left in the outbox; nil if there are no more.
    private func nextRestored(_ client: StoreClient, onProgress: @escaping Progress) async throws -> Receipt? {
        for await result in client.restored { return try await receipt(of: result, line: nil, client, onProgress: onProgress) }
        return nil
    }

    private func receipt(of pending: Pending, _ client: StoreClient, onProgress: @escaping Progress) async throws -> Receipt {
        switch pending {
        case .unreadable(let reason, let line): .rejected(reason, line: line)
        case .submitted(let submitted, let line):
            try await receipt(of: submitted.result(), line: line, client, onProgress: onProgress)
        }
    }

    private func receipt(
        of result: StoreClient.Result, line: Int?, _ client: StoreClient, onProgress: @escaping Progress
    ) async throws -> Receipt {
        let outcome: Outcome
        switch result {
        case .rejected(let reason): return .rejected(reason, line: line)
        case .unknown(let reason):
            return Receipt(
                json: ["status": "unknown", "reason": .string(reason)],
                failure: CommandFailure(.unavailable, "nobody can tell whether the input was applied: \(reason)"))
        case .answered(let answered): outcome = answered
        }
        var receipt: Receipt
        switch outcome.verdict {
        case .rejected(let reason): receipt = .rejected(reason, line: line)
        case .refused(let refusal):
            let reason = try MessagePackValue(encoded: refusal)
            receipt = Receipt(
                json: ["status": "refused", "turn": .int(Int64(outcome.turn)), "refusal": reason],
                failure: CommandFailure(.badData, "refused: \(JSONTranscoder.text(of: reason))"))
        case .applied: receipt = await settle(outcome, client, onProgress)
        }
        receipt.sequence = outcome.sequence
        return receipt
    }

    private func settle(_ outcome: Outcome, _ client: StoreClient, _ onProgress: @escaping Progress) async -> Receipt {
        let turn = outcome.turn
        let applied: MessagePackValue = ["status": "applied", "turn": .int(Int64(turn))]
        guard wait == .settled else { return Receipt(json: applied) }
        onProgress("turn \(turn) is applied, but its effects have not ended", applied)
        switch await client.settle(outcome, onWaiting: { onProgress("turn \(turn) is applied, but \($0)", applied) }) {
        case .settled(let dead):
            return Receipt(
                json: ["status": "settled", "turn": .int(Int64(turn)), "dead": .array(dead.map { .string($0) })],
                failure: dead.isEmpty
                    ? nil
                    : CommandFailure(
                        .internal, "not all of its effects were done: \(escapeForTerminal(dead.joined(separator: "; ")))"))
        case .unknown(let reason):
            return Receipt(
                json: applied, failure: CommandFailure(.unavailable, "applied in turn \(turn), and then unknown: \(reason)"))
        }
    }
}
