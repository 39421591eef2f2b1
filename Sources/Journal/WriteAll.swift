#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes bytes at a place of a file.
///
/// The system may write a part and call that a success, as where the disk becomes full: the reason is in its answer to the rest.
///
/// - Returns: 0, or -1 with the reason in `errno`.
package func writeAll(_ bytes: [UInt8], at place: Int, of descriptor: CInt) -> CInt {
    writeAll(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, off_t(place + done)) }
}

/// - Parameter write: writes the beginning of what is left, and answers as the system does.
package func writeAll(_ bytes: [UInt8], by write: (_ rest: UnsafeRawBufferPointer, _ done: Int) -> Int) -> CInt {
    bytes.withUnsafeBytes { buffer in
        var done = 0
        while done < buffer.count {
            let count = write(UnsafeRawBufferPointer(rebasing: buffer[done...]), done)
            if count < 0, errno == EINTR { continue }
            // Nothing was written, and there is no reason.
            if count == 0 { errno = EIO }
            guard count > 0 else { return -1 }
            done += count
        }
        return 0
    }
}
