internal import CPostgreSQL

/// What a statement has given, in the binary format.
///
/// Of its own memory, and used by one thread at a time.
public struct PostgreSQLRows: ~Copyable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit { PQclear(result) }

    /// How many rows there are.
    public var count: Int { Int(PQntuples(result)) }

    /// How many rows an `INSERT`, `UPDATE` or `DELETE` has touched, or a `SELECT` has given.
    public var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// A `bigint` or `int`.
    public func integer(_ row: Int, _ column: Int) throws(PostgreSQLError) -> Int {
        let bytes = try value(row, column)
        guard bytes.count == 8 || bytes.count == 4 else { throw unexpected(column, "a number") }
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return bytes.count == 8 ? Int(Int64(bitPattern: bits)) : Int(Int32(truncatingIfNeeded: bits))
    }

    /// A `bytea` or `uuid`.
    public func bytes(_ row: Int, _ column: Int) throws(PostgreSQLError) -> [UInt8] { Array(try value(row, column)) }

    /// A `text` or `name`.
    public func text(_ row: Int, _ column: Int) throws(PostgreSQLError) -> String {
        guard let text = String(validating: try value(row, column), as: UTF8.self) else { throw unexpected(column, "a text") }
        return text
    }

    public func boolean(_ row: Int, _ column: Int) throws(PostgreSQLError) -> Bool {
        let bytes = try value(row, column)
        guard bytes.count == 1 else { throw unexpected(column, "a boolean") }
        return bytes.first != 0
    }

    private func value(_ row: Int, _ column: Int) throws(PostgreSQLError) -> UnsafeBufferPointer<UInt8> {
        guard row < count, column < Int(PQnfields(result)), PQgetisnull(result, CInt(row), CInt(column)) == 0,
            let start = PQgetvalue(result, CInt(row), CInt(column))
        else { throw unexpected(column, "a value") }
        let length = Int(PQgetlength(result, CInt(row), CInt(column)))
        return UnsafeBufferPointer(start: UnsafePointer(OpaquePointer(start)), count: length)
    }

    private func unexpected(_ column: Int, _ what: String) -> PostgreSQLError {
        PostgreSQLError(.unexpected, "column \(column) of the answer is not \(what)")
    }
}

/// What a result says of an error or a warning: https://www.postgresql.org/docs/15/protocol-error-fields.html
func field(_ code: Unicode.Scalar, of result: OpaquePointer) -> String? {
    PQresultErrorField(result, CInt(code.value)).map { String(cString: $0) }
}
