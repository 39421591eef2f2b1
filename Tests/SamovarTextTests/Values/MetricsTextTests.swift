import MessagePack
import SamovarTerminal
import Testing

@testable import SamovarText

/// What `metrics` prints of names that are not the store's own.
@Suite struct MetricsTextTests {
    private func answer(
        name: String = "a", kind: String = "gauge", suffix: String = "", label: String = "queue", queues: [String] = ["mail"]
    ) -> MessagePackValue {
        let samples = queues.enumerated().map { number, queue -> MessagePackValue in
            .array([
                .string(suffix), .map([MessagePackPair(.string(label), .string(queue))]), .int(Int64(number)),
            ])
        }
        return [
            "families": [
                ["name": .string(name), "kind": .string(kind), "help": "How \u{9b}1m", "samples": .array(samples)]
            ]
        ]
    }

    @Test(arguments: MetricsText.Format.allCases)
    func `No name of a queue speaks to the terminal, and no two become one series`(_ format: MetricsText.Format) throws {
        let queues = ["x\u{1b}[2J", #"x\u{1b}[2J"#, #"x\u{5c}u{1b}[2J"#, "\u{202e}\r\n\"\\", "\u{600}\\u{1b}"]
        let text = try #require(MetricsText.text(of: answer(queues: queues), format))
        #expect(text.unicodeScalars.filter(\.controlsTerminal).allSatisfy { $0 == "\n" })
        let lines = text.split(separator: "\n").map(String.init)
        #expect(
            lines.prefix(7) == [
                #"# HELP a How \\u{9b}1m"#,
                "# TYPE a gauge",
                #"a{queue="x\\u{1b}[2J"} 0"#,
                #"a{queue="x\\u{5c}u{1b}[2J"} 1"#,
                #"a{queue="x\\u{5c}u{5c}u{1b}[2J"} 2"#,
                #"a{queue="\\u{202e}\\u{d}\n\"\\"} 3"#,
                // An Arabic number sign is one character with what follows it.
                "a{queue=\"\u{600}\\\\u{5c}u{1b}\"} 4",
            ])
    }

    @Test func `What is no name of a metric, a kind or a label is no answer to metrics`() {
        #expect(MetricsText.text(of: answer(), .prometheus) != nil)
        for bad in ["", "1a", "a\u{1b}", "a b", "a\n", "ä"] {
            #expect(MetricsText.text(of: answer(name: bad), .prometheus) == nil)
            #expect(MetricsText.text(of: answer(kind: bad), .prometheus) == nil)
            #expect(MetricsText.text(of: answer(label: bad), .prometheus) == nil)
        }
        #expect(MetricsText.text(of: answer(suffix: "\u{7}"), .prometheus) == nil)
    }
}
