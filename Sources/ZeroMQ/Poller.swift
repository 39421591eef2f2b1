import CZeroMQ

/// Waits until one of a few sockets and wake-ups can be read or written.
///
/// ```swift
/// var poller = Poller()
/// let front = poller.add(frontSocket)
/// let stop = poller.add(wakeup)
/// repeat {
///     try poller.wait(timeoutMilliseconds: 100)
///     if poller.isReadable(front) { … }
/// } while !poller.isReadable(stop)
/// ```
///
/// A poller belongs to the thread of its sockets. A wait costs time for each entry, so keep them below ten or so. A
/// socket that was closed is skipped.
public struct Poller: ~Copyable {
    /// What to wait for, and what has come.
    public struct Events: OptionSet, Sendable {
        public let rawValue: Int16
        public init(rawValue: Int16) { self.rawValue = rawValue }

        /// A message can be received, a descriptor be read (or it is broken).
        public static let readable = Events(rawValue: Int16(ZMQ_POLLIN))
        /// At least one peer is connected and has room.
        public static let writable = Events(rawValue: Int16(ZMQ_POLLOUT))

        fileprivate static let broken = Events(rawValue: Int16(ZMQ_POLLERR))
    }

    /// The place of a socket or wake-up in its poller.
    public struct Slot: Hashable, Sendable {
        fileprivate let index: Int
    }

    private enum Source {
        case none
        case socket(SocketHandle)
        case wakeup(Wakeup)
    }

    private struct Entry {
        var source: Source
        var interest: Events
        var ready: Events = []

        var item: zmq_pollitem_t? {
            switch source {
            case .socket(let handle) where !handle.isClosed: item(socket: handle.pointer, descriptor: 0)
            case .wakeup(let wakeup): item(socket: nil, descriptor: wakeup.fileDescriptor)
            case .socket, .none: nil
            }
        }

        private func item(socket: UnsafeMutableRawPointer?, descriptor: Int32) -> zmq_pollitem_t {
            zmq_pollitem_t(socket: socket, fd: descriptor, events: interest.rawValue, revents: 0)
        }
    }

    private var entries: [Entry] = []
    /// The places of entries that were removed.
    private var free: [Int] = []
    // Kept between waits only for their memory.
    private var items: [zmq_pollitem_t] = []
    private var slots: [Int] = []

    public init() {}

    /// Adds a socket.
    public mutating func add(_ socket: borrowing Socket, for events: Events = .readable) -> Slot {
        add(Entry(source: .socket(socket.handle), interest: events))
    }

    /// Adds a wake-up, which becomes readable.
    public mutating func add(_ wakeup: Wakeup) -> Slot {
        add(Entry(source: .wakeup(wakeup), interest: .readable))
    }

    /// Adds a monitor, which becomes readable.
    public mutating func add(_ monitor: borrowing ConnectionMonitor) -> Slot {
        add(Entry(source: .socket(monitor.events), interest: .readable))
    }

    /// Changes what is waited for, for example `.writable` only while something is to be sent.
    public mutating func setInterest(_ events: Events, for slot: Slot) {
        entries[slot.index].interest = events
    }

    /// Takes a socket or wake-up out. Once: its slot may be that of another one then.
    public mutating func remove(_ slot: Slot) {
        entries[slot.index] = Entry(source: .none, interest: [])
        free.append(slot.index)
    }

    /// Waits until something is ready or the time is over; signals do not shorten the wait.
    ///
    /// - Parameter timeoutMilliseconds: 0 or less only looks, `nil` waits for ever.
    /// - Returns: how many slots are ready.
    @discardableResult
    public mutating func wait(timeoutMilliseconds: Int?) throws(ZeroMQError) -> Int {
        items.removeAll(keepingCapacity: true)
        slots.removeAll(keepingCapacity: true)
        for index in entries.indices {
            entries[index].ready = []
            guard let item = entries[index].item else { continue }
            items.append(item)
            slots.append(index)
        }
        let deadline = timeoutMilliseconds.map { ContinuousClock.now + .milliseconds(max(0, $0)) }
        var count: Int32 = -1
        while count < 0 {
            let remaining = deadline.map { Self.milliseconds(until: $0) } ?? -1
            count = zmq_poll(&items, Int32(items.count), remaining)
            guard count >= 0 || zmq_errno() == EINTR else { throw .last("poll") }
        }
        for (item, index) in zip(items, slots) {
            let ready = Events(rawValue: item.revents)
            // Who reads a broken descriptor learns the reason.
            entries[index].ready = ready.contains(.broken) ? ready.union(.readable) : ready
        }
        return Int(count)
    }

    /// Whether the last wait found that the slot can be read.
    public func isReadable(_ slot: Slot) -> Bool { entries[slot.index].ready.contains(.readable) }

    /// Whether the last wait found that the slot can be written.
    public func isWritable(_ slot: Slot) -> Bool { entries[slot.index].ready.contains(.writable) }

    private mutating func add(_ entry: Entry) -> Slot {
        guard let index = free.popLast() else {
            entries.append(entry)
            return Slot(index: entries.count - 1)
        }
        entries[index] = entry
        return Slot(index: index)
    }

    /// Rounded up, so that the wait does not end before the deadline and spin.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int {
        let wait = ((deadline - .now) / .milliseconds(1)).rounded(.up)
        // libzmq hands the time to poll(2) as 32 bits; a wait of weeks may end early.
        return Int(min(max(0, wait), Double(Int32.max)))
    }
}
