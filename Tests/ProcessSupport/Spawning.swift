import Foundation

public struct SpawnError: Error, CustomStringConvertible {
    public let description: String
}

#if canImport(Darwin)
private let newSession = Int(POSIX_SPAWN_SETSID)
#else
/// `POSIX_SPAWN_SETSID`, which glibc hides from Swift.
private let newSession = 0x80
#endif

/// Starts a process whose standard streams are these files, in a process group or a session of its own.
func spawn(
    _ executable: String, _ arguments: [String], _ environment: [String: String], files: [(path: String, flags: Int32)],
    ownSession: Bool = false
) throws -> pid_t {
    #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #else
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, file) in files.enumerated() {
        posix_spawn_file_actions_addopen(&actions, Int32(descriptor), file.path, file.flags, 0o600)
    }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    // A test runner may ignore or block signals, which children would inherit.
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    let place = ownSession ? newSession : Int(POSIX_SPAWN_SETPGROUP)
    posix_spawnattr_setflags(&attributes, Int16(place | Int(POSIX_SPAWN_SETSIGMASK) | Int(POSIX_SPAWN_SETSIGDEF)))

    var list: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in list + variables { free(text) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, executable, &actions, &attributes, &list, &variables)
    guard error == 0 else { throw SpawnError(description: "cannot start \(executable): \(String(cString: strerror(error)))") }
    return id
}
