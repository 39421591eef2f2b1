import Testing

/// What the compiler does not check stands in few files, behind an interface that is safe.
@Suite struct LifetimesTests {
    @Test(arguments: [
        ("exclusivity(unchecked)", []), ("unsafeBitCast", []),
        ("Unmanaged", ["Sources/MessagePack/Uncounted.swift", "Sources/PostgreSQL/PostgreSQLNotices.swift"]),
    ])
    func `Unchecked accesses, uncounted references and bit casts stand in the files that are for them`(
        _ word: String, _ files: [String]
    ) throws {
        let users = try Checkout.files(below: "Sources", ending: ".swift").filter { try Checkout.text($0).contains(word) }
        #expect(users == files)
    }
}
