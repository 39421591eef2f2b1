/// A value of a parameter, sent in the binary format.
public enum PostgreSQLValue: Equatable, Sendable {
    /// `bigint`.
    case integer(Int)
    /// `bytea`.
    case bytes([UInt8])
    /// `text`.
    case text(String)
    /// `uuid`: 16 bytes.
    case uuid([UInt8])

    /// From `pg_type.dat` of PostgreSQL, where they are fixed.
    var typeID: UInt32 {
        switch self {
        case .integer: 20
        case .bytes: 17
        case .text: 25
        case .uuid: 2950
        }
    }

    func write(to buffer: inout [UInt8]) {
        switch self {
        case .integer(let number): withUnsafeBytes(of: Int64(number).bigEndian) { buffer += $0 }
        case .bytes(let bytes), .uuid(let bytes): buffer += bytes
        case .text(let text): buffer += text.utf8
        }
    }
}
