import MessagePack
package import SamovarHost
package import SamovarTerminal
import SamovarText
import SamovarWire

/// Shows the views of a store in the terminal, sends what a person presses, and tells what the view was.
struct PanelScreen: Sendable {
    let client: StoreClient
    /// Nil for a store whose program is not known.
    let past: PastViews?
    /// A view without a panel, as text.
    let text: @Sendable ([UInt8]) throws -> String

    private static let lacksPast = "this tool has no program to replay: `monitor` of the program's own executable shows the past"

    /// Returns when the person leaves. The client is closed then.
    func run() async throws {
        let inbox = PanelInbox()
        // The machine sends no more than it may have unanswered.
        // It asks for one turn at a time.
        let (turns, turn) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (orders, order) = AsyncStream<Order>.makeStream(bufferingPolicy: .bufferingOldest(PanelLimits().unanswered))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in client.views() { inbox.heard(event) }
                inbox.end()
            }
            group.addTask { await send(orders, inbox) }
            if let past { group.addTask { await past.serve(turns) { inbox.told($0) } } }
            defer {
                order.finish()
                turn.finish()
                // What waits for a receipt ends with the client.
                client.close()
                group.cancelAll()
            }
            try await withTaskCancellationHandler {
                try await onThread("samovar-panel") {
                    // First, so that no signal comes between the terminal's change and the way back.
                    let signals = try TerminalSignals()
                    var loop = PanelLoop(
                        try RawTerminal(), signals, inbox, lacksPast: past == nil ? Self.lacksPast : nil, text: text,
                        send: { order.yield(($0, $1)) }, lookUp: { turn.yield($0) })
                    try loop.run()
                }
            } onCancel: {
                inbox.end()
            }
        }
    }

    private typealias Order = (number: Int, input: MessagePackValue)

    private func send(_ orders: AsyncStream<Order>, _ inbox: PanelInbox) async {
        await withDiscardingTaskGroup { group in
            for await order in orders {
                group.addTask { inbox.answered(order.number, PanelMachine.Answer(await client.send(order.input.encoded))) }
            }
        }
    }
}

extension PanelMachine.Answer {
    /// What became of an input, for whoever has pressed a control.
    package init(_ result: StoreClient.Result) {
        switch result {
        case .rejected(let reason): self = .failed(reason)
        case .unknown(let reason): self = .failed("nobody can tell whether it was applied: \(reason)")
        case .answered(let outcome):
            switch outcome.verdict {
            case .applied: self = .applied(turn: outcome.turn)
            case .rejected(let reason): self = .failed(reason)
            case .refused(let refusal):
                // A refusal that cannot be read is a refusal still.
                let reason = (try? MessagePackValue(encoded: refusal)).map { JSONTranscoder.text(of: $0) }
                self = .refused(reason ?? "without a readable reason", turn: outcome.turn)
            }
        }
    }
}
