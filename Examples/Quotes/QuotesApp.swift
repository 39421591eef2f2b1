import Foundation
import Samovar

/// `quotes up`, and in another terminal `quotes send next`, `quotes send keep` and `quotes view --format text`.
@main
struct QuotesApp: SamovarApp {
    static var worker: Worker<Quotes> {
        Fetcher.worker { try library(in: ProcessInfo.processInfo.environment["QUOTES_FILE"] ?? "Examples/Quotes/quotes.txt") }
            .lift(effect: { if case .fetcher(let effect) = $0 { effect } else { nil } }, message: { .fetcher($0) })
    }

    /// A file with a quote in each line: the text, a tab, and who said it.
    private static func library(in path: String) throws -> Library {
        guard let bytes = FileManager.default.contents(atPath: path) else { throw Permanent("cannot read \(path)") }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return { number in
            guard !lines.isEmpty else { throw Permanent("\(path) is empty") }
            let parts = lines[number % lines.count].split(separator: "\t", maxSplits: 1).map(String.init)
            return Quote(text: parts.first ?? "", author: parts.count > 1 ? parts[1] : "unknown")
        }
    }

    /// The audit log: a line on standard error for each turn, as soon as it is on disk. A replay writes nothing.
    static var observers: [TurnObserver<Quotes>] {
        [
            TurnObserver { message, state, turn in
                "audit \(turn.number): \(name(of: message)), \(state.kept.count) kept\n"
            } deliver: { line in
                // Nobody could be told: an observer may miss turns, see docs/composition.md.
                try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
            }
        ]
    }

    private static func name(of message: Quotes.Message) -> String {
        switch message {
        case .fetcher(.wanted): "wanted"
        case .fetcher(.fetched(let quote)): "fetched \(quote.text.debugDescription)"
        case .fetcher(.failed(let reason)): "failed: \(reason.debugDescription)"
        case .kept(let quote): "kept \(quote.text.debugDescription)"
        }
    }
}
