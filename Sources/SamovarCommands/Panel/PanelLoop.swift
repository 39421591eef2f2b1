import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarTerminal
import SamovarText

/// The loop between a terminal and a panel's machine. It runs on a thread of its own: reading keys and writing to a slow terminal block.
struct PanelLoop: ~Copyable {
    let terminal: RawTerminal
    let signals: TerminalSignals
    let inbox: PanelInbox
    let send: @Sendable (Int, MessagePackValue) -> Void
    /// Asks what the view was as of a turn.
    let lookUp: @Sendable (Int) -> Void
    /// A view without a panel, as text.
    let text: @Sendable ([UInt8]) throws -> String
    var machine: PanelMachine
    private var timeline: Timeline?
    private let clock = HostClock()

    /// - Parameter lacksPast: why nobody can tell what the view was; nil if somebody can.
    init(
        _ terminal: consuming RawTerminal, _ signals: consuming TerminalSignals, _ inbox: PanelInbox, lacksPast: String?,
        text: @escaping @Sendable ([UInt8]) throws -> String, send: @escaping @Sendable (Int, MessagePackValue) -> Void,
        lookUp: @escaping @Sendable (Int) -> Void
    ) {
        self.terminal = terminal
        self.signals = signals
        self.inbox = inbox
        self.text = text
        self.send = send
        self.lookUp = lookUp
        // https://no-color.org
        let hasColours = ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
        machine = PanelMachine(size: Self.size, theme: Theme(hasColours: hasColours), lacksPast: lacksPast)
    }

    /// How long a lone ESC may wait for the rest of a key.
    private static let escapePause = Duration.milliseconds(50)

    /// Returns when the person leaves, the terminal is gone, or the inbox says so.
    mutating func run() throws {
        var goesOn = perform(machine.redraw()) && hearNews()
        // When a key that was begun has waited long enough for its rest, whatever else wakes the loop until then.
        var pauseEnd: Timestamp?
        while goesOn {
            var waits = [
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            poll(&waits, 2, clock.milliseconds(until: pauseEnd).map { Int32($0) } ?? -1)
            if let end = pauseEnd, waits[0].revents == 0, now >= end {
                goesOn = perform(machine.paused(now: now))
                pauseEnd = nil
            }
            if waits[1].revents != 0 { goesOn = try goesOn && hearSignals() && hearNews() }
            if goesOn, waits[0].revents != 0 {
                guard let bytes = terminal.read() else { return }
                goesOn = perform(machine.typed(bytes, now: now))
                pauseEnd = machine.awaitsPause ? now + Self.escapePause : nil
            }
        }
    }

    private var now: Timestamp { clock.now() }

    /// False when it is time to leave.
    private mutating func perform(_ actions: [PanelMachine.Action]) -> Bool {
        for action in actions {
            switch action {
            case .write(let bytes): if !terminal.write(bytes) { return false }
            case .send(let number, let input): send(number, input)
            case .lookUp(let turn): lookUp(turn)
            case .leave: return false
            }
        }
        return true
    }

    private mutating func hearNews() -> Bool {
        let changes = inbox.take()
        var actions: [PanelMachine.Action] = []
        if let view = changes.view {
            timeline = view.timeline
            actions += machine.shown(panel(of: view.bytes, turn: view.turn), turn: view.turn, now: now)
        }
        if let past = changes.past { actions += hear(past) }
        if let isStale = changes.isStale { actions += isStale ? machine.stale() : machine.live() }
        for (number, answer) in changes.answers { actions += machine.answered(number, answer) }
        return perform(actions) && !changes.hasEnded
    }

    private mutating func hear(_ past: PastViews.Answer) -> [PanelMachine.Action] {
        switch past {
        case .failed(let why): return machine.pastFailed(why, now: now)
        case .view(let other, let turn, let time, let bytes):
            guard other == timeline.map({ "\($0)" }) else {
                return machine.pastFailed("the journal is of another timeline than the view: name its folder with --data", now: now)
            }
            return machine.past(panel(of: bytes, turn: turn), turn: turn, time: time)
        }
    }

    private mutating func hearSignals() throws -> Bool {
        for number in signals.take() {
            switch number {
            case SIGWINCH: if !perform(machine.resized(to: Self.size)) { return false }
            case SIGTSTP:
                terminal.leave()
                guard stop() else { return false }
                // The process goes on here; the terminal may have another size by then.
                try terminal.enter()
                if !perform(machine.resized(to: Self.size)) { return false }
            default: return false
            }
        }
        return true
    }

    /// Stops this process until the terminal is its own again: one in the background that changes the settings is stopped for that, also when
    /// it goes on only to end.
    ///
    /// - Returns: false if it was told to end.
    private func stop() -> Bool {
        repeat {
            signals.stop()
            // A shell's `kill` has it go on to end, which another thread may hear of a moment later.
            for _ in 0..<10 where RawTerminal.isInBackground {
                if signals.take().contains(where: { $0 != SIGWINCH && $0 != SIGTSTP }) { return false }
                poll(nil, 0, 10)
            }
        } while RawTerminal.isInBackground
        return true
    }

    /// A terminal that tells no size is taken for one of the usual size.
    private static var size: GridSize {
        let size = StandardStream.output.size ?? (80, 24)
        return GridSize(columns: size.columns, rows: size.rows)
    }

    /// The panel of a view. A view that has none, or cannot be read, is shown as text: the next one may be a panel again.
    private func panel(of view: [UInt8], turn: Int) -> AnyPanel {
        do {
            if let panel = PanelReader.panel(in: try MessagePackValue(encoded: view)) { return panel }
            let lines = try text(view).split(separator: "\n", omittingEmptySubsequences: false)
            return AnyPanel("", lines.map { .text(String($0)) })
        } catch {
            return AnyPanel("", [.text("the view of turn \(turn) cannot be read: \(error)", .bad)])
        }
    }
}
