public import PostgreSQL

/// Where a journal is: a server, and in its database a schema for each store.
public struct PostgreSQLPlace: Hashable, Sendable, CustomStringConvertible {
    public let address: PostgreSQLAddress
    /// The name of the schema, as it stands in SQL between quotes.
    public internal(set) var schema: String
    /// How long the server may take for one answer. Beyond it, the journal is unavailable.
    public var patience = Duration.seconds(10)

    /// - Parameter schema: 1 to 40 of `a-z`, `0-9` and `_`, a letter first; nil if it is something else.
    public init?(_ address: PostgreSQLAddress, schema: String = "samovar") {
        let isName = schema.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber) || $0 == "_" }
        // PostgreSQL cuts names off behind 63 bytes, and the name of an archive is longer than its journal's.
        guard isName, (1...40).contains(schema.utf8.count), schema.first?.isLetter == true else { return nil }
        self.address = address
        self.schema = schema
    }

    /// - Parameter text: an address, which may say `schema=NAME` beside what libpq knows; else the schema is `samovar`.
    /// - Throws: `PostgreSQLAddressError`, which repeats nothing of the text.
    public init(_ text: String) throws(PostgreSQLAddressError) {
        let (address, schema) = Self.parts(of: text)
        guard let place = Self(try PostgreSQLAddress(address), schema: schema ?? "samovar") else {
            throw PostgreSQLAddressError("the name of a schema has 1 to 40 of a-z, 0-9 and _, a letter first")
        }
        // A replica that comes first would be asked again and again, and never has the journal to give.
        guard !place.address.takesAnyHost else {
            throw PostgreSQLAddressError(
                "several hosts, of which one may be a replica: add target_session_attrs=read-write, which finds the primary")
        }
        self = place
    }

    /// libpq refuses settings that it does not know.
    private static func parts(of text: String) -> (address: String, schema: String?) {
        guard let mark = text.firstIndex(of: "?") else { return (text, nil) }
        var schema: String?
        let others = text[text.index(after: mark)...].split(separator: "&").filter { setting in
            guard setting.hasPrefix("schema=") else { return true }
            schema = String(setting.dropFirst("schema=".count))
            return false
        }
        let rest = others.joined(separator: "&")
        return (text[..<mark] + (rest.isEmpty ? "" : "?" + rest), schema)
    }

    public var description: String { "\(address), schema \(schema)" }

    /// Whether this is the place that has described itself so, whoever comes there, and however.
    package func isNamed(by description: String) -> Bool {
        let end = ", schema \(schema)"
        // What is no address is none of this place.
        guard description.hasSuffix(end), let other = try? PostgreSQLAddress(String(description.dropLast(end.count))) else {
            return false
        }
        return other.target == address.target
    }

    func table(_ name: String) -> String { "\"\(schema)\".\(name)" }
}
