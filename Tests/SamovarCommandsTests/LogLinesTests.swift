import Testing

@testable import SamovarCommands

struct LogLinesTests {
    @Test func `A message is one line, and does nothing to a terminal`() {
        #expect(LogLines.line("error: the job failed: a\nb\r\u{1b}[2J\n") == "error: the job failed: a\\u{a}b\\u{d}\\u{1b}[2J\n")
        #expect(LogLines.line("warning: 5 °C\n") == "warning: 5 °C\n")
        #expect(LogLines.line("begun") == "begun")
    }

    @Test func `A message that ends with a carriage return still ends its line`() {
        #expect(LogLines.line("info: done\r\n") == "info: done\\u{d}\n")
    }
}
