import SamovarHost
import SamovarTerminal
import Synchronization

/// What the panel's loop hears from the tasks of the client. Bounded: of views only the newest is kept, and answers are as many as
/// there are inputs without one.
final class PanelInbox: Sendable {
    struct Changes: Sendable {
        var view: StoreClient.View?
        /// Nil if nothing was heard of it.
        var isStale: Bool?
        var answers: [(number: Int, answer: PanelMachine.Answer)] = []
        /// To the one question that there can be.
        var past: PastViews.Answer?
        var hasEnded = false
    }

    private let changes = Mutex(Changes())

    func heard(_ event: StoreClient.ViewEvent) {
        change { changes in
            switch event {
            case .view(let view): (changes.view, changes.isStale) = (view, nil)
            case .stale: changes.isStale = true
            case .live: changes.isStale = false
            case .resyncing, .idle: break
            }
        }
    }

    func answered(_ number: Int, _ answer: PanelMachine.Answer) {
        change { $0.answers.append((number, answer)) }
    }

    func told(_ past: PastViews.Answer) {
        change { $0.past = past }
    }

    func end() {
        change { $0.hasEnded = true }
    }

    func take() -> Changes {
        changes.withLock { changes in
            defer { changes = Changes(hasEnded: changes.hasEnded) }
            return changes
        }
    }

    private func change(_ body: (inout sending Changes) -> Void) {
        changes.withLock { body(&$0) }
        TerminalSignals.wake()
    }
}
