#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Standard output is for data, standard error for everything else. Both are written at once, so that a pipe sees each line.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    func write(_ text: String) {
        var text = text
        let failure = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        // Where nobody reads what went wrong, there is nowhere left to say it.
        guard let failure, self == .output else { return }
        if failure == EPIPE { endOfBrokenPipe() }
        printError("error: cannot write to standard output: \(String(cString: strerror(failure)))")
        exit(CommandFailure.Code.inputOutput.rawValue)
    }

    /// Nil, or the reason of the system.
    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Darwin)
            let count = Darwin.write(rawValue, part.baseAddress, part.count)
            #elseif canImport(Musl)
            let count = Musl.write(rawValue, part.baseAddress, part.count)
            #else
            let count = Glibc.write(rawValue, part.baseAddress, part.count)
            #endif
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}

/// Ends as every tool does whose reader has enough, such as `head`: without a word, and by the signal, so that a shell sees 141.
private func endOfBrokenPipe() -> Never {
    signal(SIGPIPE, SIG_DFL)
    raise(SIGPIPE)
    // The signal is blocked.
    exit(128 + SIGPIPE)
}

/// One line of data.
func printData(_ text: String) {
    StandardStream.output.write(text + "\n")
}

/// One line for a person.
func printError(_ text: String) {
    StandardStream.error.write(text + "\n")
}
