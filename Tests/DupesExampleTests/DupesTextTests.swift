import Testing

@testable import DupesExample

struct DupesTextTests {
    private let view = Dupes.ViewState(
        root: Path("/home"), phase: .hashing, fraction: 0.999,
        counts: Dupes.Counts(
            directories: 1, files: 12_345, smallFiles: 2, hardLinks: 1, hashedFiles: 4_000, hashedBytes: 1_234_567, groups: 2,
            reclaimableBytes: 999),
        largest: [
            Dupes.LargeGroup(
                sha256: "00", size: 333, copies: 4, reclaimableBytes: 999, paths: [Path("/home/\u{1b}[2J"), Path("/home/b")])
        ],
        problems: 7, firstProblems: [Problem(path: Path(bytes: [0x2f, 0xff]), reason: "No such file or directory")])

    @Test func `Line tells phase counts and problems`() {
        #expect(
            DupesText.line(of: view)
                == "hashing 99 %; 1 directory, 12,345 files; 1.2 MB hashed; 2 groups of duplicates, 999 B to free; 7 problems")
    }

    @Test func `Screen tells everything`() {
        #expect(
            DupesText.screen(of: view) == """
                Duplicates below /home
                [█████████████████████████████░] 99 % hashing

                  found       1 directory, 12,345 files, 2 too small, 1 hard link
                  hashed      4,000 files, 1.2 MB
                  duplicates  2 groups, 999 B to free
                  problems    7

                What frees most
                  999 B: 4 copies of 333 B
                    /home/\\u{1b}[2J
                    /home/b
                    … and 2 more

                Problems
                  /\\xff: No such file or directory
                  … and 6 more
                """)
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_999, "1.9 kB"), (999_999, "999.9 kB"), (1_000_000, "1.0 MB"),
        (2_500_000_000, "2.5 GB"), (Int.max, "9.2 EB"), (-5, "-5 B"),
    ])
    func `Bytes are rounded down to a tenth`(_ count: Int, _ text: String) {
        #expect(DupesText.bytes(count) == text)
    }

    @Test(arguments: [-1, 0, 0.5, 1, 2, Double.nan, .infinity])
    func `Bar has the same width for any number`(_ fraction: Double) {
        #expect(DupesText.bar(fraction, width: 10).count == 12)
        #expect(DupesText.percent(fraction).hasSuffix(" %"))
    }

    @Test func `Characters that a terminal obeys are escaped`() {
        #expect(DupesText.printable(Path("a\n\t\u{7f}\u{9b}\u{202e}é")) == "a\\u{a}\\u{9}\\u{7f}\\u{9b}\\u{202e}é")
    }
}
