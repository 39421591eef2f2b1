import CLinux
import Foundation

/// A process that has a secret in its memory.
enum SecretProcess {
    private static let isSealed: Bool = {
        // The core dump would have the secret, and a file that nobody protects.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        let core = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        // Where a program takes the dumps, the limit means nothing to the kernel; and other processes of this user cannot look in, either.
        return setrlimit(core, &none) == 0 && samovar_forbid_dumps() == 0
        #else
        return setrlimit(RLIMIT_CORE, &none) == 0
        #endif
    }()

    /// From now on it leaves no core dump. Call it before a secret is read or made.
    ///
    /// - Throws: `KeyFileError` where the system does not do it.
    static func seal() throws(KeyFileError) {
        guard isSealed else { throw KeyFileError("the system would write secrets of this process into core dumps") }
    }
}
