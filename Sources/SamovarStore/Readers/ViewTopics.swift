import SamovarCore

/// The topics that subscribers of the view socket have asked for, and whether they are too many.
///
/// libzmq keeps each topic, at some 30 bytes of memory for each of its bytes, and has no limit for them. An XPUB reports each one that is
/// new, and each that nobody wants any more; beyond the limit the host closes the socket, which forgets all of them, and opens
/// another. Subscribers connect again by themselves. A report that a topic is gone is believed only of one that is known, for a
/// peer may take back what it has never asked for.
public struct ViewTopics: Equatable, Sendable {
    /// How many there may be.
    public let limit: Int
    private var topics: Set<[UInt8]> = []
    /// Of them, those that are the topic of no instance.
    public private(set) var foreign = 0
    /// How often there were too many.
    public private(set) var overruns = 0

    /// - Parameter limit: how many topics there may be.
    public init(limit: Int) {
        self.limit = limit
    }

    /// How many there are.
    public var count: Int { topics.count }

    /// Takes a message of the view socket: 1 and a new topic, or 0 and one that is gone. Anything else is of no meaning.
    ///
    /// - Returns: whether the socket has to be closed now; the count begins anew then.
    public mutating func received(_ report: [UInt8]) -> Bool {
        let topic = Array(report.dropFirst())
        switch report.first {
        case 1:
            if topics.insert(topic).inserted, !Self.isOfInstance(topic) { foreign += 1 }
        case 0:
            if topics.remove(topic) != nil, !Self.isOfInstance(topic) { foreign -= 1 }
        default: break
        }
        guard count > limit else { return false }
        topics = []
        foreign = 0
        overruns += 1
        return true
    }

    private static func isOfInstance(_ topic: [UInt8]) -> Bool {
        topic.starts(with: "view/".utf8) && topic.last == 0 && topic.count <= 200
    }
}
