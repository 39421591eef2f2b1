import PostgreSQL
import PostgreSQLJournal
import Testing

struct AddressTests {
    @Test(arguments: [
        "postgresql://:hunter2@/orders", "postgresql://me:hunter2@db.internal/orders", "postgresql:///orders?password=hunter2",
    ])
    func `A password does not stand in an address, and the error does not repeat it`(_ text: String) {
        let error = #expect(throws: PostgreSQLAddressError.self) { try PostgreSQLAddress(text) }
        #expect(error?.description.contains("PGPASSFILE") == true && error?.description.contains("hunter2") == false)
    }

    @Test(arguments: ["", "orders", "host=/tmp dbname=orders", "postgresql://[/orders", "postgresql:///orders?nothing=hunter2"])
    func `What is no address is refused, and not repeated`(_ text: String) {
        let error = #expect(throws: PostgreSQLAddressError.self) { try PostgreSQLAddress(text) }
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test(arguments: ["prefer", "require", "verify-ca", "disable"])
    func `Beyond the machine the server proves who it is`(_ mode: String) throws {
        #expect(throws: PostgreSQLAddressError.self) { try PostgreSQLAddress("postgresql://db.internal/orders?sslmode=\(mode)") }
        #expect(throws: PostgreSQLAddressError.self) { try PostgreSQLAddress("postgresql:///orders?service=db&sslmode=\(mode)") }
        for local in ["/orders", "localhost/orders", "127.0.0.1/orders", "/orders?host=/run/postgresql"] {
            let question = local.contains("?") ? "&" : "?"
            _ = try PostgreSQLAddress("postgresql://\(local)\(question)sslmode=\(mode)")
        }
        for mixed in ["localhost,db.internal/orders?", "localhost/orders?hostaddr=10.0.0.1&"] {
            #expect(throws: PostgreSQLAddressError.self) { try PostgreSQLAddress("postgresql://\(mixed)sslmode=\(mode)") }
        }
        _ = try PostgreSQLAddress("postgresql://db.internal/orders?sslmode=verify-full")
        _ = try PostgreSQLAddress("postgresql://db.internal/orders")
    }

    @Test func `The name of a schema is a plain one`() throws {
        let address = try PostgreSQLAddress("postgresql:///orders")
        #expect(PostgreSQLPlace(address, schema: "orders_2")?.description == "postgresql:///orders, schema orders_2")
        for name in ["", "Orders", "2", "_a", "a\"; DROP TABLE batches", "ä", String(repeating: "a", count: 64)] {
            #expect(PostgreSQLPlace(address, schema: name) == nil, "\(name)")
        }
    }
}
