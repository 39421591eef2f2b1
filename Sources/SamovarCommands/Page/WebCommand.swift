package import ArgumentParser
import SamovarCore
import SamovarHost
import UnixSignals

package struct WebCommand<Types: ProgramTypes>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "web", abstract: "Serves a page in which the store can be watched and used.",
            discussion: """
                Example: \(executableName) web --port 7480
                It listens on this machine alone, and prints the address of the page, which has a token: who has it can do whatever this \
                command may do with the store. A store that is away is waited for.
                """)
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, parsing: .unconditional, help: "The port on this machine; 0 for one that is free.")
    var port = 7_480

    package init() {}

    package func run() async throws {
        guard let page = Types.page else {
            throw CommandFailure(
                .usage, "\(executableName) is built without a page: name one in the program, or use samovar web")
        }
        guard let port = UInt16(exactly: port) else {
            throw CommandFailure(.usage, "--port \(port) is not between 0 and 65535")
        }
        let settings = try options.settings()
        let store = try settings.access(for: Types.self)
        let logger = settings.logger("web")
        let client = try StoreClient(at: store, schema: Types.schema, logger: logger)
        // A store that is known by its sockets alone has no folder for a token.
        let folder = settings.endpoint == nil ? try settings.dataFolder(for: Types.self) : settings.data
        let request = PageRequest(
            client: client, admin: AdminClient(at: store), port: port, title: Types.schema?.name ?? "Samovar",
            tokenFile: folder.map { "\($0)/web.token" }, logger: logger, isReady: { printData("the page is at \($0)") })
        do {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await client.run()
                    return true
                }
                group.addTask {
                    try await page.serve(request)
                    return true
                }
                group.addTask {
                    for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { break }
                    return false
                }
                defer {
                    client.close()
                    group.cancelAll()
                }
                guard try await group.next() == true else { return }
                throw CommandFailure(.internal, "the page has ended by itself")
            }
        } catch let error as PageError {
            throw CommandFailure(.unavailable, "\(error)")
        }
    }
}
