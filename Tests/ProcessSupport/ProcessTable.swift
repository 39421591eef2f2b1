public import Foundation

/// What runs on this machine, from `/proc`.
public enum ProcessTable {
    public struct Entry: Sendable, CustomStringConvertible {
        public let id: pid_t
        public let parent: pid_t
        public let arguments: [String]

        /// Sends a signal, if the process is still the one that was seen: numbers are used again.
        @discardableResult
        public func send(_ signal: Int32) -> Bool {
            guard ProcessTable.entry(id)?.arguments == arguments else { return false }
            return kill(id, signal) == 0
        }

        /// The subcommand: `store`, `worker` or `up`.
        public var command: String { arguments.count > 1 ? arguments[1] : "" }

        /// Memory that is its own and in use; nil if it has ended.
        public var residentKibibytes: Int? {
            guard let line = FileManager.default.contents(atPath: "/proc/\(id)/statm") else { return nil }
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
            return pages * Int(sysconf(Int32(_SC_PAGESIZE))) / 1_024
        }

        /// Whether a signal that stops it has taken effect: one thread takes the signal and stops the others, which run until they are reached.
        public var isStopped: Bool {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
            return !threads.isEmpty && threads.allSatisfy { statistics(of: "\(id)/task/\($0)").first == "T" }
        }

        /// The time of a processor that it has taken.
        public var processorSeconds: Double {
            let fields = statistics(of: "\(id)")
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
            return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }

        /// What `stat` of a process or a thread says, from the state on; empty if it has ended.
        private func statistics(of folder: String) -> [Substring] {
            guard let line = FileManager.default.contents(atPath: "/proc/\(folder)/stat") else { return [] }
            let text = String(decoding: line, as: UTF8.self)
            // “42 (name) S 41 …”, where the name may hold anything.
            return text.lastIndex(of: ")").map { text[$0...].dropFirst().split(separator: " ") } ?? []
        }

        /// Open file descriptors.
        public var descriptors: Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd"))?.count ?? 0
        }

        public var description: String { "\(id) (child of \(parent)): \(arguments.joined(separator: " "))" }
    }

    public static var isAvailable: Bool { FileManager.default.fileExists(atPath: "/proc/self/cmdline") }

    /// The names of the threads of a process, as far as the kernel keeps them; none if it has ended.
    public static func threads(of id: pid_t) -> [String] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
        return threads.compactMap { FileManager.default.contents(atPath: "/proc/\(id)/task/\($0)/comm") }
            .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
    }

    /// The living processes with an argument that contains this text.
    public static func all(naming text: String) -> [Entry] {
        others.filter { entry in entry.arguments.contains { $0.contains(text) } }
    }

    /// The living processes that a test has started with this folder in their environment, and those that they have started. One that has
    /// read a key shows its environment to root alone.
    public static func all(startedIn scratch: Scratch) -> [Entry] {
        let folder = Data("\(scratch.path)/".utf8)
        return others.filter { FileManager.default.contents(atPath: "/proc/\($0.id)/environ")?.firstRange(of: folder) != nil }
    }

    private static var others: [Entry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { $0 != getpid() }.compactMap(entry)
    }

    /// Nil if it has ended: a zombie has no arguments any more.
    public static func entry(_ id: pid_t) -> Entry? {
        guard let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline"), !line.isEmpty,
            let status = FileManager.default.contents(atPath: "/proc/\(id)/stat")
        else { return nil }
        let arguments = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        // “42 (name) S 41 …”, where the name may hold anything.
        let fields = status[(status.lastIndex(of: UInt8(ascii: ")")) ?? status.startIndex)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 2, fields[1] != Data("Z".utf8), let parent = pid_t(String(decoding: fields[2], as: UTF8.self))
        else { return nil }
        return Entry(id: id, parent: parent, arguments: arguments)
    }
}
