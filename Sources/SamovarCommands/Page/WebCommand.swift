package import ArgumentParser
import Foundation
import Logging
import SamovarCore
import SamovarHost
import SamovarText
import ServiceLifecycle

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

    static var withoutPage: String {
        "\(executableName) is built without a page: name one in the program, or use samovar web --data FOLDER"
    }

    @OptionGroup var options: PeerOptions

    @Option(name: .long, parsing: .unconditional, help: "The port on this machine; 0 for one that is free.")
    var port = 7_480

    @Flag(name: .long, help: .hidden) var lifeline = false

    package init() {}

    package func run() async throws {
        guard let page = Types.page else {
            throw CommandFailure(.usage, Self.withoutPage)
        }
        guard let port = UInt16(exactly: port) else {
            throw CommandFailure(.usage, "--port \(port) is not between 0 and 65535")
        }
        let settings = try options.settings()
        let store = try settings.access(for: Types.self)
        let logger = settings.logger("web")
        let schema = Types.schema
        let client = try PageClient(logger: logger) { try StoreClient(at: store, schema: schema, logger: logger) }
        // A store that is known by its sockets alone has no folder for a token.
        let folder = settings.endpoint == nil ? try settings.dataFolder(for: Types.self) : settings.dataOfStore
        if folder == nil, let data = settings.data {
            logger.warning(
                "the data folder \(data) may be another store's than the one at the endpoint: no past, and a token for this start alone, unless --data names it"
            )
        }
        // The store that `up` starts makes its folder; any other folder that is not there may be a slip of the pen.
        let isMissing = folder.map { !lifeline && !FileManager.default.fileExists(atPath: $0) } ?? false
        if let folder, isMissing {
            logger.warning(
                "there is no data folder \(folder): its store is waited for, and the token is one for this start alone")
        }
        let tokenFile = isMissing ? nil : folder.map { "\($0)/web.token" }
        let request = PageRequest(
            client: client, admin: try settings.admin(for: Types.self), port: port, title: Types.schema?.name ?? "Samovar",
            tokenFile: tokenFile, explorer: explorer(settings, folder), logger: logger,
            isReady: { [lifeline] in printData(Self.announcement(of: $0, tokenFile: tokenFile, isLogged: lifeline)) })
        let service = PageService(page: page, request: request)
        try await runProcess(service, lifeline: lifeline ? Lifeline { service.end() } : nil, logger: logger)
    }
}

extension WebCommand {
    /// What `up` prints goes to a log unless a person sees it, and a token that lasts is for no log.
    private static func announcement(of address: String, tokenFile: String?, isLogged: Bool) -> String {
        guard isLogged, isatty(STDERR_FILENO) == 0, let tokenFile, let end = address.firstRange(of: "#t=")?.upperBound else {
            return "the page is at \(address)"
        }
        return "the page is at \(address[..<end])…, with the token that is in \(tokenFile)"
    }

    /// The past is in the journal, so that has to be here, or at a place that is reached from here.
    private func explorer(_ settings: ProcessSettings, _ folder: String?) -> [String]? {
        guard Types.schema != nil, folder != nil || settings.journal != nil else { return nil }
        return ["explore"] + options.store.arguments
    }
}

/// A page, which ends with the client through which it sees its store.
private struct PageService: Service {
    let page: PageKind
    let request: PageRequest

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                try await page.serve(request)
            } catch is CancellationError {}
        }
    }

    func end() { request.client.close() }
}
