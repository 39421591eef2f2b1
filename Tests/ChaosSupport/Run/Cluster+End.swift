import Foundation
import ProcessSupport

/// The end of a torment: everything heals, everybody finishes, and the evidence is gathered.
extension Cluster {
    /// How long the outstanding work may take once the faults have stopped, on a machine with other things to do. It may stand still for no
    /// longer than `patience`.
    private static let limit = Duration.seconds(600)

    /// Lets clients finish, and waits until the store has nothing left to do.
    public func rest() async throws {
        var unfinished: [String] = []
        try await rest(&unfinished)
        if let first = unfinished.first { throw TimedOut(first) }
    }

    private func rest(_ unfinished: inout [String]) async throws {
        isResting = true
        for member in members where member.role == .client && shape.lines == nil { member.child.send(SIGTERM) }
        for member in members where member.role == .client {
            await note(in: &unfinished) {
                let end = try await member.child.wait()
                if end != .exited(0) { throw TimedOut("\(member.lifeName): \(end): \(member.child.errors.suffix(1_000))") }
            }
        }
        await note(in: &unfinished) { try await self.untilNothingIsLeft() }
    }

    private func untilNothingIsLeft() async throws {
        let end = ContinuousClock.now + Self.limit
        var least = Int.max
        while least > 0 {
            guard ContinuousClock.now < end else { throw TimedOut("\(least) are left to do after \(Self.limit)") }
            let before = least
            least = try await eventually("less than \(before) is left to do") {
                guard let status = try await self.status(), let effects = status["openEffects"] as? Int,
                    let inputs = status["inbox"] as? Int, effects + inputs < before
                else { return nil }
                return effects + inputs
            }
        }
    }

    /// Lets all rest, waits until all subscribers show the store's head, and stops everything.
    public func finish() async throws -> Evidence {
        try revive()
        var unfinished: [String] = []
        try await rest(&unfinished)
        var live: Slate.ViewState?
        do { live = try await liveView() } catch { unfinished.append("\(error)") }
        let subscribers = members.filter { $0.role == .subscriber }
        await note(in: &unfinished) {
            try await eventually("all subscribers show the head") {
                subscribers.allSatisfy { self.lastSighting(of: $0)?.view == live }
            }
        }
        try await stop(&unfinished)
        return try await evidence(live: live, unfinished: unfinished)
    }

    private func note(in unfinished: inout [String], _ body: () async throws -> Void) async {
        do { try await body() } catch { unfinished.append("\(error)") }
    }

    private func stop(_ unfinished: inout [String]) async throws {
        up.send(SIGTERM)
        await note(in: &unfinished) {
            let end = try await self.up.wait()
            if end != .exited(0) { throw TimedOut("up: \(end): \(self.up.errors.suffix(1_000))") }
        }
        for member in members {
            member.child.send(SIGKILL)
            try await member.child.wait()
        }
    }

    private func evidence(live: Slate.ViewState?, unfinished: [String]) async throws -> Evidence {
        var evidence = Evidence(story: try Story(dataFolder: data))
        evidence.unfinished = unfinished
        evidence.killedLives = killedLives
        // A store that was not at rest has gone on since.
        if let live, unfinished.isEmpty { evidence.heads.append(("the store", live)) }
        for number in 1...2 {
            if let view = try await replayedView() { evidence.heads.append(("replay \(number)", view)) }
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: history).sorted() {
            let path = "\(history)/\(file)"
            let life = String(file.drop { $0 != "-" }.dropFirst().dropLast(".jsonl".count))
            switch file.prefix(while: { $0 != "-" }) {
            case "client": evidence.calls[life] = try HistoryFile.read(path)
            case "subscriber": evidence.sightings[life] = try HistoryFile.read(path)
            case "worker": evidence.attempts += try HistoryFile.read(path, as: Attempt.self)
            default: break
            }
        }
        evidence.lastSubscribers = Set(members.filter { $0.role == .subscriber }.map(\.lifeName))
        evidence.unexpectedEnds = unexpectedEnds + unexpectedWords
        return evidence
    }

    /// What `up` says of children that ended otherwise than by a signal.
    private var unexpectedWords: [String] {
        errors.split(separator: "\n").filter { $0.contains(" ended (exit code ") }.map(String.init)
    }
}
