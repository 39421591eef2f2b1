import Foundation
import MessagePack
import SamovarHost
import SamovarText

/// Standard output is for data, standard error for everything else. Both are written at once, so that a pipe sees each line; whoever writes
/// waits for a reader, but at standard error where there is an `ErrorThread`.
package enum StandardStream: Int32 {
    case output = 1
    case error = 2

    package func write(_ text: String) {
        if self == .error, let thread = ErrorThread.current { return thread.add(text) }
        let failure = writeAll(Array(text.utf8), to: rawValue)
        // Where nobody reads what went wrong, there is nowhere left to say it.
        guard let failure, self == .output else { return }
        endWithoutOutput(failure)
    }

    /// That of its terminal; nil if it is none, does not tell, or is one without a size.
    var size: (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

/// Nil, or the reason of the system.
package func writeAll(_ bytes: [UInt8], to file: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { bytes in retrying { write(file, bytes.baseAddress, bytes.count) } }
        if count > 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            // Another process has made the file non-blocking, and its reader is slow.
            var wait = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
            poll(&wait, 1, -1)
        } else {
            return errno
        }
    }
    return nil
}

/// Standard output for answers to another process alone: what the program prints goes to standard error from here on.
///
/// - Returns: what to write the answers to; nil if there is none.
package func reserveStandardOutput() -> Int32? {
    let output = dup(STDOUT_FILENO)
    return output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? output : nil
}

/// Reads lines on this thread until there are no more; what is after the last end of a line is one, too.
///
/// Not by `readLine`, which has the lock of the stream as long as it waits, and the `exit` of musl waits for that lock. It also
/// puts other characters in the place of what is not UTF-8.
///
/// - Parameters:
///   - limit: bytes of a line; of a longer one `take` gets more than so many, and not all.
///   - take: gets each line without its end.
/// - Returns: the error for which no more can be read; nil at the end. What had come of a line by then is left out.
@discardableResult
func readLines(
    of file: Int32 = STDIN_FILENO, limit: Int = JSONTranscoder.inputLimits.maximumBytes, _ take: (_ line: [UInt8]) -> Void
) -> Int32? {
    var line: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    // One more for a carriage return.
    func keep(_ piece: ArraySlice<UInt8>) { line += piece.prefix(limit + 2 - line.count) }
    func takeLine() {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        take(line)
        line = []
    }
    while true {
        let count = part.withUnsafeMutableBytes { bytes in retrying { read(file, bytes.baseAddress, bytes.count) } }
        if count < 0, errno == EAGAIN {
            // Another process has made the file non-blocking, and there is nothing yet.
            var wait = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            poll(&wait, 1, -1)
            continue
        }
        guard count >= 0 else { return errno }
        guard count > 0 else { break }
        var pieces = part[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let last = pieces.removeLast()
        for piece in pieces {
            keep(piece)
            takeLine()
        }
        keep(last)
    }
    if !line.isEmpty { takeLine() }
    return nil
}

/// Calls again when a signal came in between.
package func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

private func endWithoutOutput(_ failure: Int32) -> Never {
    if failure == EPIPE { endOfBrokenPipe() }
    printError("error: cannot write to standard output: \(String(cString: strerror(failure)))")
    endProcess(CommandFailure.Code.inputOutput.rawValue)
}

/// Ends as every tool does whose reader has enough, such as `head`: without a word, and by the signal, so that a shell sees 141.
private func endOfBrokenPipe() -> Never {
    signal(SIGPIPE, SIG_DFL)
    raise(SIGPIPE)
    // The signal is blocked.
    exit(128 + SIGPIPE)
}

/// Ends this process when the reader of its standard output leaves, as its next write would: for a command that may have nothing to write
/// for long.
func endWithReader() throws {
    guard isatty(STDOUT_FILENO) == 0 else { return }
    try startThread("samovar-output") {
        // Of these the system tells without being asked, but macOS, which has to be asked for something.
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLRDBAND), revents: 0)
        guard retrying({ poll(&output, 1, -1) }) > 0, Int32(output.revents) & Int32(POLLERR | POLLHUP) != 0 else { return }
        endOfBrokenPipe()
    }
}

/// One line of data.
package func printData(_ text: String) {
    StandardStream.output.write(text + "\n")
}

/// One line of data that may be left out.
///
/// - Returns: false if there was no space for it, or not for all of it. Any other failure ends the process, as it does for `printData`.
func printDataIfThereIsSpace(_ text: String) -> Bool {
    guard let failure = writeAll(Array((text + "\n").utf8), to: STDOUT_FILENO) else { return true }
    guard failure == ENOSPC || failure == EDQUOT else { endWithoutOutput(failure) }
    return false
}

/// One line for a person, of at most 512 bytes, that is left out where a reader would have to be waited for: for who ends the process.
func printErrorIfThereIsRoom(_ text: String) {
    var error = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    // A pipe with room takes as many bytes at once.
    guard retrying({ poll(&error, 1, 0) }) > 0 else { return }
    printError(text)
}

/// One line for a person.
package func printError(_ text: String) {
    StandardStream.error.write(text + "\n")
}
