import SamovarCore

/// The topics that subscribers of the view sockets have asked for, and whether they are too many.
///
/// libzmq keeps each topic, at some 30 bytes of memory for each of its bytes, and has no limit for them. An XPUB reports each one that is
/// new, each that somebody takes back, and whatever else a peer sends. That a topic is taken back makes no room: it may be one that
/// another peer still wants, and libzmq keeps it then. Beyond the limit the host closes a socket, which forgets all that was asked for
/// there, and opens another. Subscribers connect again by themselves.
public struct ViewTopics: Equatable, Sendable {
    /// How many there may be, and how many messages that are no report.
    public let limit: Int
    private var topics: Set<[UInt8]> = []
    private var strange = 0
    /// How often there were too many.
    public private(set) var overruns = 0

    /// - Parameter limit: how many topics there may be.
    public init(limit: Int) {
        self.limit = limit
    }

    /// How many were asked for since the sockets were opened.
    public var count: Int { topics.count }

    /// Of them, those that are the topic of no instance.
    public var foreign: Int { topics.count { !Self.isOfInstance($0) } }

    /// Takes a message of a view socket: 1 and a new topic, or 0 and one that is taken back. Anything else is of no meaning.
    ///
    /// - Returns: whether a socket has to be closed now, and ``restart(with:)`` called.
    public mutating func received(_ report: [UInt8]) -> Bool {
        let topic = Array(report.dropFirst())
        switch report.first {
        case 1: topics.insert(topic)
        case 0 where topics.contains(topic): break
        default: strange += 1
        }
        guard topics.count > limit || strange > limit else { return false }
        overruns += 1
        return true
    }

    /// A socket was closed: these were asked for at the others.
    public mutating func restart(with topics: Set<[UInt8]>) {
        self.topics = topics
        strange = 0
    }

    private static func isOfInstance(_ topic: [UInt8]) -> Bool {
        topic.starts(with: "view/".utf8) && topic.last == 0 && topic.count <= 200
    }
}
