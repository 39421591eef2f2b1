import Foundation
package import PostgreSQLJournal
package import PostgreSQLSupport
package import ProcessSupport

/// Stores on one journal in PostgreSQL, of which one serves, and workers, clients and subscribers that know them all.
///
/// Used by one task at a time.
package final class StandbyCluster {
    package struct Shape: Sendable {
        package var stores = 2
        package var workers = 2
        package var clients = 2
        package var subscribers = 1
        package var lanes = 2
        /// Milliseconds between an answer and the next line of a lane.
        package var pause = 5
        /// How stores reach the database; nil for its socket.
        package var journal: String?
        /// The machines of the stores and that of all others; nil for this one.
        package var network: Namespaces?
        package static let peers = "peers"

        package init() {}
    }

    /// One of the stores: its processes follow each other.
    final class Seat {
        let name: String
        let endpoint: String
        let journal: String
        var child: Child
        var earlierErrors = ""

        init(_ name: String, _ endpoint: String, _ journal: String, _ child: Child) {
            (self.name, self.endpoint, self.journal, self.child) = (name, endpoint, journal, child)
        }

        var errors: String { earlierErrors + child.errors }

        /// Whether its process follows a store and has never served.
        var isStandby: Bool { child.errors.contains("follows it") && !child.errors.contains("] serving") }
    }

    struct Member {
        let role: String
        let life: String
        let child: Child
    }

    let scratch: Scratch
    let shape: Shape
    /// Must live as long as this.
    private let servers: [TestServer]
    package let place: PostgreSQLPlace
    let history: String
    private(set) var seats: [Seat] = []
    private(set) var members: [Member] = []
    /// Ends of stores, in words.
    package private(set) var ends: [String] = []
    package private(set) var unexpectedEnds: [String] = []
    /// When the journal was taken from its owner, by the clock of the machine.
    package private(set) var faults: [Int] = []
    private let ticket: TurnstileTicket

    package init(_ shape: Shape = Shape(), at place: PostgreSQLPlace, on servers: [TestServer], in scratch: Scratch) async throws {
        ticket = await TurnstileTicket(.clusters)
        (self.shape, self.place, self.servers, self.scratch) = (shape, place, servers, scratch)
        history = scratch.folder("history")
        try FileManager.default.createDirectory(atPath: history, withIntermediateDirectories: true)
        guard try PostgreSQLJournal.create(at: place) else { throw TimedOut("there is a journal already") }
        if shape.network != nil { try await makeKeys() }
        for index in 0..<shape.stores {
            let journal = (shape.journal ?? "\(place.address)") + "&schema=\(place.schema)"
            let name = "store\(index)"
            let address = try shape.network?.address(of: name)
            let endpoint = address.map { "tcp://\($0):7500" } ?? "ipc://\(scratch.path)/\(name)"
            let child = try startStore(name, endpoint, journal, index == 0 ? [] : ["--standby"])
            seats.append(Seat(name, endpoint, journal, child))
            let seat = seats[index]
            let sign = index == 0 ? "serving" : "follows it"
            try await eventually("\(name) is there: \(seat.errors)") {
                if let end = seat.child.end { throw TimedOut("\(name): \(end): \(seat.errors)") }
                return seat.errors.contains(sign)
            }
        }
        for number in 0..<shape.workers { try add("worker", "w\(number)", []) }
        let load = ["--lanes", "\(shape.lanes)", "--pause", "\(shape.pause)"]
        for number in 0..<shape.clients { try add("client", "c\(number)", load) }
        for number in 0..<shape.subscribers { try add("subscriber", "s\(number)", []) }
        try await hears(2_000)
    }

    // MARK: Starting

    private var variables: [String: String] {
        // As that of Cluster: what is rare in life shall be frequent here.
        ["SAMOVAR_STORE_SILENCE_SECONDS": "3", "SAMOVAR_STORE_SNAPSHOT_MEBIBYTES": "1", "CHAOS_HISTORY": history]
    }

    private var endpoints: String { seats.map(\.endpoint).joined(separator: ",") }

    func start(_ arguments: [String], on machine: String = Shape.peers) throws -> Child {
        let words = try (shape.network?.starter(machine) ?? []) + [Executable.chaos] + arguments
        return try Child(words[0], Array(words.dropFirst()), in: scratch, variables: variables)
    }

    private func startStore(_ name: String, _ endpoint: String, _ journal: String, _ flags: [String]) throws -> Child {
        try start(
            ["store", "--data", scratch.folder(name), "--endpoint", endpoint, "--journal", journal] + flags
                + (shape.network == nil ? [] : ["--keys", scratch.folder("keys")]), on: name)
    }

    /// Stores that listen in a network take those with a key. One for each role.
    private func makeKeys() async throws {
        for role in ["worker", "client", "viewer", "operator"] {
            let made = try start(
                ["keys", "new", role, "--role", role, "--keys", scratch.folder("keys"), "--out", scratch.folder("\(role).key")])
            guard try await made.wait() == .exited(0) else { throw TimedOut("keys: \(made.errors)") }
        }
    }

    /// How peers of a role reach the stores.
    func access(_ role: String) -> [String] {
        ["--endpoint", endpoints] + (shape.network == nil ? [] : ["--key", scratch.folder("\(role).key")])
    }

    private func add(_ role: String, _ name: String, _ flags: [String]) throws {
        let life = "\(name).0"
        var arguments = [role] + access(role == "subscriber" ? "viewer" : role)
        if role != "worker" {
            arguments += ["--life", life, "--data", scratch.folder("peers"), "--history", file(role, life)]
        }
        members.append(Member(role: role, life: life, child: try start(arguments + flags)))
    }

    func file(_ role: String, _ life: String) -> String { "\(history)/\(role)-\(life).jsonl" }

    // MARK: Faults

    /// The store that serves: the one that was last heard to.
    var owner: Seat {
        get throws {
            let serving = try seats.compactMap { seat -> (epoch: Int, seat: Seat)? in
                guard let last = seat.child.errors.split(separator: "\n").last(where: { $0.contains("] serving") }),
                    let match = last.firstMatch(of: try Regex("start=([0-9]+)", as: (Substring, Substring).self)),
                    let epoch = Int(match.1)
                else { return nil }
                return (epoch, seat)
            }
            guard let last = serving.max(by: { $0.epoch < $1.epoch }) else { throw TimedOut("no store serves") }
            return last.seat
        }
    }

    /// Kills the store that serves, waits until clients have answers of another one, and starts it again as standby.
    package func kill() async throws {
        let former = try owner
        faults.append(machineTime())
        former.child.send(SIGKILL)
        try await former.child.wait()
        try await taken(from: former)
        try await standBy(former)
    }

    /// Has a standby ask for the journal.
    package func handOver() async throws {
        let former = try owner
        guard let heir = seats.first(where: { $0 !== former }) else { throw TimedOut("there is no standby") }
        heir.child.send(SIGTERM)
        try await note(heir)
        faults.append(machineTime())
        heir.child = try startStore(heir.name, heir.endpoint, heir.journal, ["--standby", "--hand-over"])
        try await taken(from: former)
        try await standBy(former, naming: "handed over")
    }

    /// Stops the store that serves for longer than its lease, and lets it go on: it has to find out, and end.
    package func pause() async throws {
        let former = try owner
        faults.append(machineTime())
        former.child.send(SIGSTOP)
        try await taken(from: former)
        former.child.send(SIGCONT)
        try await standBy(former, naming: "has the journal")
    }

    /// Pulls the wire of the store that serves until another one has taken its place: to all others that is a loss of power.
    package func cut() async throws {
        guard let network = shape.network else { throw TimedOut("there is no network") }
        let former = try owner
        faults.append(machineTime())
        try await network.cut(former.name, .both)
        try await taken(from: former)
        try await network.heal(former.name)
        try await standBy(former, naming: "has the journal")
    }

    /// Waits until clients have answers again, and starts stores again that end meanwhile because of another one.
    ///
    /// Clients may have answers before a former store has found out that it is one. So this waits until all but one are standbys.
    package func goesOn() async throws {
        let before = heard
        try await eventually("clients have answers: \(errors)") {
            for seat in self.seats where seat.child.end != nil {
                try await self.note(seat, naming: "has the journal")
                seat.child = try self.startStore(seat.name, seat.endpoint, seat.journal, ["--standby"])
            }
            return self.heard >= before + 2_000 && self.seats.count { !$0.isStandby } == 1
        }
    }

    /// Waits until every store has ended, and says what each has said last.
    package func allEnd() async throws -> [String] {
        for seat in seats { try await seat.child.wait() }
        return seats.map { $0.errors.split(separator: "\n").last.map(String.init) ?? "" }
    }

    /// The newest turn that a client has been told of.
    package func newestReceipt() throws -> Int {
        try members.filter { $0.role == "client" }
            .flatMap { try HistoryFile.read(file($0.role, $0.life), as: Call.self) }.compactMap(\.turn).max() ?? 0
    }

    /// Waits until another store serves and clients have answers of it.
    private func taken(from former: Seat) async throws {
        try await eventually("another store serves: \(seats.map(\.errors))") { try self.owner !== former }
        try await hears(2_000)
    }

    /// Waits until a store has ended, and starts it again as a supervisor would.
    ///
    /// - Parameter reason: what it says when it ends by itself.
    private func standBy(_ seat: Seat, naming reason: String = "") async throws {
        try await note(seat, naming: reason)
        seat.child = try startStore(seat.name, seat.endpoint, seat.journal, ["--standby"])
        try await eventually("\(seat.name) follows: \(seat.errors)") { seat.child.errors.contains("follows it") }
    }

    private func note(_ seat: Seat, naming reason: String = "") async throws {
        let end = try await seat.child.wait()
        let words = seat.child.errors
        ends.append("\(end)")
        let isExpected = reason.isEmpty ? [.exited(0), .killed(SIGKILL)].contains(end) : end == .exited(69)
        let last = words.split(separator: "\n").last ?? ""
        if !isExpected || !(reason.isEmpty || last.contains(reason)) {
            unexpectedEnds.append("\(seat.name): \(end): \(words.suffix(1_000))")
        }
        seat.earlierErrors += words
    }

    /// Waits until clients have written so many further bytes into their histories.
    private func hears(_ count: Int) async throws {
        let before = heard
        try await eventually("clients have answers: \(seats.map(\.errors))") { self.heard >= before + count }
    }

    private var heard: Int {
        members.filter { $0.role == "client" }.reduce(0) { sum, member in
            var status = stat()
            return stat(file(member.role, member.life), &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    package var errors: String { seats.map { "== \($0.name)\n\($0.errors)" }.joined(separator: "\n") }
}
