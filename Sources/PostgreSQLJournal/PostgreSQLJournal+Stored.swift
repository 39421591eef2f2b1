package import Journal
package import JournalChain
import PostgreSQL
import Synchronization

extension PostgreSQLJournal: SharedJournal {
    package var end: BatchChain { state.withLock { $0.row.end } }

    /// Its row is changed with each batch.
    package var isWitnessed: Bool { true }

    package var hasSoundFacts: Bool { true }

    package func lease(address: String) -> any JournalLease { PostgreSQLLease(place, id: nonce, address: address) }

    package func mark(in page: UnsafeMutableRawPointer?) {
        state.withLock { $0.mark = MarkedEnd(page, of: identity, at: $0.row.end.last) }
    }

    package func facts() throws(JournalError) -> [(name: String, value: [UInt8])] {
        let sql = "SELECT name, value FROM \(place.table("facts")) WHERE partition = $1 ORDER BY name"
        return try reading("The facts cannot be read.", sql) { rows, row throws(PostgreSQLError) in
            (name: try rows.text(row, 0), value: try rows.bytes(row, 1))
        }
    }
}
