#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How many file descriptors this process may open.
public struct DescriptorLimit: Hashable, Sendable {
    /// What it may open now.
    public var soft: UInt64
    /// To what it may raise ``soft``.
    public var hard: UInt64

    /// More than any process here needs; some systems give "unlimited", and tables of that size cost memory.
    public static let ceiling: UInt64 = 1 << 20
}

/// Raises the limit of open files to what the system allows, at most ``DescriptorLimit/ceiling``.
///
/// Call it once at start: libzmq aborts when an `ipc` listener finds no descriptor left, and spins for `tcp`.
///
/// - Returns: the limits that hold now.
/// - Throws: ``ZeroMQError`` with the reason of the system; the old limit holds on.
@discardableResult
public func raiseDescriptorLimit() throws(ZeroMQError) -> DescriptorLimit {
    #if canImport(Darwin)
    let resource = RLIMIT_NOFILE
    // Darwin refuses more than this for the soft limit.
    let ceiling = rlim_t(OPEN_MAX)
    #elseif canImport(Musl)
    let resource = RLIMIT_NOFILE
    let ceiling = rlim_t(DescriptorLimit.ceiling)
    #else
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let ceiling = rlim_t(DescriptorLimit.ceiling)
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { throw .last("read descriptor limit") }
    let wanted = min(limit.rlim_max, ceiling)
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted
        guard setrlimit(resource, &limit) == 0 else { throw .last("raise descriptor limit") }
    }
    return DescriptorLimit(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
}
