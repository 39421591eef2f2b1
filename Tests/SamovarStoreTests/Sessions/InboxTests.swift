import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Inputs that wait, and whose turn it is.
@Suite struct InboxTests {
    private func client(_ number: UInt8) -> ClientSession {
        ClientSession(session(number), owner: nil, received: 0, heard: at(0))
    }

    private func submission(_ sequence: Int, bytes: Int = 1) -> Submission {
        Submission(sequence: sequence, input: [UInt8](repeating: 0, count: bytes))
    }

    @Test func `Clients are served in rotation, one input each, and each in its order`() {
        let (one, other) = (client(1), client(2))
        var inbox = Inbox()
        for sequence in 1...3 { inbox.append(submission(sequence), of: one) }
        inbox.append(submission(9), of: other)
        #expect(inbox.first?.client === one && inbox.first?.submission.sequence == 1)
        var taken: [Int] = []
        while let (client, submission) = inbox.popFirst() {
            #expect((client === other) == (submission.sequence == 9))
            taken.append(submission.sequence)
        }
        #expect(taken == [1, 9, 2, 3] && inbox.count == 0 && inbox.bytes == 0 && inbox.first == nil)
    }

    @Test func `What waits of a client is dropped, and of no other`() {
        let (one, other) = (client(1), client(2))
        var inbox = Inbox()
        for sequence in 1...2 { inbox.append(submission(sequence, bytes: 5), of: one) }
        inbox.append(submission(9, bytes: 3), of: other)
        inbox.remove(one)
        #expect(inbox.count == 1 && inbox.bytes == 3 && one.inbox.isEmpty)
        inbox.remove(one)
        #expect(inbox.popFirst()?.submission.sequence == 9)
        #expect(inbox.popFirst() == nil)
    }

    @Test func `There is room for so many inputs, and for so many bytes`() {
        var settings = StoreSettings()
        (settings.inbox, settings.inboxBytes) = (2, 10)
        var inbox = Inbox()
        inbox.append(submission(1, bytes: 6), of: client(1))
        #expect(inbox.hasRoom(for: submission(2, bytes: 4), settings) && !inbox.hasRoom(for: submission(2, bytes: 5), settings))
        inbox.append(submission(2, bytes: 1), of: client(1))
        #expect(!inbox.hasRoom(for: submission(3, bytes: 1), settings))
    }
}
