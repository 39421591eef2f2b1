import Foundation

/// More than any process here needs; some systems give "unlimited", and tables of that size cost memory.
private let ceilingOfDescriptors = 1 << 20

/// Raises the limit of open files to what the system allows, at most a million.
///
/// Call it once at start: libzmq aborts when an `ipc` listener finds no descriptor left, and spins for `tcp`.
///
/// - Returns: how many file descriptors this process may open now.
/// - Throws: ``ZeroMQError`` with the reason of the system; the old limit holds on.
@discardableResult
public func raiseDescriptorLimit() throws(ZeroMQError) -> Int {
    #if canImport(Darwin)
    let resource = RLIMIT_NOFILE
    // Darwin refuses more than this for the soft limit.
    let ceiling = rlim_t(OPEN_MAX)
    #elseif canImport(Musl)
    let resource = RLIMIT_NOFILE
    let ceiling = rlim_t(ceilingOfDescriptors)
    #else
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let ceiling = rlim_t(ceilingOfDescriptors)
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { throw .last("read descriptor limit") }
    let wanted = min(limit.rlim_max, ceiling)
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted
        guard setrlimit(resource, &limit) == 0 else { throw .last("raise descriptor limit") }
    }
    return Int(limit.rlim_cur)
}
