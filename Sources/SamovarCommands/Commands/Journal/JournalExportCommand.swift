import ArgumentParser
package import Foundation
package import MessagePack
package import SamovarHost
import SamovarText

struct JournalExportCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Backs a journal up into a new folder, also while its store runs.",
            discussion: """
                Example: \(executableName) journal export /backup/monday
                         PROGRAM replay --data /backup/monday
                The copy is a data folder of the same timeline. To go on from it, use `journal import`. While the store runs, it is the
                store that writes the copy, so the folder is one of its machine.
                """)
    }

    @OptionGroup var options: PeerOptions
    @Argument(help: "A folder that is not there yet.") var folder: String

    func run() async throws {
        let settings = try options.settings()
        let folder = URL(fileURLWithPath: folder).path
        guard !FileManager.default.fileExists(atPath: folder) else {
            throw CommandFailure(.usage, "\(folder) exists already; name a new folder for the backup")
        }
        // A journal that is named is read here, whatever else leads to its store.
        let named = settings.journal == nil ? settings.dataOfStore : settings.data
        if let data = named ?? (settings.endpoint == nil ? Types.defaultDataFolder : nil),
            let last = try await JournalBackup.run(try settings.journal(for: Types.self, in: data), to: folder)
        {
            return printData("Copied the turns up to \(last) to \(folder).")
        }
        let answer: MessagePackValue
        do {
            answer = try await settings.admin(for: Types.self).export(to: folder)
        } catch AdminError.refused(let reason) {
            throw CommandFailure(.inputOutput, reason)
        }
        guard case .int(let turn) = answer["turn"] else { throw CommandFailure(.internal, "the store's answer is malformed") }
        printData("Copied the turns up to \(turn) to \(folder).")
    }
}

extension AdminClient {
    /// Has a running store copy its journal. The same question again, with the same id, is answered with how far it is.
    package func export(to folder: String, as id: UUID = UUID()) async throws -> MessagePackValue {
        let arguments: MessagePackValue = ["id": .string(id.uuidString), "folder": .string(folder)]
        var answer = try await ask("export", arguments)
        while answer["done"] != .bool(true) {
            try await Task.sleep(for: .milliseconds(100))
            do {
                // A store that dies meanwhile is started again.
                answer = try await ask("export", arguments, patience: .seconds(30))
            } catch AdminError.noStore(let store, let waited, let reason) {
                // It has the request, whether or not this question has reached it.
                throw AdminError.unknown(store, waited: waited, because: reason)
            }
        }
        return answer
    }
}
