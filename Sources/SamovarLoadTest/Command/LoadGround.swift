import Foundation
import Logging
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarText

/// The store that is put under load: one that runs, or one that was started for it.
struct LoadGround: Sendable {
    let store: StoreAccess
    let dataFolder: String
    /// Of its own store, if it is not in the data folder.
    let journal: JournalLocation?
    /// Of its own store; nil for one that somebody else runs.
    let supervisor: Supervisor?
    /// For sockets, data and copies; removed at the end.
    let scratch: String
    let keepsScratch: Bool

    /// A path where nothing is, and a short one: that of a socket has at most 107 bytes.
    static func scratchPath() -> String { "/tmp/samovar-load-\(String(UInt64.random(in: .min ... .max), radix: 36))" }

    /// Makes the folder, for this user alone.
    func makeScratch() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: scratch, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.inputOutput, "cannot make \(scratch): \(error.localizedDescription)")
        }
    }

    func removeScratch(_ isSound: Bool) {
        if supervisor != nil, !isSound || keepsScratch {
            return printError("the data folder is kept: \(dataFolder)")
        }
        do {
            try FileManager.default.removeItem(atPath: scratch)
        } catch {
            printError("warning: \(scratch) is left behind: \(error.localizedDescription)")
        }
    }

    /// What `status` says, once the store serves.
    func status(within patience: Duration) async throws -> MessagePackValue {
        let end = ContinuousClock.now + patience
        while true {
            do {
                let status = try await AdminClient(at: store).ask("status", patience: .seconds(2))
                if status["phase"] != .string("recovering") { return status }
            } catch AdminError.noStore(_, _, let reason) {
                guard ContinuousClock.now < end else {
                    let error = AdminError.noStore(store, waited: patience, because: reason)
                    throw CommandFailure(
                        .unavailable, "\(error); start one with `up`, or name none by flags or settings: then load starts its own")
                }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Judges by the journal after a turn if that is known and the journal can be read, else by the receipts.
    ///
    /// - Returns: a problem if the journal should have been read. That of somebody else's store may be out of reach, or be trimmed.
    func judge(_ judge: Judge, after turn: Int?) async -> (LoadReport.Judgement, bytes: Int?, problem: String?) {
        do {
            guard let turn else { throw LoadError("operators do not reach the store from here") }
            let folder = supervisor == nil ? try await copyOfJournal() : dataFolder
            let reading = try await JournalEvidence.read(
                journal ?? JournalLocation(dataFolder: folder), after: turn, for: judge)
            return (LoadReport.Judgement(evidence: .journal(turns: reading.turns), findings: reading.findings), reading.bytes, nil)
        } catch {
            let reason = "the journal could not be read: \(error)"
            let judgement = LoadReport.Judgement(evidence: .receipts(because: reason), findings: judge.verdictOfReceipts())
            return (judgement, nil, supervisor != nil || error is StoreError ? reason : nil)
        }
    }

    private func copyOfJournal() async throws -> String {
        let folder = scratch + "/copy"
        _ = try await AdminClient(at: store).export(to: folder)
        guard FileManager.default.fileExists(atPath: folder) else {
            throw LoadError("the store is on another machine, or sees other files: it has left a copy in its \(folder)")
        }
        return folder
    }
}
