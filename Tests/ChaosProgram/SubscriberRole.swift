import ChaosSupport
import Foundation
import Logging
import MessagePack
import SamovarCore
import SamovarHost

/// A subscriber that writes down every view it is shown.
struct SubscriberRole {
    private let history: HistoryFile
    private let client: StoreClient

    init(_ arguments: RoleArguments) throws {
        history = try HistoryFile(try arguments.text("history"))
        var logger = Logger(label: try arguments.text("life")) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .debug
        client = try StoreClient(
            at: try arguments.access(), schema: Slate.schema,
            logger: logger)
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            group.addTask {
                for await event in client.views() {
                    guard case .view(let view) = event else { continue }
                    try history.append(
                        Sighting(
                            at: machineTime(), timeline: "\(view.timeline)", turn: view.turn,
                            view: try MessagePackDecoder().decode(Slate.ViewState.self, from: view.bytes).bare))
                }
            }
            try await group.waitForAll()
        }
    }
}
