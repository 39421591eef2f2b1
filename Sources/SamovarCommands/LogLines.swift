import Logging
import SamovarText

/// Where the log goes: to standard error, each message on one line.
///
/// A message may quote what peers have sent, an error or a failure, which must neither write lines of its own nor reach a terminal.
struct LogLines: TextOutputStream, Sendable {
    mutating func write(_ text: String) {
        let line = Self.line(text)
        if !RawTerminal.holds(line) { StandardStream.error.write(line) }
    }

    /// - Parameter text: what a handler writes for a message, with the line feed at its end.
    static func line(_ text: String) -> String {
        // A line feed behind a carriage return is no character of its own.
        let scalars = text.unicodeScalars
        guard scalars.last == "\n" else { return escapeForTerminal(text) }
        return escapeForTerminal(String(scalars.dropLast())) + "\n"
    }

    static func logger(_ label: String) -> Logger {
        Logger(label: label) { StreamLogHandler(label: $0, stream: LogLines()) }
    }
}
