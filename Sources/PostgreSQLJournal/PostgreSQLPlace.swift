public import PostgreSQL

/// Where a journal is: a server, and in its database a schema for each store.
public struct PostgreSQLPlace: Hashable, Sendable, CustomStringConvertible {
    public let address: PostgreSQLAddress
    /// The name of the schema, as it stands in SQL between quotes.
    public let schema: String
    /// How long the server may take for one answer. Beyond it, the journal is unavailable.
    public var patience = Duration.seconds(10)

    /// - Parameter schema: 1 to 63 of `a-z`, `0-9` and `_`, a letter first; nil if it is something else.
    public init?(_ address: PostgreSQLAddress, schema: String = "samovar") {
        let isName = schema.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "_")
        }
        guard isName, (1...63).contains(schema.utf8.count), schema.first?.isLetter == true else { return nil }
        self.address = address
        self.schema = schema
    }

    public var description: String { "\(address), schema \(schema)" }

    func table(_ name: String) -> String { "\"\(schema)\".\(name)" }
}
