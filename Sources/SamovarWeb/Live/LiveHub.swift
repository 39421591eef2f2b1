import Foundation
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarTerminal
import SamovarText
import SamovarWire
import Synchronization

/// What all browsers are told: the newest view, and once a second how the store is doing, as long as one of them is there.
///
/// A browser takes what is new when it has sent what it was given, so one that is slow costs nothing and misses views, never the newest.
/// Each is sent something once a second, since only what cannot be sent tells that a browser is gone.
final class LiveHub: Sendable {
    /// What a browser has been sent.
    struct Seen: Sendable {
        var view = 0
        var status = 0
        var beat = 0
        /// What it was sent last was a view.
        var wasView = false
    }

    private struct Contents {
        var panels = ShownPanels()
        var timeline = Timeline.zero
        var turn = 0
        var view = "{\"type\":\"away\"}"
        /// What was told of it, and with whether the view is old.
        var status: MessagePackValue = .nil
        var statusText = ""
        /// Presses that have no receipt yet.
        var unanswered = 0
        var versions = Seen(view: 1, status: 0)
        var isStale = true
        /// Nil before the store has said so.
        var isOperator: Bool?
        var tabs: [UUID: AsyncStream<Void>.Continuation] = [:]
    }

    /// How many may be open: more are no person's.
    static let tabs = 64

    /// What a page passes over.
    private static let beat = "{\"type\":\"beat\"}"

    /// A key that is for no operator may become one's; until then each question is a line in the store's log.
    private static let refusedSeconds = 60

    private let contents = Mutex(Contents())
    private let client: PageClient
    private let admin: AdminClient
    private let clock = HostClock()

    init(_ client: PageClient, _ admin: AdminClient) {
        (self.client, self.admin) = (client, admin)
    }

    /// Until the client ends, or the task is cancelled.
    ///
    /// - Throws: what ends the client.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.client.run { self.heard($0) } }
            group.addTask {
                var seconds = 0
                while !Task.isCancelled {
                    let (isWanted, isRefused) = self.contents.withLock { (!$0.tabs.isEmpty, $0.isOperator == false) }
                    if isWanted, !isRefused || seconds % Self.refusedSeconds == 0 {
                        await self.askStatus()
                    } else {
                        self.tellBeat()
                    }
                    seconds += 1
                    // Ends early with the task.
                    try? await Task.sleep(for: .seconds(1))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: What is told

    private func heard(_ event: StoreClient.ViewEvent) {
        switch event {
        case .view(let view): show(view)
        case .stale: setStale(true)
        case .live: setStale(false)
        case .resyncing, .idle: break
        }
    }

    private func show(_ view: StoreClient.View) {
        var panel: AnyPanel?
        let shown: MessagePackValue
        do {
            let value = try MessagePackValue(encoded: view.bytes)
            panel = PanelReader.panel(in: value)
            shown = panel.map { ["panel": PageValues.value(of: $0)] } ?? ["value": PageValues.bounded(value)]
        } catch {
            shown = ["problem": .string("the view of turn \(view.turn) cannot be read: \(error)")]
        }
        let text = JSONTranscoder.text(of: [
            "type": "view", "turn": .int(Int64(view.turn)), "timeline": .string("\(view.timeline)"), "shown": shown,
        ])
        let now = clock.now()
        contents.withLock { [panel] contents in
            if contents.timeline != view.timeline { contents.panels.forget() }
            contents.timeline = view.timeline
            contents.turn = view.turn
            contents.panels.show(panel, turn: view.turn, now: now)
            contents.view = text
            if contents.isStale {
                contents.isStale = false
                Self.tellStatus(&contents)
            }
            contents.versions.view += 1
            ring(contents)
        }
    }

    private func setStale(_ isStale: Bool) {
        contents.withLock { contents in
            guard contents.isStale != isStale else { return }
            contents.isStale = isStale
            Self.tellStatus(&contents)
            ring(contents)
        }
    }

    private func askStatus() async {
        let status: MessagePackValue
        var isOperator: Bool?
        do {
            status = PageValues.bounded(try await admin.ask("status", patience: .seconds(1)))
            isOperator = true
        } catch {
            status = ["problem": .string("\(error)")]
            switch error {
            case AdminError.keyRefused: isOperator = false
            // Who has the folder's socket is the journal's owner, and a stopped store has a past, too.
            case AdminError.noStore where !admin.hasKey: isOperator = true
            default: break
            }
        }
        contents.withLock { contents in
            contents.status = status
            contents.isOperator = isOperator ?? contents.isOperator
            Self.tellStatus(&contents)
            ring(contents)
        }
    }

    var isFull: Bool { contents.withLock { $0.tabs.count >= Self.tabs } }

    /// Whether the store lets this page do what operators may; nil if it has not said so yet.
    var isOperator: Bool? {
        get async {
            if contents.withLock({ $0.isOperator }) == nil { await askStatus() }
            return contents.withLock { $0.isOperator }
        }
    }

    /// What is known of the newest turn that is on disk; nil before anything was heard.
    var newest: (timeline: String, turn: Int)? {
        contents.withLock { $0.timeline == .zero ? nil : ("\($0.timeline)", $0.turn) }
    }

    private static func tellStatus(_ contents: inout Contents) {
        contents.statusText = JSONTranscoder.text(
            of: ["type": "status", "stale": .bool(contents.isStale), "status": contents.status])
        contents.versions.status += 1
    }

    /// In each second in which no status is told.
    private func tellBeat() {
        contents.withLock { contents in
            contents.versions.beat += 1
            ring(contents)
        }
    }

    private func ring(_ contents: Contents) {
        for tab in contents.tabs.values { tab.yield() }
    }

    // MARK: Browsers

    /// One browser's place, which ends when nobody holds it.
    final class Tab: Sendable {
        private let hub: LiveHub
        private let id: UUID
        private let bell: AsyncStream<Void>
        private let seen = Mutex(Seen())

        fileprivate init(_ hub: LiveHub, _ id: UUID, _ bell: AsyncStream<Void>) {
            (self.hub, self.id, self.bell) = (hub, id, bell)
        }

        deinit { hub.leave(id) }

        /// The next message, once there is one; nil when this task is cancelled.
        func next() async -> String? {
            if let message = take() { return message }
            for await _ in bell {
                if let message = take() { return message }
            }
            return nil
        }

        private func take() -> String? {
            hub.contents.withLock { contents in
                seen.withLock { seen in
                    let hasView = seen.view < contents.versions.view
                    // Not always the view first: for a browser that is slow there is a newer one each time.
                    if seen.status < contents.versions.status, seen.wasView || !hasView {
                        (seen.status, seen.wasView) = (contents.versions.status, false)
                        return contents.statusText
                    }
                    if hasView {
                        (seen.view, seen.wasView) = (contents.versions.view, true)
                        return contents.view
                    }
                    guard seen.beat < contents.versions.beat else { return nil }
                    seen.beat = contents.versions.beat
                    return LiveHub.beat
                }
            }
        }
    }

    /// Nil if there are too many already.
    func join() -> Tab? {
        let (bell, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        let isIn = contents.withLock { contents in
            guard contents.tabs.count < Self.tabs else { return false }
            // While nobody is there, nobody asks: what is known is of an earlier time.
            if contents.tabs.isEmpty, contents.isOperator != false {
                contents.status = .nil
                Self.tellStatus(&contents)
            }
            contents.tabs[id] = continuation
            return true
        }
        return isIn ? Tab(self, id, bell) : nil
    }

    private func leave(_ id: UUID) {
        contents.withLock { $0.tabs.removeValue(forKey: id) }?.finish()
    }

    // MARK: What a person does

    /// Sends what a control sends, and waits for the receipt.
    func press(_ press: ShownPanels.Press) async -> MessagePackValue {
        let now = clock.now()
        switch contents.withLock({ $0.panels.answer(to: press, now: now) }) {
        case .refuse(let reason): return ["problem": .string(reason)]
        case .send(let input): return await send(input)
        }
    }

    /// Sends an input, and waits for its receipt.
    func send(_ input: MessagePackValue) async -> MessagePackValue {
        let limit = PanelLimits().unanswered
        let isTaken = contents.withLock { contents in
            guard contents.unanswered < limit else { return false }
            contents.unanswered += 1
            return true
        }
        guard isTaken else { return ["problem": .string("\(limit) inputs have no answer yet: wait for the store")] }
        defer { contents.withLock { $0.unanswered -= 1 } }
        switch PanelMachine.Answer(await client.send(input.encoded)) {
        case .applied(let turn): return ["applied": .int(Int64(turn))]
        case .refused(let reason, let turn): return ["refused": .string(reason), "turn": .int(Int64(turn))]
        case .failed(let reason): return ["problem": .string(reason)]
        }
    }
}
