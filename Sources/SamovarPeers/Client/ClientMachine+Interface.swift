public import SamovarCore
public import SamovarWire

extension ClientMachine {
    public struct Settings: Equatable, Sendable {
        public var connection = ConnectionSettings.client
        /// Inputs that are sent and not answered.
        public var window = 4_096
        /// Bytes of them.
        public var windowBytes = 1 << 20
        /// Inputs that are not answered, sent or not; `submit` refuses more.
        public var backlog = 16_384
        /// Bytes of them.
        public var backlogBytes = 16 << 20
        /// Bytes of those and of the inputs whose outcome nobody has seen, which an outbox keeps; `submit` refuses more. Its file grows to a
        /// little more than twice that, and the next process has to take it.
        public var keptBytes = 64 << 20
        /// One input.
        public var inputBytes = 1 << 20
        /// A frame of several inputs.
        public var frameBytes = 1 << 20
        /// Requests for a settled turn or for a view that are not answered.
        public var requests = 4_096

        public static let standard = Settings()
        /// Of a client with a key.
        public static let keyed = Settings(connection: .keyedClient)
    }

    public enum Action: Equatable, Sendable {
        /// Open a new socket; frames follow. What it cannot take yet is kept in order until it can, or until the next
        /// `disconnect`.
        case connect
        /// Close the socket at once; what it has not sent is dropped.
        case disconnect
        case send(Envelope)
        /// The store knows this client: its newest turn on disk, and the timeline it lives in.
        case welcomed(head: Int, timeline: Timeline)
        /// What became of an input. Each has exactly one `answered` or `unknown`.
        case answered(Outcome)
        /// Nobody can tell any more whether this input was applied; if it is kept, nobody before the outbox is opened next.
        case unknown(sequence: Int, UnknownReason)
        /// No effect whose root is this turn is open; the dead and cancelled ones are listed.
        case settled(turn: Int, dead: [String])
        /// What a settle request waits for.
        case waiting(turn: Int, on: String)
        /// Nobody can tell any more whether the effects of this turn are closed.
        case unsettled(turn: Int, UnknownReason)
        /// A view that was asked for; its timeline is the machine's.
        case view(instance: Instance, turn: Int, bytes: [UInt8])
        /// A view that was asked for cannot be made; the request stays.
        case noView(String)
        /// A page that was asked for; its timeline is the machine's.
        case page(PageRequest, Page)
        /// There will be no such page: the place is of another timeline, or the client has ended.
        case pageless(PageRequest, UnknownReason)
        /// The store does not take this client's key: read it again, and say by `keyFound` which one it is now.
        case checkKey
        /// It is the same still, or the store has another than the client knows: in words, at the first of such attempts. It goes on
        /// trying.
        case keyRefused(String)
        /// The store will not have this client, for good. Only another session can go on.
        case refused(PeerError)
        /// Give the socket a moment to send what it has, and close it.
        case stop
        /// For the log.
        case note(String)
    }

    /// Why an outcome will never be known.
    public enum UnknownReason: Error, Hashable, Sendable, CustomStringConvertible {
        /// The store has another journal now.
        case timelineChanged
        /// The store has ended the session or refuses this client; in its words.
        case refused(String)
        /// This client left before the answer came.
        case closed
        /// It is in the outbox, and whoever opens that next will know.
        case kept

        public var description: String {
            switch self {
            case .kept: "it is kept in the outbox, and sent again when that is opened next"
            case .timelineChanged: "the store has another journal now"
            case .refused(let text): text
            case .closed: "the client left before the answer came"
            }
        }
    }

    /// Why something was not taken. It can never have been applied.
    public enum SubmitError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Too much is unanswered, or has an outcome that was not seen; try again when that is less.
        case backlogFull
        case tooLarge(bytes: Int, limit: Int)
        /// The store refuses this client for good, it was closed, or its session ends with an input before.
        case closed

        public var description: String {
            switch self {
            case .backlogFull: "too many inputs are unanswered, or have an outcome that was not seen"
            case .tooLarge(let bytes, let limit): "an input of \(bytes) bytes; \(limit) at most"
            case .closed: "this client is closed"
            }
        }
    }
}

extension ClientMachine {
    /// The store's timeline; zero before the first WELCOME.
    public var timeline: Timeline { connection.timeline }
    public var isConnected: Bool { connection.isWelcomed }

    /// At how many places the store may be; the host says it as it learns it.
    public var places: Int {
        get { connection.places }
        set { connection.places = newValue }
    }

    /// The host has read the key with which it connects; nil if it has none.
    public mutating func keyShown(_ key: Fingerprint?) { connection.keyShown(key) }

    /// After `checkKey`, the host has read the key again.
    public mutating func keyFound(_ key: Fingerprint?, now: Timestamp) -> [Action] {
        connection.keyFound(key, now: now).map { [.keyRefused($0)] } ?? []
    }
}
