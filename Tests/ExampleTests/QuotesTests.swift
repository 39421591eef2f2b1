import ProcessSupport
import SamovarCore
import SamovarTesting
import SamovarWorker
import Testing

@testable import QuotesExample

@Suite struct QuotesTests {
    private let quote = Quote(text: "All is flux.", author: "Heraclitus")

    @Test func `The child fetches, and changes its part of the state and nothing else`() throws {
        let store = try TestStore(Quotes.self)
        store.expectView(Quotes.ViewState(quote: nil, status: "fetching…", kept: []))
        store.complete(try #require(store.openEffects.first), with: .fetcher(.fetched(quote))) {
            $0.fetcher = Fetcher.State(quote: quote)
        }
        store.expectView(Quotes.ViewState(quote: quote, status: "ready", kept: []))
        store.finish()
    }

    @Test func `What somebody likes is kept, once`() throws {
        let store = try TestStore(Quotes.self)
        store.expectRefusal(of: .keep, .nothingToKeep)
        store.complete(try #require(store.openEffects.first), with: .fetcher(.fetched(quote))) {
            $0.fetcher = Fetcher.State(quote: quote)
        }
        store.send(.keep) { $0.kept = [quote] }
        store.expectRefusal(of: .keep, .keptAlready)
        store.restart()
        store.finish()
    }

    @Test func `Of two wishes the newer counts`() throws {
        let store = try TestStore(Quotes.self)
        let first = try #require(store.openEffects.first)
        store.send(.next)
        #expect(store.openEffects.count == 1)
        #expect(store.openEffects != [first])
        store.complete(try #require(store.openEffects.first), with: .fetcher(.fetched(quote))) {
            $0.fetcher = Fetcher.State(quote: quote)
        }
        store.finish()
    }

    @Test func `A failure is shown, and leaves the quote before`() throws {
        let store = try TestStore(Quotes.self)
        store.complete(try #require(store.openEffects.first), with: .fetcher(.fetched(quote))) {
            $0.fetcher = Fetcher.State(quote: quote)
        }
        store.send(.next) { $0.fetcher.isBusy = true }
        store.fail(try #require(store.openEffects.first), .threw, "no book") {
            $0.fetcher = Fetcher.State(quote: quote, problem: "failed after 1 attempt: no book")
        }
        store.expectView(Quotes.ViewState(quote: quote, status: "failed after 1 attempt: no book", kept: []))
        store.finish()
    }

    // snippet: testing-environment
    @Test(.timeLimit(.minutes(1))) func `The worker looks for its quote where it is told to`() async throws {
        let library: Library = { number in Quote(text: "number \(number)", author: "nobody") }
        let run = try await TestJob(Quotes.self, .fetcher(.fetch(number: 7))).run(QuotesApp.worker, environment: library)
        run.expect(.returned(.fetcher(.fetched(Quote(text: "number 7", author: "nobody")))))
    }
    // end

    @Test(.timeLimit(.minutes(1))) func `An empty book is no reason to try again`() async throws {
        let library: Library = { _ in throw Permanent("the book is empty") }
        let run = try await TestJob(Quotes.self, .fetcher(.fetch(number: 7))).run(QuotesApp.worker, environment: library)
        run.expect(.permanent("the book is empty"))
    }

    @Test func `Across processes the worker reads the file that it is told, and what was kept survives a crash`() async throws {
        let quotes = try await ExampleStore(
            "quotes", files: ["one.txt": "All is flux.\tHeraclitus\n"], variables: ["QUOTES_FILE": "{}/one.txt"])
        try await eventually("a quote is there") { try await quotes.view().contains("ready") }
        try await quotes.send("keep")
        try await quotes.kill()
        #expect(
            audit(of: quotes).suffix(3) == [
                "wanted, 0 kept", #"fetched "All is flux.", 0 kept"#, #"kept "All is flux.", 1 kept"#,
            ])
        try await quotes.start()
        let view = try await quotes.view()
        #expect(view.contains("kept\n  - text    All is flux.\n    author  Heraclitus"), "\(view)")
        // A replay is no news.
        #expect(audit(of: quotes) == [])
    }

    /// The lines of the audit log since the last start, without the numbers of turns.
    private func audit(of quotes: ExampleStore) -> [Substring] {
        quotes.up.errors.split(separator: "\n").filter { $0.hasPrefix("audit ") }.map { $0.drop { $0 != ":" }.dropFirst(2) }
    }
}
