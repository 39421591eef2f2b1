import Foundation
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

/// The process `explore`: computes the past of a store's journal for the page, whose server starts it and ends it.
///
/// The idea: the program's code runs here and nowhere else of the page, so that a trap or an `update` without an end harms nobody. A line of JSON
/// comes in on standard input (``ExplorerRequest``), one of JSON goes out on standard output, in the same order, of at most
/// ``ExplorerAnswers/maximumBytes``; nothing else is written there, whatever the program prints. Between two requests it works on its index and on its
/// checkpoints.
///
/// `@unchecked`: what changes is used by one past after the other, each on one thread.
final class ExplorerLoop: @unchecked Sendable {
    /// A search takes no longer, and neither does a piece of work that nobody has asked for.
    private static let searchTime = Duration.seconds(1)
    private static let workTime = Duration.milliseconds(50)
    /// What was opened so shortly ago is the newest timeline that there is.
    private static let settlingTime = Duration.milliseconds(100)
    /// A folder whose store may come at any time is kept no longer at once.
    private static let holdTime = Duration.milliseconds(500)
    /// And left alone so long that a store that wants it, and looks every 20 ms, has it.
    private static let pause: TimeInterval = 0.2

    private let request: ExploreRequest
    private let mark: ExplorerMark
    /// Names this build. One that cannot be told from others has no states but its own.
    private let build = ExecutableFile.own.map { "\($0)" } ?? UUID().uuidString
    private let output: Int32
    private let inbox = LineInbox()
    private var explorer: Explorer?
    private var timeline: Timeline?
    private var hasWork = false
    private var pace = WorkPace()
    /// Until then it does nothing that nobody has asked for.
    private var resting = ContinuousClock.now
    /// Before the past is opened again, if there is work.
    private var pause: TimeInterval = 0
    /// What has kept it from its work, and was told.
    private var told: String?
    /// How long it took to open the past.
    private var openingTime = Duration.zero

    init(_ request: ExploreRequest) throws(CommandFailure) {
        self.request = request
        mark = try ExplorerMark.shared(in: request.folder) { printError("explore: \(escapeForTerminal("\($0)"))") }
        guard let output = reserveStandardOutput() else {
            throw CommandFailure(.unavailable, "cannot keep standard output for answers")
        }
        self.output = output
    }

    /// Until standard input ends, or the program was built anew: then the page's server starts that build, and asks it what this
    /// one has not answered.
    func run() async throws {
        try inbox.open { [request] in
            // The program's code may never come back. What is left of the folder is in that for temporary files.
            try? FileManager.default.removeItem(atPath: request.folder)
            _exit(0)
        }
        while !inbox.isAtEnd {
            // Nothing is opened before somebody asks.
            let wait = hasWork ? pause : nil
            if wait != 0 { _ = try await onThread("samovar-explore") { [inbox] in inbox.peek(wait: wait) } }
            guard !ExecutableFile.ownIsReplaced else {
                return printError("explore: the program was built anew, and that build goes on")
            }
            let begin = ContinuousClock.now
            do {
                try await request.read { past in
                    self.openingTime = ContinuousClock.now - begin
                    past.mark = { [mark = self.mark] in if let turn = $0 { mark.enter(turn) } else { mark.leave() } }
                    try self.serve(past)
                }
            } catch {
                hasWork = false
                tell("\(error)")
                answer(["problem": .string("\(error)")])
            }
        }
    }

    /// Work that nobody has asked for is nobody's answer.
    private func tell(_ obstacle: String?) {
        if let obstacle, obstacle != told { printError("explore: \(escapeForTerminal(obstacle))") }
        told = obstacle
    }

    /// Answers from this past until it is to be opened again: to see what is new, or so that a store that wants the folder gets it.
    private func serve(_ past: Past) throws {
        let opened = ContinuousClock.now
        // A state that is begun is lost when the past is closed, so none is worked on then.
        let keepsStates = !past.isExclusive
        pause = past.isExclusive ? Self.pause : 0
        if timeline != past.timeline || explorer == nil {
            timeline = past.timeline
            let checkpoints = FolderCheckpoints(in: "\(request.folder)/states", of: past.timeline, by: build)
            explorer = Explorer(checkpoints: checkpoints, blocked: request.blocked)
            pace = WorkPace()
        }
        while !inbox.isAtEnd {
            hasWork = explorer?.hasWork(in: past, keepingStates: keepsStates) ?? false
            let rest = max(.zero, resting - ContinuousClock.now) / .seconds(1)
            if let line = inbox.peek(wait: hasWork ? rest : past.isExclusive ? 0 : nil) {
                guard try isAnswered(line, past, opened) else { return }
            } else if hasWork {
                try work(in: past, keepsStates)
            }
            if past.isExclusive, !hasWork || ContinuousClock.now - opened > Self.holdTime { return }
        }
    }

    /// Does a piece of what nobody has asked for, and rests then as long as the store needs.
    private func work(in past: Past, _ keepsStates: Bool) throws {
        let begin = ContinuousClock.now
        try explorer?.work(in: past, keepingStates: keepsStates) { ContinuousClock.now >= begin + Self.workTime }
        tell(explorer?.obstacle)
        // A folder that could be opened has no store.
        guard !past.isExclusive else { return }
        let end = ContinuousClock.now
        if pace.isDue(at: end) {
            try past.refresh()
            pace.note(past.span.known.upperBound, at: end)
        }
        resting = end + pace.rest(after: end - begin)
    }

    /// False if the past has to be opened again first, or this build is to answer nothing any more.
    private func isAnswered(_ line: String, _ past: Past, _ opened: ContinuousClock.Instant) throws -> Bool {
        // The store that runs may be of that build by now.
        guard !ExecutableFile.ownIsReplaced else { return false }
        let age = ContinuousClock.now - opened
        let mayReopen = age > max(.seconds(1), openingTime * 20)
        do {
            let value = try JSONTranscoder.parse(line)
            do {
                try past.refresh()
            } catch {
                // The store has gone away, or has begun another timeline.
                guard age > Self.settlingTime else { throw error }
                return false
            }
            let isOther = value.text("timeline").map { $0 != "\(past.timeline)" } ?? false
            let isBehind = (value.number("durable") ?? 0) > past.span.known.upperBound
            if isOther, age > Self.settlingTime { return false }
            if isBehind, mayReopen { return false }
            if isOther { throw ExplorerError("the journal is of another timeline than what the store shows: \(past.timeline)") }
            let end = ContinuousClock.now + Self.searchTime
            guard let asked = try ExplorerRequest(value) else { throw ExplorerError("there is nothing at this path") }
            let found = try explorer?.answer(to: asked, in: past) { ContinuousClock.now >= end } ?? .nil
            answer(found, past)
        } catch {
            mark.leave()
            answer(["problem": .string("\(error)")], past)
        }
        return true
    }

    private func answer(_ value: MessagePackValue, _ past: Past? = nil) {
        guard inbox.peek(wait: 0) != nil else { return }
        inbox.drop()
        var value = value
        if let past {
            value["timeline"] = .string("\(past.timeline)")
            value["durable"] = .int(Int64(past.span.known.upperBound))
        }
        let bytes = Array((ExplorerAnswers.line(value) + "\n").utf8)
        // Who does not read any more has ended, and standard input says so.
        _ = writeAll(bytes, to: output)
    }
}
