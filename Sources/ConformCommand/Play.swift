import Foundation
import MessagePack
import SamovarConformance
import SamovarCore
import SamovarText
import ZeroMQ

/// Plays one scenario to a process of its own: the sockets of a store in a folder, the clock, and what the machine of the scenario says.
struct Play: ~Copyable {
    private let folder: PlayFolder
    private let process: PeerProcess
    private var machine: ScenarioMachine
    private var listeners: Listeners
    private var poller: Poller
    private let start: ContinuousClock.Instant
    private var end: (code: Int32, at: ContinuousClock.Instant)?
    private var isOutputClosed = false

    /// What the peer has sent last may still be under way when its process is gone.
    private static let lastWords = Duration.milliseconds(100)
    /// So long what it has printed is read after its end, if another process still holds its output.
    private static let lastLines = Duration.seconds(5)
    /// How often a full pipe is tried again.
    private static let retry = Duration.milliseconds(10)

    init(_ scenario: Scenario, as role: Subject, _ command: [String], slack: Duration) throws {
        let folder = try PlayFolder()
        var poller = Poller()
        let listeners = try Listeners(in: folder.path, &poller)
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SAMOVAR_") }
        variables["SAMOVAR_ENDPOINT"] = "ipc://\(folder.path)"
        let process = try PeerProcess(command, variables: variables, in: folder.path)
        _ = poller.add(process.wakeup)
        self.folder = folder
        self.process = process
        self.listeners = listeners
        self.poller = poller
        start = .now
        machine = ScenarioMachine(scenario, as: role, slack: slack, now: Timestamp(microseconds: 0))
    }

    private var now: Timestamp { Timestamp(microseconds: (ContinuousClock.now - start).microseconds) }

    /// The verdict, and what the peer has said on standard error.
    mutating func run() throws -> (Verdict, errors: String) {
        let result: (Verdict, errors: String)
        do {
            result = try play()
        } catch {
            // Why it could not be played is what counts.
            try? process.end()
            throw error
        }
        try process.end()
        return result
    }

    private mutating func play() throws -> (Verdict, errors: String) {
        while true {
            for action in machine.takeActions() { try perform(action) }
            let hasMore = process.flush()
            if let verdict = machine.verdict { return (verdict, process.errors) }
            var wait = end == nil ? machine.deadline.map { $0 - now } ?? .zero : Self.retry
            if hasMore { wait = min(wait, Self.retry) }
            try poller.wait(timeoutMilliseconds: Int(max(0, (wait.microseconds + 999) / 1_000)))
            // What has come by now is taken in this round, however long that lasts, unless it is a flood; what comes later has not
            // been waited for.
            let round = ContinuousClock.now
            try receive()
            for news in process.takeNews() {
                switch news {
                case .line(let text): machine.printed(try? JSONTranscoder.parse(text), now: now)  // Nil says that it is no JSON.
                case .outputClosed: isOutputClosed = true
                case .ended(let code): end = (code, .now)
                }
            }
            if let (code, time) = end, round - time >= (isOutputClosed ? Self.lastWords : Self.lastLines) {
                end = nil
                machine.exited(code, now: now)
            }
            // An end that is known is in time, however long its last lines are waited for, and says more than that nothing else has come.
            if end == nil { machine.ticked(now: now) }
        }
    }

    private mutating func receive() throws {
        let now = now
        try listeners.receive { parts, route in
            machine.received(parts, from: route, now: now)
            return machine.verdict == nil
        }
        try listeners.receiveTopics { topic in
            machine.subscribed(topic, now: now)
            return machine.verdict == nil
        }
    }

    private mutating func perform(_ action: ScenarioMachine.Action) throws {
        switch action {
        case .send(let parts, let route): try listeners.send(parts, to: route)
        case .publish(let parts): try listeners.publish(parts)
        case .write(let line): process.write(line)
        case .closeInput: process.closeInput()
        case .terminate: process.terminate()
        }
    }
}

/// A folder for this user alone, which ends with what it is for.
private struct PlayFolder: ~Copyable {
    let path: String

    init() throws {
        var template = Array((FileManager.default.temporaryDirectory.path + "/samovar-conform-XXXXXX").utf8CString)
        guard let name = mkdtemp(&template) else {
            throw SpawnError(description: "no folder for sockets: \(String(cString: strerror(errno)))")
        }
        path = String(cString: name)
    }

    deinit {
        // What cannot be removed is left to the system.
        try? FileManager.default.removeItem(atPath: path)
    }
}
