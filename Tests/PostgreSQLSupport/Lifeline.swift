import Foundation
import ProcessSupport

/// Ends the servers of a folder and removes it when this process is gone, however it went: a test that is killed tidies nothing up.
///
/// A small process of its own waits at a pipe, whose other end only this process has open.
final class Lifeline: Sendable {
    private let descriptor: Int32
    private let watcher: Child

    /// A server that does not run writes no such file, and its number may be another's by now. Processes of a server that are stopped do not
    /// notice that the first one is gone.
    private static let script = """
        read -r _ < "$1/lifeline"
        for file in "$1"/*/postmaster.pid; do
            read -r server < "$file" && grep -qaF "$1" "/proc/$server/cmdline" || continue
            all=$server
            for process in /proc/[0-9]*; do
                read -r line < "$process/stat" || continue
                parent=${line##*) ? }
                [ "${parent%% *}" != "$server" ] || all="$all ${process#/proc/}"
            done
            kill -KILL $all
        done 2> /dev/null
        rm -rf "$1" || { sleep 1; rm -rf "$1"; }
        """

    init(_ folder: String, in scratch: Scratch) throws {
        let pipe = "\(folder)/lifeline"
        guard mkfifo(pipe, 0o600) == 0 else { throw TestServer.Failure("cannot make \(pipe)") }
        // Opened for both, so that it waits for nobody.
        descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw TestServer.Failure("cannot open \(pipe)") }
        watcher = try Child("sh", ["-c", Self.script, "lifeline", folder], in: scratch)
    }

    deinit {
        close(descriptor)
        for _ in 0..<500 where watcher.end == nil { usleep(10_000) }
    }
}
