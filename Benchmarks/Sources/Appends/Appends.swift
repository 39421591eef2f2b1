import Journal
import PostgreSQL
import PostgreSQLJournal

/// Appends to a fenced journal in PostgreSQL, each followed or preceded by a raw insert of the same bytes into a table that is like the one of the
/// journal: `Appends 'postgresql:///bench?schema=a1' 256 100` for batches of 256 KiB, 100 of each kind.
///
/// Prints one line per figure: a name and a number. Both have a connection of their own, to the same server, and a transaction for each.
@main
enum Appends {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        guard let address = arguments.first, numbers.count == 2, numbers[0] > 0, numbers[1] > 0 else { throw Usage() }
        var pair = try Pair.make(at: PostgreSQLPlace(address), size: numbers[0] << 10)
        // The statements are prepared, and the tables have their first pages.
        for _ in 0..<max(10, numbers[1] / 10) { try pair.append() }
        (pair.fenced, pair.raw) = (.zero, .zero)
        for _ in 0..<numbers[1] { try pair.append() }
        try pair.requireAll()
        for (name, time) in [("fenced", pair.fenced), ("raw", pair.raw)] {
            let rate = Double(numbers[1]) / (time / .seconds(1))
            print("\(name)_per_second \((rate * 10).rounded() / 10)")
        }
    }
}

struct Usage: Error {}

/// A journal and a table that get the same batches.
struct Pair: ~Copyable {
    struct Unequal: Error {}

    private let journal: PostgreSQLJournal
    private var connection: PostgreSQLConnection
    private let table: String
    private let bytes: [UInt8]
    private let digest: [UInt8]
    private var count = 0
    var fenced = Duration.zero
    var raw = Duration.zero

    static func make(at place: PostgreSQLPlace, size: Int) throws -> Pair {
        _ = try PostgreSQLJournal.create(at: place)
        let journal = try PostgreSQLJournal(at: place)
        let table = "\"\(place.schema)\".raw"
        var connection = try PostgreSQLConnection(place.address)
        try connection.run("CREATE TABLE \(table) (LIKE \"\(place.schema)\".batches INCLUDING ALL)")
        return Pair(journal, connection, table, size)
    }

    private init(_ journal: PostgreSQLJournal, _ connection: consuming PostgreSQLConnection, _ table: String, _ size: Int) {
        self.journal = journal
        self.connection = connection
        self.table = table
        bytes = (0..<size).map { _ in .random(in: .min ... .max) }
        digest = (0..<32).map { _ in .random(in: .min ... .max) }
    }

    /// Appends to both, now to one first and now to the other.
    mutating func append() throws {
        count += 1
        if count.isMultiple(of: 2) { try appendFenced() }
        try appendRaw()
        if !count.isMultiple(of: 2) { try appendFenced() }
    }

    private mutating func appendFenced() throws {
        let batch = Batch(first: count, last: count, bytes: bytes)
        let begun = ContinuousClock.now
        try journal.append(batch)
        fenced += ContinuousClock.now - begun
    }

    private mutating func appendRaw() throws {
        let sql = "INSERT INTO \(table) (partition, first, last, epoch, digest, data) VALUES ($1, $2, $3, $4, $5, $6)"
        let begun = ContinuousClock.now
        _ = try connection.run(
            sql, [.integer(0), .integer(count), .integer(count), .integer(1), .bytes(digest), .bytes(bytes)])
        raw += ContinuousClock.now - begun
    }

    /// Both have all of it.
    mutating func requireAll() throws {
        let rows = try connection.run("SELECT count(*), sum(length(data))::bigint FROM \(table)", [])
        guard journal.last == count, try rows.integer(0, 0) == count, try rows.integer(0, 1) == count * bytes.count else {
            throw Unequal()
        }
    }
}
