import JournalChain
import SamovarStore
import Testing

/// The page of the file `marker`, which two parts of a store share.
@Suite struct MarkerPageTests {
    @Test func `The words of the trap marker end where the journal's witness begins`() {
        #expect(TrapMarker.wordCount * 8 == MarkedEnd.offset)
        // Behind the witness are one word that nobody has, and the two of the mark of maintenance.
        #expect(MarkedEnd.offset + MarkedEnd.byteCount <= TrapMarker.byteCount - 2 * 8)
    }
}
