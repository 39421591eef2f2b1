import Journal
import SamovarTesting
import Testing

/// The contract must notice what it claims to notice.
@Suite struct JournalContractTests {
    @Test func `A journal that forgets breaks the rule of reopening`() {
        let contract = JournalContract(make: { MemoryJournal() }, reopen: { _ in MemoryJournal() })
        let violation = #expect(throws: ContractViolation.self) { try contract.verify(.reopening) }
        #expect(violation?.rule == .reopening)
        #expect(violation?.reason == "last: 0 in place of 1")
    }

    @Test func `A journal that always fails breaks a rule with its own error`() {
        let contract = JournalContract(
            make: {
                let journal = MemoryJournal()
                journal.failNextAppend(with: JournalError(.full, "No space is left."))
                return journal
            }, reopen: { $0 })
        let violation = #expect(throws: ContractViolation.self) { try contract.verify(.append) }
        #expect(
            violation?.description
                == "The journal breaks the rule “append moves the end to the last turn of the batch”: an unexpected error: No space is left."
        )
    }

    @Test func `All rules together hold for the memory journal`() throws {
        try JournalContract.verify({ MemoryJournal() }, reopen: { try #require($0 as? MemoryJournal).reopened() })
    }
}
