import PostgreSQL
import Testing

@testable import PostgreSQLJournal

/// How the place of a journal is written.
@Suite struct PlaceTests {
    @Test(arguments: [
        ("postgresql://shop@/shop?host=/run/a", "samovar", "postgresql://shop@/shop?host=/run/a"),
        ("postgresql://shop@/shop?host=/run/a&schema=till", "till", "postgresql://shop@/shop?host=/run/a"),
        ("postgresql://shop@localhost/shop?schema=till", "till", "postgresql://shop@localhost/shop"),
        ("postgres://shop@localhost/shop?schema=t_1&connect_timeout=3", "t_1", "postgres://shop@localhost/shop?connect_timeout=3"),
    ])
    func `The schema is one of its settings`(_ text: String, _ schema: String, _ address: String) throws {
        let place = try PostgreSQLPlace(text)
        #expect(place.schema == schema && "\(place.address)" == address)
    }

    @Test(arguments: ["Till", "1a", "", "a\"b", String(repeating: "a", count: 41)])
    func `A name that SQL would read otherwise is none`(_ name: String) {
        let error = #expect(throws: PostgreSQLAddressError.self) {
            try PostgreSQLPlace("postgresql://localhost/shop?schema=\(name)")
        }
        #expect(error?.description == "the name of a schema has 1 to 40 of a-z, 0-9 and _, a letter first")
    }

    @Test func `Several hosts of which any would do are refused with what to add, for one may be a replica`() throws {
        let text = "several hosts, of which one may be a replica: add target_session_attrs=read-write, which finds the primary"
        for hosts in ["a.example,b.example/shop?", "/shop?host=/run/a,/run/b&", "/shop?hostaddr=127.0.0.1,127.0.0.2&"] {
            for setting in ["", "target_session_attrs=any"] {
                let error = #expect(throws: PostgreSQLAddressError.self) {
                    try PostgreSQLPlace("postgresql://\(hosts)\(setting)")
                }
                #expect(error?.description == text)
            }
            _ = try PostgreSQLPlace("postgresql://\(hosts)target_session_attrs=read-write")
            _ = try PostgreSQLPlace("postgresql://\(hosts)service=shop")
        }
        _ = try PostgreSQLPlace("postgresql://a.example/shop")
    }

    @Test(arguments: [
        ("postgresql://clerk@db.example:5432/shop?schema=till&connect_timeout=3", true),
        ("postgres://DB.example/shop?schema=till&sslmode=verify-full", true),
        ("postgresql://shop@db.example/?schema=till", true), ("postgresql://clerk@db.example/?schema=till", false),
        ("postgresql://shop@db.example:5433/shop?schema=till", false), ("postgresql://shop@other.example/shop?schema=till", false),
        ("postgresql://shop@db.example/other?schema=till", false), ("postgresql://shop@db.example/shop", false),
    ])
    func `It is the same for whoever comes there, and however`(_ text: String, _ isSame: Bool) throws {
        let place = try PostgreSQLPlace("postgresql://shop@db.example/shop?schema=till")
        let other = try PostgreSQLPlace(text)
        #expect(place.isNamed(by: "\(other)") == isSame)
    }

    @Test(arguments: ["", "/srv/till", ", schema till", "db.example, schema till"])
    func `What is no address names no place`(_ text: String) throws {
        #expect(try !PostgreSQLPlace("postgresql://shop@db.example/shop?schema=till").isNamed(by: text))
    }
}
