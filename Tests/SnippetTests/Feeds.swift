import Foundation
import Logging
import Samovar
import SamovarTesting
import Testing

/// The running example of the articles: it watches feeds and mails what is new.
enum Feeds: Program {
    struct Feed: Portable {
        let url: String
        var title = ""
        var problem: String?
    }

    // snippet: inputs-types
    struct State: Portable {
        var feeds: [Feed] = []
        var isPaused = false
        var mailed = 0
    }

    /// What outsiders may send: a wish.
    enum Input: Portable { case add(url: String), remove(url: String), pause(Bool) }

    /// What has happened: a fact.
    enum Message: Portable {
        case added(url: String), removed(url: String), paused(Bool)
        case hourCame, resumed
        case fetched(url: String, title: String), failed(url: String, problem: String)
        case mailed
    }

    /// Why a wish is not granted.
    enum Refusal: Error, Portable { case alreadyThere, tooMany(most: Int) }
    // end

    enum Effect: Portable {
        case fetch(url: String), mail(text: String), watch(folder: String)

        var url: String? { if case .fetch(let url) = self { url } else { nil } }
        var text: String? { if case .mail(let text) = self { text } else { nil } }
        var folder: String? { if case .watch(let folder) = self { folder } else { nil } }
    }

    typealias Output = String

    struct ViewState: Portable {
        var titles: [String]
        var isPaused: Bool
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Feeds> { .state(State()) }

    // snippet: inputs-accept
    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .add(let url):
            if state.feeds.contains(where: { $0.url == url }) { throw .alreadyThere }
            if state.feeds.count == 100 { throw .tooMany(most: 100) }
            return .added(url: url)
        case .remove(let url): return .removed(url: url)
        case .pause(let isPaused): return .paused(isPaused)
        }
    }
    // end

    // snippet: commands-update
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Feeds> {
        switch message {
        case .added(let url):
            state.feeds.append(Feed(url: url))
            return fetch(url)
        case .removed(let url):
            state.feeds.removeAll { $0.url == url }
            return .cancel("fetch \(url)")
        case .hourCame, .resumed:
            return .batch(state.feeds.map { fetch($0.url) })
        case .fetched(let url, let title):
            guard let place = state.feeds.firstIndex(where: { $0.url == url }) else { return .none }
            guard state.feeds[place].title != title else { return .none }
            state.feeds[place].title = title
            return .emit(title).run(.mail(text: title), retry: .times(5)).then(.mailed)
        case .failed(let url, let problem):
            guard let place = state.feeds.firstIndex(where: { $0.url == url }) else { return .none }
            state.feeds[place].problem = problem
        case .paused(let isPaused): state.isPaused = isPaused
        case .mailed: state.mailed += 1
        }
        return .none
    }
    // end

    // snippet: effects-options
    static func fetch(_ url: String) -> Command<Feeds> {
        .run(
            .fetch(url: url), id: "fetch \(url)", queue: "http", policy: .latest,
            retry: .backoff(first: .seconds(1), max: .seconds(60), attempts: 5), timeout: .seconds(10))
    }
    // end

    // snippet: effects-failed
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .fetch(let url): .failed(url: url, problem: "\(failure)")
        case .mail, .watch: nil
        }
    }
    // end

    // snippet: subscriptions
    static func subscriptions(_ state: State) -> [Subscription<Feeds>] {
        if state.isPaused || state.feeds.isEmpty { return [] }
        return [
            .every(.seconds(3_600), id: "hour", missed: .once, send: .hourCame),
            .on(.resumed, id: "back", send: .resumed),
            .source(.watch(folder: "/srv/feeds"), id: "folder", queue: "disk"),
        ]
    }
    // end

    static func view(_ state: State) -> ViewState {
        ViewState(titles: state.feeds.map(\.title), isPaused: state.isPaused)
    }
}

// snippet: workers-list
struct FeedsApp: SamovarApp {
    static var slots: Int { 8 }

    static var worker: Worker<Feeds> {
        .handlers(environment: { try await Mailer.connected() }, tearDown: { await $0.close() }) {
            on(\.url) { url, job in .fetched(url: url, title: try await title(of: url)) }
            on(\.text) { text, mailer, job in
                // The key is the same in each attempt, so the other side can tell a repetition.
                try await mailer.send(text, key: job.key)
                return nil
            }
            on(\.folder) { folder, job in try await watch(folder, job) }
        }
        .serving(.default, "disk")
        .slots(4, queue: "http")
    }
}
// end

// snippet: workers-stream
private func watch(_ folder: String, _ job: Job<Feeds>) async throws -> Feeds.Message? {
    var seen = try job.resume?.checkpoint(as: Int.self) ?? 0
    for try await url in lines(of: folder, after: seen) {
        seen += 1
        try await job.stream(.added(url: url), checkpoint: seen)
    }
    return nil
}
// end

struct NoFeed: Error {}

// snippet: workers-permanent
private func title(of url: String) async throws -> String {
    guard url.hasPrefix("https:") else { throw Permanent("\(url) is not fetched: it is not encrypted") }
    return try await head(of: url)
}
// end

/// Stand for the outside world.
private func head(of url: String) async throws -> String {
    if url.hasSuffix("gone") { throw NoFeed() }
    return "title of \(url)"
}

private func lines(of folder: String, after count: Int) -> AsyncStream<String> {
    AsyncStream { $0.finish() }
}

struct Mailer: Sendable {
    static func connected() async throws -> Mailer { Mailer() }
    func send(_ text: String, key: String) async throws {}
    func close() async {}
}

// snippet: connector-send
func addFeed(_ url: String, dataFolder: String) async throws -> String {
    let connector = try Connector(Feeds.self, at: .of(dataFolder: dataFolder), logger: Logger(label: "feeds"))
    async let running: Void = connector.run()
    let receipt = await connector.send(.add(url: url), wait: .settled)
    connector.close()
    try await running
    return switch receipt {
    case .applied(let turn, let dead): "turn \(turn), and \(dead.count) of its effects are dead or were cancelled"
    case .unsettled(let turn, let reason): "turn \(turn), and nobody can tell of its effects: \(reason)"
    case .refused(.alreadyThere, _): "it is there already"
    case .refused(.tooMany(let most), _): "there are \(most) already"
    case .rejected(let reason): "it was not taken: \(reason)"
    case .unknown(let reason): "nobody can tell: \(reason)"
    }
}
// end

// snippet: connector-views
func printTitles(of connector: Connector<Feeds>) async {
    for await view in connector.views { print(view.turn, view.state.titles) }
}

func printPauses(of connector: Connector<Feeds>) async {
    for await isPaused in connector.views(\.isPaused) { print(isPaused ? "paused" : "goes on") }
}
// end

// snippet: connector-outputs
func printNews(of connector: Connector<Feeds>, after place: OutputPlace) async throws {
    for try await heard in connector.outputs(after: place) { print(heard.place, heard.output) }
}
// end

@Suite struct FeedsTests {
    // snippet: testing-policies
    @Test func `A feed that changes is mailed once, and an older fetch is cancelled by a newer one`() throws {
        let store = try TestStore(Feeds.self, exhaustive: false)
        store.send(.add(url: "https://a")) { $0.feeds = [Feeds.Feed(url: "https://a")] }
        store.advance(by: .seconds(3_600))
        store.expectEffects([.fetch(url: "https://a")])
        store.complete(.fetch(url: "https://a"), with: .fetched(url: "https://a", title: "news")) {
            $0.feeds[0].title = "news"
            $0.mailed = 1
        }
        store.expectOutputs(["news"])
        store.expectEffects([.mail(text: "news")])
    }
    // end

    @Test func `A refusal says why, a failure becomes a message, and a removed feed is fetched no more`() throws {
        let store = try TestStore(Feeds.self, exhaustive: false)
        store.send(.add(url: "https://a"))
        store.expectRefusal(of: .add(url: "https://a"), .alreadyThere)
        store.fail(.fetch(url: "https://a"), .threw, "no route") { $0.feeds[0].problem = "failed after 1 attempt: no route" }
        store.send(.add(url: "https://b"))
        store.send(.remove(url: "https://b"))
        store.expectEffects([])
        store.send(.pause(true))
        store.expectSubscriptions([])
    }
}
