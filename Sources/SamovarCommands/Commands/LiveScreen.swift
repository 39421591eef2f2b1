import Foundation

/// Redraws a few lines in place on a terminal.
final class LiveScreen {
    /// Whether standard output is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    private var lines = 0

    func draw(_ text: String) {
        var size = winsize()
        // A terminal that will not tell its size gets what fits everywhere.
        let known = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 && size.ws_col > 0
        let rows = known ? Int(size.ws_row) - 1 : 24
        let columns = known ? Int(size.ws_col) : 80
        let shown = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(rows).map { $0.prefix(columns - 1) }
        // Up to where the last drawing began, then everything below it anew.
        let home = lines > 0 ? "\u{1b}[\(lines)A\r" : ""
        printData(home + "\u{1b}[J" + shown.joined(separator: "\n"))
        lines = shown.count
    }
}
