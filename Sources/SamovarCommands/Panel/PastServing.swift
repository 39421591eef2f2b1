import Foundation
import SamovarCore
import SamovarHost
import SamovarProtocol

/// The other end of ``PastViews``: answers each line of standard input, the number of a turn, with a line, `view TIMELINE TURN TIME BASE64` or
/// `error WORDS`, until there are no more. A turn behind the end of what was read has the journal read once more.
enum PastServing<App: SamovarApp> {
    static func run(_ settings: ProcessSettings) async throws {
        var next = try await onThread("samovar-past-questions", nextTurn)
        while let turn = next {
            do {
                next = try await StorePast<App>.read(settings, "replay") { try serve(turn, in: $0) }
            } catch {
                printData("error \(words(for: error))")
                next = try await onThread("samovar-past-questions", nextTurn)
            }
        }
    }

    /// Answers questions that this past can answer; returns the first one that is beyond it.
    private static func serve(_ first: Int, in past: Past) throws -> Int? {
        var next: Int? = first
        while let turn = next {
            if turn != first, turn > past.span.known.upperBound { return turn }
            do {
                try past.move(to: turn)
                let time = try past.record(of: turn).map { instantText(of: $0.time) } ?? "-"
                printData("view \(past.timeline) \(turn) \(time) \(Data(try past.view()).base64EncodedString())")
            } catch {
                printData("error \(words(for: error))")
            }
            next = nextTurn()
        }
        return nil
    }

    private static func words(for error: any Error) -> String { escapeForTerminal("\(error)") }

    private static func nextTurn() -> Int? { readLine().flatMap { Int($0) } }
}
