import SamovarHost
import SamovarTerminal
import Synchronization

/// What the panel's loop hears from the tasks of the client. Bounded: of views only the newest is kept, and answers are as many as
/// there are inputs without one.
final class PanelInbox: Sendable {
    struct News: Sendable {
        var view: StoreClient.View?
        /// Nil if nothing was heard of it.
        var isStale: Bool?
        var answers: [(number: Int, answer: PanelMachine.Answer)] = []
        var hasEnded = false
    }

    private let news = Mutex(News())

    func heard(_ event: StoreClient.ViewEvent) {
        change { news in
            switch event {
            case .view(let view): (news.view, news.isStale) = (view, nil)
            case .stale: news.isStale = true
            case .live: news.isStale = false
            case .resyncing, .idle: break
            }
        }
    }

    func answered(_ number: Int, _ answer: PanelMachine.Answer) {
        change { $0.answers.append((number, answer)) }
    }

    func end() {
        change { $0.hasEnded = true }
    }

    func take() -> News {
        news.withLock { news in
            let taken = news
            news.view = nil
            news.isStale = nil
            news.answers = []
            return taken
        }
    }

    private func change(_ body: (inout sending News) -> Void) {
        news.withLock { body(&$0) }
        TerminalSignals.wake()
    }
}
