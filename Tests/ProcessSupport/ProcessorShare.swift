import Foundation
import Synchronization

/// Holds a process to a share of one processor, all its threads together: by a control group of the kernel where one can be made, and else by
/// stopping it whenever it has had more. Ends with this object.
public final class ProcessorShare: Sendable {
    public enum Means: String, Sendable {
        case group = "a control group"
        case stops = "SIGSTOP"
    }

    public let means: Means
    private let group: String?
    private let keeper: Task<Void, Never>?

    /// In microseconds: short, so that what is held does not come in bursts.
    private static let period = 10_000

    public init(_ share: Double, of child: Child) {
        group = Self.makeGroup(share, child.id)
        means = group == nil ? .stops : .group
        keeper = group == nil ? Task { await Self.stop(child, above: share) } : nil
    }

    deinit {
        keeper?.cancel()
        guard let group else { return }
        // It is empty once its process has been waited for.
        for _ in 0..<200 where rmdir(group) != 0 && errno == EBUSY { usleep(10_000) }
    }

    // MARK: Control groups

    private static func makeGroup(_ share: Double, _ process: pid_t) -> String? {
        let quota = "\(Int(share * Double(period)))"
        let name = "samovar-test-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        for (root, settings) in [
            ("/sys/fs/cgroup/cpu" + ownGroup(of: "cpu"), [("cpu.cfs_period_us", "\(period)"), ("cpu.cfs_quota_us", quota)]),
            ("/sys/fs/cgroup" + ownGroup(of: ""), [("cpu.max", "\(quota) \(period)")]),
        ] {
            let folder = root + "/" + name
            guard mkdir(folder, 0o755) == 0 else { continue }
            if (settings + [("cgroup.procs", "\(process)")]).allSatisfy({ write($1, to: folder + "/" + $0) }) { return folder }
            rmdir(folder)
        }
        return nil
    }

    /// `2:cpu,cpuacct:/path` for a controller of the first kind, `0::/path` for the second.
    private static func ownGroup(of controller: String) -> String {
        let text = FileManager.default.contents(atPath: "/proc/self/cgroup").map { String(decoding: $0, as: UTF8.self) } ?? ""
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let controllers = fields[1].split(separator: ",", omittingEmptySubsequences: false)
            guard controllers.contains(Substring(controller)) else { continue }
            return fields[2] == "/" ? "" : String(fields[2])
        }
        return ""
    }

    private static func write(_ text: String, to file: String) -> Bool {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return Foundation.write(descriptor, bytes, bytes.count) == bytes.count
    }

    // MARK: Stops

    private static func stop(_ child: Child, above share: Double) async {
        let begun = ContinuousClock.now
        while !Task.isCancelled, child.end == nil, let process = ProcessTable.entry(child.id) {
            let elapsed = (ContinuousClock.now - begun) / .seconds(1)
            child.send(process.processorSeconds > share * elapsed ? SIGSTOP : SIGCONT)
            do { try await Task.sleep(for: .milliseconds(5)) } catch { break }
        }
        child.send(SIGCONT)
    }
}
