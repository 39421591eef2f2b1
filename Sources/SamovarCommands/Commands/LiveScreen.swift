import Foundation
import SamovarTerminal

/// Redraws a few lines in place on a terminal.
final class LiveScreen {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    private var lines = 0

    func draw(_ text: String) {
        // A terminal that will not tell its size gets what fits everywhere.
        let (columns, rows) = StandardStream.output.size.map { ($0.columns, $0.rows - 1) } ?? (80, 24)
        let shown = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(rows)
            .map { $0.cut(toColumns: columns - 1) }
        // Up to where the last drawing began, then everything below it anew.
        let home = lines > 0 ? "\u{1b}[\(lines)A\r" : ""
        printData(home + "\u{1b}[J" + shown.joined(separator: "\n"))
        lines = shown.count
    }
}

extension StandardStream {
    /// Draws a line of a terminal in the place of the one that was drawn last. It is cut before the edge: of one that wraps, only the last
    /// row would be redrawn.
    package func redraw(_ line: String) {
        write("\r\u{1b}[K" + line[...].cut(toColumns: (size?.columns ?? 80) - 1))
    }
}
