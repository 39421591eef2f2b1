import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire

extension LoadTest {
    /// How long the store may take to serve, and for each answer.
    private static var patience: Duration { .seconds(30) }

    /// Ends the test before it begins if the key may not send. Viewers and operators are let in where clients come, and what they send is
    /// refused there: the judge would take it for lost. Who may send may read outputs, too, which changes nothing.
    func requireClientKey() async throws {
        guard !isOwn, settings.key != nil else { return }
        do {
            try await withClient(command.options, for: Types.self) { client in
                try await within(Self.patience) {
                    var outputs = client.outputs(waits: false)
                    _ = try await outputs.next()
                } else: {
                    let obstacle = client.obstacle ?? "nothing was heard of it"
                    return CommandFailure(.tryLater, "the store does not say whether this key may send: \(obstacle)")
                } giveUp: {
                    client.close()
                }
            }
        } catch let error as PeerError where error.code == .forbidden {
            throw CommandFailure(.noPermission, "load sends inputs, which this key may not: \(error)")
        }
    }

    /// Sends what must come before the load, one input after the other. Nobody else sends yet.
    func setUp() async throws {
        guard !setup.isEmpty else { return }
        let patience = isOwn ? Seconds(Self.patience) : nil
        try await withClient(command.options, for: Types.self, at: ground.store, patience: patience) { client in
            for input in setup { try await apply(input, client) }
        }
    }

    private func apply(_ input: [UInt8], _ client: StoreClient) async throws {
        let text = JSONTranscoder.text(of: try MessagePackValue(encoded: input))
        let result = try await within(Self.patience) {
            await client.send(input)
        } else: {
            let obstacle = client.obstacle ?? "nothing was heard of the store"
            return CommandFailure(.tryLater, "the setup input \(text) has no answer: \(obstacle)")
        } giveUp: {
            client.close()
        }
        try check(result, of: text)
    }

    /// - Throws: why the input is not applied, if it is not.
    private func check(_ result: StoreClient.Result, of text: String) throws {
        switch result {
        case .unknown(let reason):
            throw CommandFailure(.unavailable, "nobody can tell whether the setup input \(text) was applied: \(reason)")
        case .rejected(let reason): throw rejected(text, reason)
        case .answered(let outcome):
            switch outcome.verdict {
            case .applied: break
            case .rejected(let reason): throw rejected(text, reason)
            case .refused(let refusal):
                let reason = JSONTranscoder.text(of: try MessagePackValue(encoded: refusal))
                throw CommandFailure(.badData, "the setup input \(text) was refused: \(reason)")
            }
        }
    }

    private func rejected(_ text: String, _ reason: String) -> CommandFailure {
        CommandFailure(.badData, "the setup input \(text) was rejected: \(reason)")
    }
}
