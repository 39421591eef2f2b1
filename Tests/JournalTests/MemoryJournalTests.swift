import Journal
import SamovarTesting
import Testing

@Suite struct MemoryJournalTests {
    @Test(arguments: JournalContract.Rule.allCases)
    func `Keeps the contract`(_ rule: JournalContract.Rule) throws {
        let contract = JournalContract(
            make: { MemoryJournal() },
            reopen: { try #require($0 as? MemoryJournal).reopened() })
        try contract.verify(rule)
    }

    @Test func `It claims to outlive nothing`() {
        #expect(MemoryJournal().durability == .none)
    }

    @Test func `A planned full disk changes nothing and the same batch may be tried again`() throws {
        let journal = MemoryJournal()
        let batch = Batch(first: 1, last: 2, bytes: [1])
        let full = JournalError(.full, "No space is left.")
        journal.failNextAppend(with: full)

        #expect(throws: full) { try journal.append(batch) }
        #expect(journal.last == 0)
        try journal.append(batch)
        #expect(journal.last == 2)
    }

    @Test func `After an input output error every write throws it again`() throws {
        let journal = MemoryJournal()
        let failure = JournalError(.inputOutput, "The disk failed.")
        journal.failNextAppend(with: failure)

        #expect(throws: failure) { try journal.append(Batch(first: 1, last: 1, bytes: [])) }
        #expect(throws: failure) { try journal.append(Batch(first: 1, last: 1, bytes: [])) }
        #expect(throws: failure) { try journal.record([1], as: "seed") }
        #expect(throws: failure) { try journal.save(Snapshot(turn: 0, bytes: [])) }
        #expect(journal.reopened().last == 0)
    }

    @Test func `A failed append may have kept its batch`() throws {
        let journal = MemoryJournal()
        journal.failNextAppend(with: JournalError(.inputOutput, "The disk failed."), keepingBatch: true)

        #expect(throws: JournalError.self) { try journal.append(Batch(first: 1, last: 3, bytes: [])) }
        #expect(journal.reopened().last == 3)
    }
}
