import DequeModule
import SamovarCore
import SamovarWire

/// Inputs that wait for their turn. Clients with waiting inputs are served in rotation, one input each.
struct Inbox {
    private(set) var count = 0
    private(set) var bytes = 0
    /// Clients with waiting inputs, in the order in which they are served.
    private var clients: Deque<ClientSession> = []

    /// The input that is taken next, and whose it is.
    var first: (client: ClientSession, submission: Submission)? {
        clients.first.flatMap { client in client.inbox.first.map { (client, $0) } }
    }

    var firstCall: ProgramCall? { first.map { .input($0.client.id, sequence: $0.submission.sequence) } }

    func hasRoom(for submission: Submission, _ settings: StoreSettings) -> Bool {
        count < settings.inbox && bytes + submission.input.count <= settings.inboxBytes
    }

    mutating func append(_ submission: Submission, of client: ClientSession) {
        if client.inbox.isEmpty { clients.append(client) }
        count += 1
        bytes += submission.input.count
        client.inbox.append(submission)
    }

    /// Takes the next input; its client goes to the end of the rotation if it has another.
    mutating func popFirst() -> (client: ClientSession, submission: Submission)? {
        guard let client = clients.popFirst(), let submission = client.takeInput() else { return nil }
        count -= 1
        bytes -= submission.input.count
        if !client.inbox.isEmpty { clients.append(client) }
        return (client, submission)
    }

    mutating func remove(_ client: ClientSession) {
        guard !client.inbox.isEmpty else { return }
        count -= client.inbox.count
        bytes -= client.inbox.reduce(0) { $0 + $1.input.count }
        client.inbox.removeAll()
        clients.removeAll { $0 === client }
    }
}
