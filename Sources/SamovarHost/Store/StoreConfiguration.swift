public import SamovarCore
public import SamovarStore

/// What a store needs to start.
public struct StoreConfiguration: Sendable {
    /// Where the journal is. Its data folder is created if it is not there.
    public var journal: JournalLocation
    /// Where its sockets are.
    public var endpoint: Endpoint
    /// The seed in MessagePack; nil takes the data folder's own, or for a new one the empty map.
    public var seed: [UInt8]?
    /// Names the build in the journal.
    public var build = ""
    /// Archive the timeline that the data folder has, and begin another.
    public var isFresh = false
    /// Turns at which this build may order something else than the journal says; see docs/journal.md.
    public var acceptedDivergences: Set<Int> = []
    /// The folder with the keys of the store and of those who come over the network; see `docs/security.md`. Nil for none: then only this
    /// machine gets in.
    public var keysFolder: String?
    /// Listen on TCP although there are no keys: every user of the machine can then send, work and watch.
    public var allowsInsecureTCP = false
    /// How many of the newest turns the journal keeps at least, once snapshots stand for the others; nil keeps all.
    public var retain: Int?
    /// Leave the beginning of a timeline to another store, and follow it. On a journal that several stores reach, every store follows as long
    /// as another has it.
    public var isStandby = false
    /// Ask the store that has the journal for it, once this one is warm.
    public var isHandOver = false
    /// Times of stores that share a journal.
    public var lease = LeaseSettings()
    /// How long the connections stay after GOODBYE for those who have not closed theirs.
    public var goodbye = Duration.seconds(1)
    /// Hears how much work waits.
    public var backlogObserver: BacklogObserver? {
        didSet { settings.backlogInterval = backlogObserver?.interval }
    }
    /// All other limits and times.
    public var settings = StoreSettings()

    /// A store of this data folder at this endpoint.
    public init(dataFolder: String, endpoint: Endpoint) {
        self.init(journal: JournalLocation(dataFolder: dataFolder), endpoint: endpoint)
    }

    /// A store of this journal at this endpoint.
    public init(journal: JournalLocation, endpoint: Endpoint) {
        self.journal = journal
        self.endpoint = endpoint
    }

    /// - Throws: `StoreError` for an endpoint where a store does not listen, or that is open to everybody without consent to that.
    func requireSafeEndpoint() throws(StoreError) {
        do {
            try endpoint.requireListening(hasKeys: keysFolder != nil, allowsInsecure: allowsInsecureTCP)
        } catch {
            throw StoreError(.configuration, "\(error)")
        }
    }
}
