package import Journal
package import JournalChain
import PostgreSQL
import Synchronization

extension PostgreSQLJournal: SharedJournal {
    package var end: BatchChain { state.withLock { $0.row.end } }

    package var warnings: [String] { [] }

    /// Its row is changed with each batch.
    package var isWitnessed: Bool { true }

    package var hasSoundFacts: Bool { true }

    package func mark(in page: UnsafeMutableRawPointer?) {
        let mark = page.map { MarkedEnd($0 + MarkedEnd.offset, of: identity) }
        state.withLock { state in
            mark?.write(state.row.end.last)
            state.mark = mark
        }
    }

    package func facts() throws(JournalError) -> [(name: String, value: [UInt8])] {
        try reading("The facts cannot be read.") { server throws(PostgreSQLError) in
            let sql = "SELECT name, value FROM \(server.place.table("facts")) WHERE partition = $1 ORDER BY name"
            return try server.ask { connection throws(PostgreSQLError) in
                let rows = try connection.run(sql, [.integer(JournalSchema.partition)])
                var facts: [(name: String, value: [UInt8])] = []
                for row in 0..<rows.count { facts.append((try rows.text(row, 0), try rows.bytes(row, 1))) }
                return facts
            }
        }
    }
}
