import Foundation
import Samovar

/// Watches web sites, and raises an alert when one goes down or comes back.
enum Uptime: Program {
    /// What the config file holds, see `sites.json`.
    struct Seed: Portable { let sites: [String], everySeconds: Int }
    /// What is known of a site: nothing before the first probe is back.
    struct Site: Portable { let url: String, isUp: Bool?, answer: String, since: Timestamp? }
    struct State: Portable { var sites: [Site], everySeconds: Int, isPaused = false }
    enum Input: Portable { case add(url: String), remove(url: String), pause(on: Bool), check }
    enum Message: Portable { case asked(Input), ticked, probed(url: String, isUp: Bool, answer: String) }
    enum Effect: Portable { case probe(url: String), alert(text: String) }
    enum Refusal: Error, Portable { case notHTTP, known, unknown, full }
    static let most = 1_000

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Uptime> {
        if !seed.sites.allSatisfy(isHTTP) { throw Refusal.notHTTP }
        if Set(seed.sites).count < seed.sites.count { throw Refusal.known }
        if seed.sites.count > most { throw Refusal.full }
        let sites = seed.sites.map { Site(url: $0, isUp: nil, answer: "", since: nil) }
        return .state(State(sites: sites, everySeconds: min(max(seed.everySeconds, 1), 86_400)), .then(.ticked))
    }

    private static func isHTTP(_ url: String) -> Bool { url.hasPrefix("http://") || url.hasPrefix("https://") }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .add(let url):
            if !isHTTP(url) { throw .notHTTP }
            if state.sites.contains(where: { $0.url == url }) { throw .known }
            if state.sites.count >= most { throw .full }
        case .remove(let url): if !state.sites.contains(where: { $0.url == url }) { throw .unknown }
        case .check, .pause: break
        }
        return .asked(input)
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Uptime> {
        switch message {
        case .asked(.add(let url)):
            state.sites.append(Site(url: url, isUp: nil, answer: "", since: nil))
            return probe(url)
        case .asked(.remove(let url)):
            state.sites.removeAll { $0.url == url }
            return .cancel("probe \(url)")
        case .asked(.check), .ticked: return .batch(state.sites.map { probe($0.url) })
        case .asked(.pause(let isPaused)): state.isPaused = isPaused
        case .probed(let url, let isUp, let answer):
            guard let place = state.sites.firstIndex(where: { $0.url == url }) else { return .none }
            let before = state.sites[place]
            state.sites[place] = Site(url: url, isUp: isUp, answer: answer, since: before.isUp == isUp ? before.since : turn.now)
            // That a site is up at first is no news.
            if before.isUp == isUp || (before.isUp == nil && isUp) { return .none }
            let text = "\(url) is \(isUp ? "up" : "down")"
            return .run(.alert(text: text), queue: "alerts", retry: .times(5), timeout: .seconds(10))
        }
        return .none
    }

    /// A site is down if three attempts in a row fail, of ten seconds each. While a probe is under way, no other is begun.
    private static func probe(_ url: String) -> Command<Uptime> {
        .run(.probe(url: url), id: "probe \(url)", queue: "http", policy: .first, retry: .times(2), timeout: .seconds(10))
    }

    /// No timer runs while nobody wants one.
    static func subscriptions(_ state: State) -> [Subscription<Uptime>] {
        if state.isPaused || state.sites.isEmpty { return [] }
        return [.every(.seconds(state.everySeconds), id: "check", send: .ticked)]
    }

    /// An alert that nobody took stays among the dead effects, until an operator requeues or drops it.
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        if case .probe(let url) = effect { .probed(url: url, isUp: false, answer: failure.description) } else { nil }
    }

    /// The status page: `uptime monitor` draws it, and a person presses its buttons there.
    static func view(_ state: State) -> Panel<Input> {
        let down = state.sites.count { $0.isUp == false }
        let pause = state.isPaused ? "resume" : "pause"
        return Panel(
            "Uptime",
            [
                down == 0 ? .text("no site is down", .good) : .text("\(down) of \(state.sites.count) down", .bad),
                .table(["site", "is", "since", "answer", ""], rows: state.sites.map(row)),
                .columns([.button("check now", send: .check), .button(pause, send: .pause(on: !state.isPaused))]),
                .field("Add") { .add(url: $0) },
            ])
    }

    private static func row(_ site: Site) -> [PanelNode<Input>] {
        let since = site.since.map { Date(timeIntervalSince1970: Double($0.microseconds / 1_000_000)).formatted(.iso8601) }
        return [
            .text(site.url), site.isUp.map { $0 ? .text("up", .good) : .text("down", .bad) } ?? .text("unknown", .quiet),
            .text(since ?? ""), .text(site.answer, .quiet), .button("remove", send: .remove(url: site.url)),
        ]
    }
}
