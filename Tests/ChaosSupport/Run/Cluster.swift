import Foundation
public import ProcessSupport

/// `up` with a store and workers, clients and subscribers: each a process that may die, and is started again when it did.
///
/// Used by one task at a time.
public final class Cluster {
    /// What to run.
    public struct Shape: Sendable {
        /// Of `up`.
        public var workers = 3
        /// Further ones, which are not told of by a supervisor and take the detour.
        public var detouredWorkers = 0
        public var clients = 4
        public var subscribers = 3
        public var lanes = 4
        /// Milliseconds between an answer and the next line of a lane.
        public var pause = 5
        /// Lines of each lane; nil for as many as there is time for.
        public var lines: Int?
        /// Bytes in each line that only make it longer.
        public var padding = 0
        /// What every line asks for; nil for jobs of every kind.
        public var job: Slate.Kind?
        /// For `up`, its store and its workers.
        public var variables: [String: String] = [:]
        /// For clients.
        public var clientVariables: [String: String] = [:]
        /// Of the store; nil for sockets in the scratch folder.
        public var endpoint: String?
        /// Where clients, subscribers and detoured workers go instead of to the store: a proxy.
        public var detour: String?
        /// A program that starts each process, with its arguments: `nsenter` for another network.
        public var starter: [String] = []
        /// One more for `up` alone: `prlimit`.
        public var upStarter: [String] = []

        public init() {}
    }

    public enum Role: String, CaseIterable, Sendable {
        case store, worker, client, subscriber, up
    }

    /// A client or a subscriber, which the cluster starts again itself.
    final class Member {
        let role: Role
        let name: String
        var life = 0
        var child: Child
        var isKilled = false

        init(_ role: Role, _ name: String, _ child: Child) {
            self.role = role
            self.name = name
            self.child = child
        }

        var lifeName: String { "\(name).\(life)" }
    }

    public let scratch: Scratch
    public let shape: Shape
    public let data: String
    public let history: String
    public private(set) var up: Child
    private(set) var members: [Member] = []
    /// Clients have been told to finish.
    var isResting = false
    private(set) var killedLives: Set<String> = []
    private(set) var unexpectedEnds: [String] = []
    /// What earlier lives of `up` have said.
    private var earlierErrors = ""

    private let ticket: TurnstileTicket

    /// Starts everything, as soon as few enough others are running in this process.
    public init(_ shape: Shape, in scratch: Scratch) async throws {
        ticket = await TurnstileTicket(.clusters)
        self.scratch = scratch
        self.shape = shape
        data = scratch.folder("data")
        history = scratch.folder("history")
        try FileManager.default.createDirectory(atPath: history, withIntermediateDirectories: true)
        up = try Self.startUp(shape, scratch)
        for number in 0..<shape.clients { try add(.client, "c\(number)") }
        for number in 0..<shape.subscribers { try add(.subscriber, "s\(number)") }
        for number in 0..<shape.detouredWorkers { try add(.worker, "w\(number)") }
    }

    public var endpoint: String { Self.endpoint(shape, scratch) }

    private static func endpoint(_ shape: Shape, _ scratch: Scratch) -> String { shape.endpoint ?? "ipc://\(scratch.path)/s" }

    // MARK: Starting

    private static func startUp(_ shape: Shape, _ scratch: Scratch) throws -> Child {
        // A short silence and small snapshots: what is rare in life shall be frequent here.
        var variables = ["SAMOVAR_STORE_SILENCE_SECONDS": "3", "SAMOVAR_STORE_SNAPSHOT_MEBIBYTES": "1"]
        variables["CHAOS_HISTORY"] = scratch.folder("history")
        variables.merge(shape.variables) { $1 }
        var shape = shape
        shape.starter += shape.upStarter
        return try start(
            shape,
            ["up", "--workers", "\(shape.workers)", "--data", scratch.folder("data"), "--endpoint", endpoint(shape, scratch)]
                + (shape.endpoint?.hasPrefix("tcp://") == true ? ["--insecure-tcp"] : []),
            in: scratch, variables: variables)
    }

    private static func start(
        _ shape: Shape, _ arguments: [String], in scratch: Scratch, variables: [String: String] = [:]
    ) throws -> Child {
        let words = shape.starter + [Executable.chaos] + arguments
        return try Child(words[0], Array(words.dropFirst()), in: scratch, variables: variables)
    }

    /// Starts another process of the program beside the cluster.
    public func start(_ arguments: [String], variables: [String: String] = [:]) throws -> Child {
        try Self.start(shape, arguments, in: scratch, variables: variables)
    }

    private func add(_ role: Role, _ name: String) throws {
        members.append(Member(role, name, try start(role, name, life: 0)))
    }

    private func start(_ role: Role, _ name: String, life: Int) throws -> Child {
        if role == .worker {
            return try start(
                ["worker", "--data", data, "--endpoint", shape.detour ?? endpoint], variables: ["CHAOS_HISTORY": history])
        }
        var arguments = [
            role.rawValue, "--life", "\(name).\(life)", "--data", data, "--endpoint", shape.detour ?? endpoint,
            "--history", historyFile(role, "\(name).\(life)"),
        ]
        if role == .client {
            arguments += ["--lanes", "\(shape.lanes)", "--pause", "\(shape.pause)", "--padding", "\(shape.padding)"]
            if let job = shape.job { arguments += ["--job", job.rawValue] }
            if let lines = shape.lines { arguments += ["--lines", "\(lines)"] }
        }
        return try start(arguments, variables: role == .client ? shape.clientVariables : [:])
    }

    func historyFile(_ role: Role, _ life: String) -> String { "\(history)/\(role.rawValue)-\(life).jsonl" }

    /// Starts again what has died, as a supervisor would.
    public func revive() throws {
        if let end = up.end {
            // Another store may still have the data folder: `up` says so, and is started again.
            if end != .killed(SIGKILL), end != .exited(75) { unexpectedEnds.append("up: \(end): \(up.errors.suffix(1_000))") }
            earlierErrors += up.errors
            up = try Self.startUp(shape, scratch)
        }
        for member in members {
            guard let end = member.child.end else { continue }
            if shape.lines != nil || isResting, end == .exited(0) { continue }
            if end == .killed(SIGKILL) {
                killedLives.insert(member.lifeName)
            } else {
                unexpectedEnds.append("\(member.lifeName): \(end): \(member.child.errors.suffix(1_000))")
            }
            member.life += 1
            member.child = try start(member.role, member.name, life: member.life)
        }
    }

    /// Waits until every client has written its lines, and starts again whoever dies meanwhile.
    public func work(within limit: Duration = .seconds(240)) async throws {
        try await eventually("all clients have written their lines; up says \(errors.suffix(2_000))", within: limit) {
            try self.revive()
            return self.members.allSatisfy { $0.role != .client || $0.child.end == .exited(0) }
        }
    }

    /// Ends store and `up` as a power failure would, without a moment to put anything in order.
    public func crash() async throws {
        up.send(SIGSTOP)
        for store in processes(.store) { store.send(SIGKILL) }
        up.send(SIGKILL)
        try await up.wait()
        try await eventually("the workers have ended") { self.processes(.worker).isEmpty }
    }

    // MARK: Looking

    /// The living processes of a role.
    public func processes(_ role: Role) -> [ProcessTable.Entry] {
        switch role {
        case .store, .worker:
            ProcessTable.all(naming: data).filter { $0.command == role.rawValue }
        case .up: [up.id].compactMap(ProcessTable.entry)
        case .client, .subscriber:
            members.filter { $0.role == role && $0.child.end == nil }.compactMap { ProcessTable.entry($0.child.id) }
        }
    }

    /// Everything that `up`, its store and its workers have said.
    public var errors: String { earlierErrors + up.errors }

    /// The store's own account of itself; nil while it is away.
    public func status() async throws -> [String: Any]? {
        let child = try start(["status", "--json", "--data", data, "--endpoint", endpoint])
        guard try await child.wait() == .exited(0) else { return nil }
        return try JSONSerialization.jsonObject(with: child.outputBytes) as? [String: Any]
    }

    /// The view that the store has at its head.
    public func liveView() async throws -> Slate.ViewState {
        try await eventually("the store shows its view", within: .seconds(120)) {
            let child = try start(["view", "--data", data, "--endpoint", endpoint])
            // On a machine with other things to do, it may give up before the store answers.
            guard try await child.wait() == .exited(0) else { return nil }
            return try Self.view(child)
        }
    }

    /// The view that a replay of the journal gives, in a process with a hash seed of its own.
    func replayedView() async throws -> Slate.ViewState? {
        let child = try start(["replay", "--data", data])
        guard try await child.wait(within: .seconds(120)) == .exited(0) else {
            unexpectedEnds.append("replay: \(child.errors.suffix(1_000))")
            return nil
        }
        return try Self.view(child)
    }

    private static func view(_ child: Child) throws -> Slate.ViewState {
        struct Line: Decodable {
            let view: Slate.ViewState
        }
        return try JSONDecoder().decode(Line.self, from: child.outputBytes).view.bare
    }

    func lastSighting(of member: Member) -> Sighting? {
        HistoryFile.last(historyFile(.subscriber, member.lifeName))
    }
}

extension Cluster {
    /// How many views a subscriber was shown in its present life.
    public func views(of name: String) -> Int {
        guard let member = members.first(where: { $0.name == name }) else { return 0 }
        let file = FileManager.default.contents(atPath: historyFile(.subscriber, member.lifeName))
        return file?.count { $0 == UInt8(ascii: "\n") } ?? 0
    }

    /// How many lines clients have written into their histories: two for each call that is answered.
    public var answers: Int {
        members.filter { $0.role == .client }.reduce(0) { sum, member in
            let file = FileManager.default.contents(atPath: historyFile(.client, member.lifeName))
            return sum + (file?.count { $0 == UInt8(ascii: "\n") } ?? 0)
        }
    }

    /// What workers have written down so far.
    public func attempts() throws -> [Attempt] {
        try FileManager.default.contentsOfDirectory(atPath: history).filter { $0.hasPrefix("worker-") }
            .flatMap { try HistoryFile.read("\(history)/\($0)", as: Attempt.self) }
    }

    /// The keys of effects for which more than one attempt had an answer.
    public func answeredTwice() throws -> [String] {
        let answers = try attempts().filter { $0.step == .answered }
        return Dictionary(grouping: answers, by: \.key).filter { $0.value.count > 1 }.keys.sorted()
    }

    /// A number of `status`, waiting for a store that is away.
    public func number(_ name: String) async throws -> Int {
        try await eventually("the store tells its \(name)") { try await self.status()?[name] as? Int }
    }

    /// What the processes of a role have taken of a processor so far.
    public func processorSeconds(_ role: Role) -> Double {
        processes(role).reduce(0) { $0 + $1.processorSeconds }
    }

    /// A counter of `status`, waiting for a store that is away.
    public func counter(_ name: String) async throws -> Int {
        try await eventually("the store tells its \(name)") {
            (try await self.status()?["counters"] as? [String: Any])?[name] as? Int
        }
    }
}
