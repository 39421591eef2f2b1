import Foundation

/// Machines of a test: network namespaces, each with one wire to a bridge, which has a namespace of its own. Nothing of it has a name or is
/// seen outside, so any number of them may be there at once.
///
/// All who run in one of them end with this object, and with the process of the test, however that ends: each namespace has a keeper. It
/// waits for the end of a pipe that this process alone can write to, kills all who are with it, and ends, and a namespace goes with the last
/// who is in it.
public final class Namespaces: Sendable {
    /// What a machine is cut from. Nobody is told: connections stay open, and nothing arrives.
    public enum Cut: String, Sendable, CaseIterable {
        /// Its wire is pulled.
        case both
        /// It hears, and is not heard.
        case outgoing
        /// It is heard, and hears nothing.
        case incoming
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let scratch: Scratch
    private let pipe: Int32
    private let bridge: Child
    private let names: [String]
    private let keepers: [Child]

    private static let network = "10.77.0"
    private static let keeping = """
        echo kept
        read -r end <"$0"
        for process in $(find -L /proc/[0-9]*/ns/net -maxdepth 0 -samefile /proc/self/ns/net 2>/dev/null); do
            process=${process#/proc/}
            process=${process%%/*}
            [ "$process" = "$$" ] || kill -KILL "$process"
        done
        """

    /// Whether this machine lets us have some, by having two, and cutting one of them in each way.
    public static func areAvailable() async -> Bool {
        do {
            let trial = try await Namespaces(["a", "b"], in: Scratch())
            for cut in Cut.allCases { try await trial.cut("a", cut) }
            try await trial.heal("a")
            return true
        } catch {
            print("no network namespaces: \(error)")
            return false
        }
    }

    public init(_ names: [String], in scratch: Scratch) async throws {
        self.scratch = scratch
        self.names = names
        let path = scratch.folder("lifeline")
        guard mkfifo(path, 0o600) == 0 else { throw Failure(description: "there is no pipe: \(String(cString: strerror(errno)))") }
        // For reading, too: else it would wait for a reader.
        pipe = open(path, O_RDWR | O_CLOEXEC)
        let keep = { try Child("unshare", ["--net", "sh", "-c", Self.keeping, path], in: scratch) }
        bridge = try keep()
        keepers = try names.map { _ in try keep() }
        for keeper in [bridge] + keepers {
            try await eventually("there is a network of its own", within: .seconds(10)) {
                if let end = keeper.end { throw Failure(description: "unshare: \(end): \(keeper.errors)") }
                return keeper.output.contains("kept")
            }
        }
        try await join()
    }

    deinit {
        close(pipe)
        for keeper in [bridge] + keepers {
            for _ in 0..<1_000 where keeper.end == nil { usleep(10_000) }
        }
    }

    private func join() async throws {
        try await run("ip link add bridge type bridge && ip link set bridge up", in: bridge)
        for (number, keeper) in keepers.enumerated() {
            let wire = "wire\(number + 1)"
            try await run("ip link add \(wire) type veth peer name wire netns \(keeper.id)", in: bridge)
            try await run("ip link set \(wire) master bridge up", in: bridge)
            // Rules come before the table of local addresses only if that is moved.
            let rules = "ip rule add pref 100 lookup local; ip rule del pref 0 lookup local"
            let address = "ip addr add \(Self.network).\(number + 1)/24 dev wire"
            try await run("ip link set lo up; \(address); ip link set wire up; \(rules)", in: keeper)
        }
    }

    // MARK: Using

    public func address(of name: String) throws -> String { "\(Self.network).\(try number(name))" }

    /// Starts a program on a machine, as words before its own.
    public func starter(_ name: String) throws -> [String] { Self.starter(keepers[try number(name) - 1]) }

    /// Cuts a machine from all others, in addition to what is cut already.
    public func cut(_ name: String, _ cut: Cut) async throws {
        let number = try number(name)
        switch cut {
        case .both: try await run("ip link set wire\(number) down", in: bridge)
        case .outgoing: try await run("ip rule add pref 10 iif lo to \(Self.network).0/24 blackhole", in: keepers[number - 1])
        case .incoming: try await run("ip rule add pref 11 iif wire blackhole", in: keepers[number - 1])
        }
    }

    /// Takes back all that was cut.
    public func heal(_ name: String) async throws {
        let number = try number(name)
        try await run("ip link set wire\(number) up", in: bridge)
        // Fails for what was not cut.
        try await run("for rule in 10 11; do ip rule del pref $rule 2>/dev/null || true; done", in: keepers[number - 1])
    }

    /// Breaks all TCP connections of a machine; both ends are told.
    ///
    /// - Returns: how many there were. None if the kernel cannot do it.
    @discardableResult
    public func reset(_ name: String) async throws -> Int {
        try await run("ss --kill --no-header --tcp", in: keepers[try number(name) - 1]).count { $0 == "\n" }
    }

    // MARK: Means

    private func number(_ name: String) throws -> Int {
        guard let index = names.firstIndex(of: name) else { throw Failure(description: "there is no machine \(name)") }
        return index + 1
    }

    private static func starter(_ keeper: Child) -> [String] { ["nsenter", "--net=/proc/\(keeper.id)/ns/net"] }

    @discardableResult
    private func run(_ script: String, in keeper: Child) async throws -> String {
        let words = Self.starter(keeper) + ["sh", "-ec", script]
        let child = try Child(words[0], Array(words[1...]), in: scratch)
        guard try await child.wait() == .exited(0) else { throw Failure(description: "\(script): \(child.errors)") }
        return child.output
    }
}
