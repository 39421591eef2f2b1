import Foundation
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText
import SamovarWire

/// The other end of ``PastViews``: answers each line of standard input, the number of a turn, with a line, `view TIMELINE TURN TIME BASE64` or
/// `error WORDS`, until there are no more.
enum PastServing<App: SamovarApp> {
    /// Whoever asked is gone; a replay may still be under way.
    private static var limit: TimeInterval { 10 }

    static func run(_ settings: ProcessSettings) async throws {
        guard let output = reserveStandardOutput() else {
            throw CommandFailure(.inputOutput, "cannot keep standard output for answers")
        }
        let questions = LineInbox()
        try questions.open {
            // The program's code may never come back.
            Thread.sleep(forTimeInterval: limit)
            _exit(75)
        }
        while let turn = try await onThread("samovar-past-questions", { nextTurn(questions) }) {
            do {
                try await StorePast<App>.read(settings, "replay") { try serve(turn, questions, in: $0, output) }
            } catch {
                answer("error \(words(for: error))", output)
            }
        }
    }

    /// Answers questions as long as this past can be kept open: a store that wants its folder gets it.
    private static func serve(_ first: Int, _ questions: LineInbox, in past: Past, _ output: Int32) throws {
        var next: Int? = first
        while let turn = next {
            do {
                if turn > past.span.known.upperBound { try past.refresh() }
                try past.move(to: turn)
                let time = try past.record(of: turn).map { instantText(of: $0.time) } ?? "-"
                answer("view \(past.timeline) \(turn) \(time) \(Data(try past.view()).base64EncodedString())", output)
            } catch {
                answer("error \(words(for: error))", output)
                return
            }
            next = past.isExclusive ? nil : nextTurn(questions)
        }
    }

    /// Who does not read any more has ended, and standard input says so.
    private static func answer(_ line: String, _ output: Int32) { _ = writeAll(Array("\(line)\n".utf8), to: output) }

    private static func words(for error: any Error) -> String { escapeForTerminal("\(error)") }

    private static func nextTurn(_ questions: LineInbox) -> Int? {
        guard let line = questions.peek(wait: nil) else { return nil }
        questions.drop()
        return Int(line)
    }
}
