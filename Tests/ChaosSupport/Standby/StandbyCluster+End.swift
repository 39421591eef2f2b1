import Foundation
import PostgreSQL
import PostgreSQLJournal
import ProcessSupport
import SamovarWire

/// The end: everybody finishes, and the evidence is gathered.
extension StandbyCluster {
    package func finish() async throws -> Evidence {
        var unfinished: [String] = []
        for client in members where client.role == "client" { client.child.send(SIGTERM) }
        for client in members where client.role == "client" {
            await note(in: &unfinished) {
                let end = try await client.child.wait()
                if end != .exited(0) { throw TimedOut("\(client.life): \(end): \(client.child.errors.suffix(1_000))") }
            }
        }
        await note(in: &unfinished) {
            try await eventually("nothing is left to do") {
                guard let status = try await self.status() else { return false }
                return status["openEffects"] as? Int == 0 && status["inbox"] as? Int == 0
            }
        }
        var live: Slate.ViewState?
        await note(in: &unfinished) {
            live = try await eventually("the store shows its view") {
                try await self.view(["view", "--data", self.scratch.folder("peers")] + self.access("viewer"))
            }
        }
        let subscribers = members.filter { $0.role == "subscriber" }
        await note(in: &unfinished) {
            try await eventually("all subscribers show the head") {
                subscribers.allSatisfy {
                    HistoryFile.last(self.file("subscriber", $0.life), as: Sighting.self)?.view == live
                }
            }
        }
        // First those that wait, so that nobody takes the journal any more.
        let last = try owner
        for seat in seats.filter({ $0 !== last }) + [last] {
            seat.child.send(SIGTERM)
            await note(in: &unfinished) {
                let end = try await seat.child.wait()
                if end != .exited(0) { throw TimedOut("\(seat.name): \(end): \(seat.child.errors.suffix(1_000))") }
            }
        }
        for member in members {
            member.child.send(SIGKILL)
            try await member.child.wait()
        }
        return try await evidence(live, unfinished, replayedFrom: last)
    }

    private func note(in unfinished: inout [String], _ body: () async throws -> Void) async {
        do { try await body() } catch { unfinished.append("\(error)") }
    }

    /// The account of the store that serves; nil while none does.
    package func status() async throws -> [String: Any]? {
        let child = try start(["status", "--json", "--data", scratch.folder("peers")] + access("operator"))
        guard try await child.wait() == .exited(0) else { return nil }
        return try JSONSerialization.jsonObject(with: child.outputBytes) as? [String: Any]
    }

    private func view(_ arguments: [String]) async throws -> Slate.ViewState? {
        struct Line: Decodable {
            let view: Slate.ViewState
        }
        let child = try start(arguments)
        guard try await child.wait(within: .seconds(120)) == .exited(0) else { return nil }
        return try JSONDecoder().decode(Line.self, from: child.outputBytes).view.bare
    }

    private func evidence(
        _ live: Slate.ViewState?, _ unfinished: [String], replayedFrom seat: Seat
    ) async throws -> Evidence {
        var evidence = Evidence(story: try Story(at: place))
        evidence.unfinished = unfinished
        evidence.unexpectedEnds = unexpectedEnds
        if let live, unfinished.isEmpty { evidence.heads.append(("the store", live)) }
        let replay = ["replay", "--data", scratch.folder(seat.name), "--journal", seat.journal]
        if let view = try await view(replay) {
            evidence.heads.append(("replay", view))
        } else {
            evidence.unexpectedEnds.append("replay of \(seat.journal)")
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: history) where file.hasPrefix("worker-") {
            evidence.attempts += try HistoryFile.read("\(history)/\(file)", as: Attempt.self)
        }
        for member in members where member.role == "client" {
            evidence.calls[member.life] = try HistoryFile.read(file(member.role, member.life))
        }
        for member in members where member.role == "subscriber" {
            evidence.sightings[member.life] = try HistoryFile.read(file(member.role, member.life))
            evidence.lastSubscribers.insert(member.life)
        }
        return evidence
    }

    /// How many batches were appended by an earlier epoch than that of the batch before.
    package func fencedBatches() throws -> Int {
        var connection = try PostgreSQLConnection(place.address, patience: .seconds(20))
        let sql = """
            SELECT count(*) FROM (SELECT epoch, lag(epoch) OVER (ORDER BY first) AS former FROM "\(place.schema)".batches) AS b
            WHERE epoch < former
            """
        return try connection.run(sql, []).integer(0, 0)
    }

    /// How long clients had no receipt.
    package struct Gap: Sendable {
        /// Milliseconds from the fault to the first receipt of a turn of the store that took over.
        package let afterFault: Int
        /// The longest time without any receipt meanwhile: the old store may have gone on, and the new one repeats what the old one had done.
        package let silence: Int
    }

    /// - Throws: `TimedOut`, if the journal was begun more or less often than was caused.
    package func gaps(_ evidence: Evidence) throws -> [Gap] {
        let starts = evidence.story.records.compactMap { record -> Int? in
            if case .started = record.event { record.turn } else { nil }
        }
        guard starts.count == faults.count + 1 else {
            throw TimedOut("\(faults.count) faults, and the journal has \(starts.count) starts")
        }
        let receipts = evidence.calls.values.joined().compactMap { call in call.turn.map { (turn: $0, at: call.at) } }
            .sorted { $0.at < $1.at }
        return try zip(faults, starts.dropFirst()).map { fault, start in
            guard let first = receipts.first(where: { $0.turn > start })?.at else {
                throw TimedOut("nobody heard of a turn after \(start)")
            }
            let times = [fault] + receipts.map(\.at).filter { $0 > fault && $0 <= first }
            let silence = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
            return Gap(afterFault: first - fault, silence: silence)
        }
    }
}
