import Testing

@testable import SamovarTerminal

@Suite struct KeyDecoderTests {
    private func keys(_ text: String) -> [Key] { keys(Array(text.utf8)) }

    private func keys(_ bytes: [UInt8]) -> [Key] {
        var decoder = KeyDecoder()
        return decoder.keys(from: bytes)
    }

    @Test(
        arguments: [
            ("a", .character("a")), (" ", .character(" ")), ("é", .character("é")), ("世", .character("世")), ("😀", .character("😀")),
            ("\r", .enter), ("\n", .enter), ("\t", .tab), ("\u{7f}", .backspace), ("\u{8}", .backspace), ("\u{3}", .control("c")),
            ("\u{c}", .control("l")), ("\u{1b}[A", .up), ("\u{1b}OB", .down), ("\u{1b}[C", .right), ("\u{1b}[D", .left),
            ("\u{1b}[Z", .backTab), ("\u{1b}[H", .home), ("\u{1b}[4~", .end), ("\u{1b}[3~", .delete), ("\u{1b}[5~", .pageUp),
            ("\u{1b}[6~", .pageDown), ("\u{1b}[200~pasted\rq\u{1b}[201~", .paste("pasted\rq")),
        ] as [(String, Key)])
    func `Bytes become a key, wherever they are cut`(text: String, key: Key) {
        #expect(keys(text) == [key])
        var decoder = KeyDecoder()
        #expect(text.utf8.flatMap { decoder.keys(from: [$0]) } == [key])
    }

    @Test func `A lone escape is a key only after a pause`() {
        var decoder = KeyDecoder()
        #expect(decoder.keys(from: [0x1b]) == [])
        #expect(decoder.awaitsPause)
        #expect(decoder.paused() == [.escape])
        #expect(!decoder.awaitsPause)
        #expect(decoder.paused() == [])
        #expect(decoder.keys(from: Array("[A".utf8)) == [.character("["), .character("A")])
        #expect(keys("\u{1b}\u{1b}[A") == [.escape, .up])
    }

    @Test func `Unknown sequences and keys with Alt are passed over whole`() {
        #expect(keys("\u{1b}[1;5Pa") == [.character("a")])
        #expect(keys("\u{1b}[?1;2ca") == [.character("a")])
        #expect(keys("\u{1b}qa") == [.character("a")])
        // F1 of a Linux console.
        #expect(keys("\u{1b}[[Aa") == [.character("a")])
        #expect(keys("\u{1b}[" + String(repeating: "1", count: 10_000) + "~a") == [.character("a")])
    }

    @Test func `Invalid UTF-8 and control characters of two bytes are dropped`() {
        #expect(
            keys([0xff, 0xc3, 0x61, 0xe4, 0xb8, 0xc0, 0x62, 0xed, 0xa0, 0x80, 0xc2, 0x9b, 0x63]).filter {
                $0 != .character("\u{fffd}")
            }
                == [.character("a"), .character("b"), .character("c")])
    }

    @Test func `A paste is bounded, and its end is found all the same`() {
        let found = keys("\u{1b}[200~" + String(repeating: "x", count: 10_000) + "\u{1b}[201~a")
        #expect(found == [.paste(String(repeating: "x", count: PanelLimits().pasteBytes)), .character("a")])
        #expect(keys("\u{1b}[200~\u{1b}[20\u{1b}[201~") == [.paste("\u{1b}[20")])
    }

    @Test func `Any bytes are taken without a trap`() {
        var random = SystemRandomNumberGenerator()
        var decoder = KeyDecoder()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...8, using: &random)).map { _ in
                Bool.random() ? UInt8.random(in: 0...255) : Array("\u{1b}[20~1OA".utf8).randomElement() ?? 0
            }
            _ = decoder.keys(from: bytes)
            if Bool.random() { _ = decoder.paused() }
        }
    }
}
