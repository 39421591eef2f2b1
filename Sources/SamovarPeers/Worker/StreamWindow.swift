import DequeModule
public import SamovarWire

/// The stream of one job as its handler sees it: the number of the next message, and whether there is room for it.
///
/// The store acknowledges what is on disk, and only so much may be without acknowledgement. Numbers go on from those of earlier
/// attempts.
public struct StreamWindow: Equatable, Sendable {
    /// Messages of one job without acknowledgement.
    public static let limit = 64
    /// Bytes of them, unless a single one is larger.
    public static let byteLimit = 4 << 20
    /// One message with its checkpoint.
    public static let messageLimit = 1 << 20
    /// The checkpoint of a message.
    public static let checkpointLimit = 64 << 10

    /// The number of the newest message.
    public private(set) var last: Int
    private var sizes: Deque<Int> = []
    private var bytes = 0

    public init(after place: StreamPlace?) {
        last = place?.index ?? 0
    }

    public func hasRoom(for size: Int) -> Bool {
        sizes.isEmpty || (sizes.count < Self.limit && bytes + size <= Self.byteLimit)
    }

    /// The number for a message of this size; nil if it has to wait for an acknowledgement.
    public mutating func next(size: Int) -> Int? {
        guard hasRoom(for: size) else { return nil }
        last += 1
        sizes.append(size)
        bytes += size
        return last
    }

    /// Messages up to this number are on disk.
    public mutating func acknowledged(through index: Int) {
        let unacknowledged = max(0, last - index)
        while sizes.count > unacknowledged, let size = sizes.popFirst() { bytes -= size }
    }
}
