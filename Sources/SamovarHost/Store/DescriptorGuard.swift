import Foundation
import SamovarCore
import ZeroMQ

/// How many listeners of a store take further connections, by how many file descriptors are left.
///
/// With none left, libzmq aborts at an `ipc` listener and spins at a `tcp` one. So clients and subscribers are turned away before that,
/// and workers last, because their work makes room. A listener that closes closes the connections that came in there, too: libzmq ends
/// them with the address, and peers come again when it is bound again.
struct DescriptorPolicy: Equatable {
    enum Listeners: Equatable {
        case open
        case workersOnly
        case closed
    }

    let limit: Int
    private(set) var listeners = Listeners.open

    /// What a store has open for itself: its journal, its listeners, what its threads wake each other with.
    private static let own = 44

    /// How many clients there is room for, each with a connection at the front and one for views, so that the listeners stay open: up to
    /// the mark from which on closed ones would open again. What is between that and the mark at which they close is for workers, for
    /// operators, and for clients that are being sent away.
    static func clients(limit: Int) -> Int { max(1, (limit / 10 * 7 - own) / 2) }

    /// Closes at 80 and 90 %, opens at 70 %, so that one connection more or less does not turn the listeners.
    mutating func update(used: Int) {
        switch used * 100 / max(1, limit) {
        case 90...: listeners = .closed
        case 80...: if listeners == .open { listeners = .workersOnly }
        case 70...: break
        default: listeners = .open
        }
    }
}

/// Counts this process's descriptors now and then, and keeps a few in reserve for what must not fail for want of one.
///
/// A flood may take the last descriptor between two looks. The reserve is given back then, so that operators and workers get in.
struct DescriptorGuard: ~Copyable {
    private(set) var policy: DescriptorPolicy
    private var reserve: [Int32] = []
    private var nextLook = Timestamp(microseconds: .min)
    private static let interval = Duration.milliseconds(250)
    /// A look costs at most one part in so many of the store's time.
    private static let costFactor = 200

    init(_ limit: Int) {
        policy = DescriptorPolicy(limit: limit)
        fill()
    }

    deinit {
        for descriptor in reserve { close(descriptor) }
    }

    /// Looks if it is time to; returns what the listeners shall be if that has changed.
    mutating func look(_ clock: HostClock) -> DescriptorPolicy.Listeners? {
        let begun = clock.now()
        guard begun >= nextLook else { return nil }
        let before = policy.listeners
        if let used = Self.count() { policy.update(used: used - reserve.count) }
        nextLook = begun + max(Self.interval, (clock.now() - begun) * Self.costFactor)
        guard policy.listeners != before else { return nil }
        if policy.listeners == .open { fill() } else { empty() }
        return policy.listeners
    }

    private mutating func fill() {
        while reserve.count < min(32, policy.limit / 8) {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            reserve.append(descriptor)
        }
    }

    private mutating func empty() {
        for descriptor in reserve { close(descriptor) }
        reserve.removeAll()
    }

    /// Nil if the system does not tell. For want of a descriptor to ask with, it is all of them.
    private static func count() -> Int? {
        guard let folder = opendir("/dev/fd") else { return errno == EMFILE ? Int.max / 200 : nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // “.”, “..”, and the one that reads them.
        return count - 3
    }
}
