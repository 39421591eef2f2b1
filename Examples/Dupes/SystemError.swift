#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A system call that failed, by its error number.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let code: CInt

    /// The error of the call before, which must have failed.
    static var last: SystemError { SystemError(code: errno) }

    var description: String {
        switch code {
        case ENOTDIR: "Not a directory, or a symbolic link"
        case ELOOP: "A symbolic link took the place of the file"
        // Thread-safe for every known error number.
        default: strerror(code).map { String(cString: $0) } ?? "error \(code)"
        }
    }

    /// Calls `body` until it is not interrupted by a signal; throws if it returns -1.
    static func check<Result: SignedInteger>(_ body: () -> Result) throws(SystemError) -> Result {
        while true {
            let result = body()
            if result != -1 { return result }
            if errno != EINTR { throw last }
        }
    }
}
