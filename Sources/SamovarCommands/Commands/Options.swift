package import ArgumentParser
package import Logging
import SamovarCore
package import SamovarHost
import SamovarText

/// Which store, shared by all commands.
package struct StoreOptions: ParsableArguments {
    @Option(name: .long, help: "The data folder of the store.")
    package var data: String?

    @Option(name: .long, help: "Where the journal is, if not in the data folder: postgresql://HOST/DATABASE, say.")
    package var journal: String?

    @Option(name: .long, help: "Where the store is reached: ipc:///FOLDER or tcp://HOST:PORT. Default: by the data folder.")
    package var endpoint: String?

    @Option(name: .long, help: "A YAML file with settings; flags and SAMOVAR_* variables win over it.")
    package var config: String?

    @Option(name: .customLong("log-level"), help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: String?

    package init() {}

    /// The same, for another process of this executable.
    var arguments: [String] {
        let flags = [("data", data), ("journal", journal), ("endpoint", endpoint), ("config", config), ("log-level", logLevel)]
        return flags.flatMap { name, value in value.map { ["--\(name)", $0] } ?? [] }
    }

    /// - Parameter more: flags of the command itself that are settings, by their keys.
    func settings(_ more: [String: String] = [:]) throws -> ProcessSettings {
        var flags = more
        flags["data"] = data
        flags["journal"] = journal
        flags["endpoint"] = endpoint
        flags["log.level"] = logLevel
        let settings = try ProcessSettings.read(flags: flags, configFile: config)
        for warning in settings.warnings { printError("warning: \(warning)") }
        return settings
    }
}

/// Which store, and as whom: for commands that connect to one.
package struct PeerOptions: ParsableArguments {
    @OptionGroup package var store: StoreOptions

    @Option(
        name: .long,
        help: "The file with the key for stores on the network. --endpoint may name several, with commas between, tried in turn.")
    var key: String?

    package init() {}

    /// - Parameter more: flags of the command itself that are settings, by their keys.
    package func settings(_ more: [String: String] = [:]) throws -> ProcessSettings {
        var flags = more
        flags["key"] = key
        return try store.settings(flags)
    }

    func admin<Types: ProgramTypes>(for types: Types.Type) throws -> AdminClient {
        try settings().admin(for: types)
    }
}

extension ProcessSettings {
    func dataFolder<Types: ProgramTypes>(for types: Types.Type) throws(CommandFailure) -> String {
        guard let folder = data ?? Types.defaultDataFolder else {
            let others = endpoint == nil ? " or its sockets with --endpoint" : ", which this command reads itself"
            throw CommandFailure(.configuration, "which store? name its data folder with --data\(others)")
        }
        return folder
    }

    /// The data folder that was named, unless it may be another store's than the one at the endpoint.
    var dataOfStore: String? { isDataOfAnother ? nil : data }

    /// Where the journal is, for a command that reads it beside its store. The store is asked only for what is in its data folder.
    func servedJournal<Types: ProgramTypes>(for types: Types.Type) throws -> JournalLocation {
        let location = try namedJournal(for: types)
        return journal == nil ? location.asking(StoreAccess(folderOf: try endpoint(for: types))) : location
    }

    /// Where the journal is, for a command that comes to its store by that alone.
    func namedJournal<Types: ProgramTypes>(for types: Types.Type) throws -> JournalLocation {
        guard journal != nil || !isDataOfAnother else {
            // Behind that of the data folder.
            let place = storePlaces.last ?? "--endpoint"
            throw CommandFailure(
                .usage, "\(place) does not lead to a journal, which this command needs: name the store's data folder with --data")
        }
        return try journal(for: types)
    }

    /// Where the journal is.
    func journal<Types: ProgramTypes>(for types: Types.Type) throws -> JournalLocation {
        try requireKinds(of: types)
        return try self.journal(for: types, in: try dataFolder(for: types))
    }

    func journal<Types: ProgramTypes>(for types: Types.Type, in folder: String) throws -> JournalLocation {
        guard let journal else { return JournalLocation(dataFolder: folder) }
        try requireKinds(of: types)
        return try JournalLocation(journal, dataFolder: folder, kinds: Types.journals)
    }

    /// Which kinds of journals there are beside data folders is the program's.
    private func requireKinds<Types: ProgramTypes>(of types: Types.Type) throws(CommandFailure) {
        guard journal != nil, Types.schema == nil else { return }
        throw CommandFailure(
            .configuration,
            "\(executableName) reads journals in data folders alone: one in a database is for the program's own executable")
    }

    /// Where a store listens.
    func endpoint<Types: ProgramTypes>(for types: Types.Type) throws -> Endpoint {
        if let endpoint { return try Endpoint(endpoint, dataFolder: data ?? Types.defaultDataFolder ?? ".") }
        return .of(dataFolder: try dataFolder(for: types))
    }

    /// How a peer reaches its store.
    package func access<Types: ProgramTypes>(for types: Types.Type) throws -> StoreAccess {
        guard let endpoint else {
            let access = StoreAccess.of(dataFolder: try dataFolder(for: types))
            try access.requireRoom()
            return access
        }
        let access = try StoreAccess(endpoint, dataFolder: data ?? Types.defaultDataFolder ?? ".", keyFile: key)
        try access.requireRoom()
        // A mistake shows before anything is started.
        try access.requireKey()
        return access
    }

    /// How an operator reaches its store: without a key by its sockets in a folder, and never from an endpoint on TCP by a folder that may
    /// be another store's.
    package func admin<Types: ProgramTypes>(for types: Types.Type) throws -> AdminClient {
        let access = try access(for: types)
        guard isDataOfAnother else { return AdminClient(at: access) }
        guard let reachable = access.forOperators else {
            throw CommandFailure(
                .configuration,
                "\(access) takes operators with a key alone: name one with --key, or the store's data folder with --data")
        }
        return AdminClient(at: reachable)
    }

    package func logger(_ label: String) -> Logger {
        var logger = LogLines.logger(label)
        logger.logLevel = logLevel.flatMap { Logger.Level(rawValue: $0) } ?? .info
        return logger
    }
}

/// A duration on the command line: seconds, or a number with `ms`, `s`, `m`, `h`.
package struct Seconds: ExpressibleByArgument, CustomStringConvertible {
    package let duration: Duration

    /// How long a store that does not answer is waited for unless `--timeout` says so: it is restarted in less.
    static let forStore = Seconds(.seconds(3))
    /// For what may come whenever it wants.
    static let forever = Seconds(.seconds(86_400 * 365))

    package init(_ duration: Duration) {
        self.duration = duration
    }

    package init?(argument: String) {
        let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600)]
        let unit = units.first { argument.hasSuffix($0.0) } ?? ("", 1)
        guard let number = Double(argument.dropLast(unit.0.count)), number >= 0, number < 1e9 else { return nil }
        duration = .milliseconds(Int64(number * unit.1 * 1_000))
    }

    /// - Throws: `ValidationError` for no time at all.
    func requirePositive(_ option: String) throws {
        guard duration > .zero else { throw ValidationError("\(option) \(self) is no time: more than 0s") }
    }

    package var description: String { duration.text }

    package var defaultValueDescription: String { "\(duration.components.seconds)s" }
}
