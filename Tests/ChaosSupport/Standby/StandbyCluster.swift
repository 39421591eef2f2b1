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
        /// How each store reaches the database, when not by the socket: parts of an address.
        package var journals: [String]?
        /// Where each store listens, when not in the scratch folder.
        package var endpoints: [String]?
        /// A program that starts each process, with its arguments: `nsenter` for another network.
        package var starter: [String] = []

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
    }

    struct Member {
        let role: String
        let life: String
        let child: Child
    }

    let scratch: Scratch
    let shape: Shape
    let server: TestServer
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

    package init(_ shape: Shape = Shape(), on server: TestServer, in scratch: Scratch) async throws {
        ticket = await TurnstileTicket(.clusters)
        (self.shape, self.server, self.scratch) = (shape, server, scratch)
        history = scratch.folder("history")
        try FileManager.default.createDirectory(atPath: history, withIntermediateDirectories: true)
        place = try server.place()
        guard try PostgreSQLJournal.create(at: place) else { throw TimedOut("there is a journal already") }
        for index in 0..<shape.stores {
            let journal = (shape.journals?[index] ?? "\(place.address)") + "&schema=\(place.schema)"
            let name = "store\(index)"
            let endpoint = shape.endpoints?[index] ?? "ipc://\(scratch.path)/\(name)"
            let child = try startStore(name, endpoint, journal, index == 0 ? [] : ["--standby"])
            seats.append(Seat(name, endpoint, journal, child))
            let seat = seats[index]
            let sign = index == 0 ? "serving" : "follows it"
            try await eventually("\(name) is there: \(seat.errors)") { seat.errors.contains(sign) }
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

    var endpoints: String { seats.map(\.endpoint).joined(separator: ",") }

    func start(_ arguments: [String]) throws -> Child {
        let words = shape.starter + [Executable.chaos] + arguments
        return try Child(words[0], Array(words.dropFirst()), in: scratch, variables: variables)
    }

    private func startStore(_ name: String, _ endpoint: String, _ journal: String, _ flags: [String]) throws -> Child {
        try start(
            ["store", "--data", scratch.folder(name), "--endpoint", endpoint, "--journal", journal] + flags
                + (endpoint.hasPrefix("tcp://") ? ["--insecure-tcp"] : []))
    }

    private func add(_ role: String, _ name: String, _ flags: [String]) throws {
        let life = "\(name).0"
        var arguments = [role, "--endpoint", endpoints]
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
        try await standBy(former)
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
