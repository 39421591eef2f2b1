import SamovarCore
import Testing

@testable import SamovarWire

/// The table of keys as a file has it.
struct KeyTableTextTests {
    private static let first = "3f1c0d528f5e4b0e9a570c1d2e3f4a5b"
    private static let second = "0123456789abcdef0123456789abcdef"

    private func key(_ name: String = "shop", _ fingerprint: String = first, _ roles: Set<Role> = [.client]) throws -> Key {
        Key(try #require(KeyName(name)), try #require(Fingerprint(fingerprint)), roles: roles)
    }

    private func error(_ text: String) -> String? {
        do throws(KeyTableError) {
            _ = try KeyTableText(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `Reads what its description shows`() throws {
        let text = try KeyTableText(
            """
            # Samovar keys: name fingerprint roles option=value…
            render-1 \(Self.first) worker queues=render,encode not-after=2027-01-01T00:00:00Z

              shop\t\(Self.second)  client,viewer inputs=place,cancel sessions=1000 hellos=100
            """)
        var limits = Key.Limits()
        limits.sessions = 1000
        limits.hellos = 100
        let keys = [
            Key(
                try #require(KeyName("render-1")), try #require(Fingerprint(Self.first)), roles: [.worker],
                queues: ["render", "encode"], notAfter: Timestamp(microseconds: 1_798_761_600_000_000)),
            Key(
                try #require(KeyName("shop")), try #require(Fingerprint(Self.second)), roles: [.client, .viewer],
                inputs: ["place", "cancel"], limits: limits),
        ]
        #expect(text.table.keys == keys)
    }

    @Test func `What is written is read again`() throws {
        var limits = Key.Limits()
        (limits.sessions, limits.hellos, limits.viewBytes, limits.badFrames) = (1, 2, 3, 4)
        let name = try #require(KeyName("a.b_c-d"))
        let keys = [
            try key(), try key("everything", "00000000000000000000000000000000", Set(Role.allCases)),
            Key(
                name, try #require(Fingerprint(Self.second)), roles: [.worker],
                queues: ["a b", "c,d", "100%", "ü\n", "#", "=", Queue("\u{0}")], inputs: ["place", "stäte"],
                notAfter: Timestamp(microseconds: 253_402_300_799_000_000), limits: limits),
        ]
        var text = try KeyTableText(KeyTableText.heading + "\n")
        for key in keys { try text.add(key) }
        #expect(text.table.keys == keys)
        #expect(try KeyTableText(text.text) == text)
        #expect(text.text.split(separator: "\n").count == 4)
        #expect(
            text.text.contains("queues=%00,#,100%25,=,a%20b,c%2Cd,%C3%BC%0A inputs=place,st%C3%A4te not-after=9999-12-31T23:59:59Z")
        )
        #expect(text.text.contains(" sessions=1 hellos=2 view-bytes=3 bad-frames=4\n"))
    }

    @Test func `Whoever adds and removes keys keeps what people have written`() throws {
        let before = "# mine\nshop \(Self.first) client   sessions=5 \r\n\n# the end"
        var text = try KeyTableText(before)
        #expect(text.text == "# mine\nshop \(Self.first) client   sessions=5 \n\n# the end\n")
        try text.add(try key("new", Self.second))
        let shop = try #require(Fingerprint(Self.first))
        #expect(try text.remove(shop))
        #expect(try !text.remove(shop))
        #expect(text.text == "# mine\n\n# the end\nnew \(Self.second) client\n")
        #expect(text.table.keys.map(\.name.description) == ["new"])
    }

    @Test func `What could not be read again is not written`() throws {
        let name = try #require(KeyName("x"))
        let fingerprint = try #require(Fingerprint(Self.first))
        var limits = Key.Limits()
        limits.hellos = 0
        var text = try KeyTableText(KeyTableText.heading + "\n")
        for key in [
            Key(name, fingerprint, roles: []), Key(name, fingerprint, roles: [.worker], queues: []),
            Key(name, fingerprint, roles: [.client], inputs: [""]), Key(name, fingerprint, roles: [.client], limits: limits),
            Key(name, fingerprint, roles: [.client], notAfter: Timestamp(microseconds: 1)),
            Key(name, fingerprint, roles: [.client], notAfter: Timestamp(microseconds: -86_400_000_000)),
            Key(name, fingerprint, roles: [.client], notAfter: Timestamp(microseconds: .max)),
        ] {
            #expect(throws: KeyTableError.self) { try text.add(key) }
        }
        #expect(text.table.keys.isEmpty)
    }

    @Test func `The limits of a key go from 1 to a thousand million, and whoever gives another is told so`() throws {
        let (name, fingerprint) = (try #require(KeyName("x")), try #require(Fingerprint(Self.first)))
        for (bytes, isWritten) in [(0, false), (1, true), (1_000_000_000, true), (1_000_000_001, false), (Int.max, false)] {
            var limits = Key.Limits()
            limits.viewBytes = bytes
            var text = try KeyTableText("")
            var problem: String?
            do throws(KeyTableError) {
                try text.add(Key(name, fingerprint, roles: [.viewer], limits: limits))
            } catch {
                problem = error.description
            }
            #expect(text.table.keys.map(\.limits) == (isWritten ? [limits] : []), "\(bytes)")
            let words =
                "x cannot be written: names are not empty, limits from 1 to 1000000000, times whole seconds from 1970 to 9999"
            #expect(problem == (isWritten ? nil : words), "\(bytes)")
        }
    }

    static let wrong: [(String, String)] = [
        (".x \(first) client", "a name has 1 to 32 letters"), ("secret: D:)Q[IlAW!ahhC2ac", "a name has 1 to 32 letters"),
        ("x", "behind the name"), ("x \(first)", "behind the name"), ("x \(first)0 client", "behind the name"),
        ("x \(first) king", "the roles are"), ("x \(first) client,", "the roles are"),
        ("x \(first) client,client", "the roles are"),
        ("x \(first) Client", "the roles are"), ("x \(first) client sessions", "behind the roles"),
        ("x \(first) client color=red", "no such option"), ("x \(first) client sessions=0", "a number from 1"),
        ("x \(first) client sessions=1000000001", "a number from 1"), ("x \(first) client sessions=1 sessions=1", "twice"),
        ("x \(first) client inputs=", "names with commas"), ("x \(first) client inputs=a,,b", "names with commas"),
        ("x \(first) client inputs=%zz", "names with commas"), ("x \(first) client inputs=%-0", "names with commas"),
        ("x \(first) client inputs=%4", "names with commas"), ("x \(first) client inputs=%ff", "names with commas"),
        ("x \(first) client not-after=2027-02-29T00:00:00Z", "a time such as"),
        ("x \(first) client not-after=2027-01-01T00:00:00+01:00", "a time such as"),
        ("x \(first) client not-after=2027-01-01", "a time such as"),
        ("x \(first) client not-after=2027-13-01T00:00:00Z", "a time such as"),
        ("x \(first) client not-after=2027-01-01T24:00:00Z", "a time such as"),
    ]

    @Test(arguments: wrong) func `A line that is wrong is named, and not repeated`(_ line: String, _ reason: String) throws {
        let error = try #require(self.error("# head\n\n\(line)\n"))
        #expect(error.hasPrefix("line 3: "))
        #expect(error.contains(reason))
        #expect(!error.contains("IlAW") && !error.contains(Self.first) && !error.contains("color"))
    }

    @Test func `It is read as a whole or not at all`() {
        #expect(
            error("a \(Self.first) client\nb \(Self.second) client\nc \(Self.first) client\n")
                == "line 3: its fingerprint is that of line 1, too")
        let third = "00000000000000000000000000000000"
        #expect(error("a \(Self.first) client\na \(Self.second) client") == nil)
        #expect(error("a \(Self.first) client\na \(Self.second) client\na \(third) client")?.contains("more than 2 keys") == true)
    }

    @Test func `Texts that are no tables are no more than that`() {
        for text in ["", "\n\n", "#", "\r\n", "\u{0}", "\u{a0}", "%", "= = =", String(repeating: "x ", count: 10_000)] {
            _ = error(text)
        }
    }

    static let instants: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"), (1_709_164_800, "2024-02-29T00:00:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (1_798_761_600, "2027-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    ]

    @Test(arguments: instants) func `A time is its text`(_ seconds: Int64, _ text: String) {
        #expect(instantText(Timestamp(microseconds: seconds * 1_000_000)) == text)
        #expect(instant(Substring(text)) == Timestamp(microseconds: seconds * 1_000_000))
    }

    @Test func `Each day of four centuries is its text`() {
        for day in stride(from: Int64(0), to: 150_000, by: 11) {
            let time = Timestamp(microseconds: (day * 86_400 + day % 86_400) * 1_000_000)
            if instant(Substring(instantText(time))) != time { Issue.record("day \(day)") }
        }
    }
}
