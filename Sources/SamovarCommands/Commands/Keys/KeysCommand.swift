public import ArgumentParser
public import SamovarCore
import SamovarHost
import SamovarText
public import SamovarWire

/// The keys with which peers come over the network. All but `reload` works on the folder alone, with or without a store.
struct KeysCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keys", abstract: "Makes, lists, renews and revokes the keys of those who come over the network.",
            discussion: """
                Example: \(executableName) keys new shop --role client --keys keys
                         \(executableName) keys list --keys keys
                         \(executableName) keys revoke shop --keys keys
                The keys folder of a store has its own key and a table of those that may come. Each peer has a file with its key, which is
                the only copy of its secret: take it to its machine over a way that nobody listens to, and remove it here.
                """,
            subcommands: [
                KeysNewCommand<Types>.self, KeysListCommand.self, KeysShowCommand.self, KeysRenewCommand.self,
                KeysRevokeCommand.self, KeysServerCommand.self, KeysReloadCommand<Types>.self,
            ])
    }
}

/// Which keys, shared by all these commands.
struct KeysOptions: ParsableArguments {
    @Option(name: .long, help: "The keys folder of the store. Default: SAMOVAR_KEYS, or keys: in the file of --config.")
    var keys: String?

    @Option(name: .long, help: "A YAML file with settings; flags and SAMOVAR_* variables win over it.")
    var config: String?

    /// As they were given, for a command that is to follow this one.
    var words: String {
        [("keys", keys), ("config", config)].compactMap { name, value in value.map { " --\(name) \(shellWord($0))" } }.joined()
    }

    func folder() throws -> String {
        var flags: [String: String] = [:]
        flags["keys"] = keys
        let settings = try ProcessSettings.read(flags: flags, configFile: config)
        for warning in settings.warnings { printError("warning: \(warning)") }
        guard let folder = settings.keys else {
            throw CommandFailure(.configuration, "which keys? name the keys folder of the store with --keys, or with SAMOVAR_KEYS")
        }
        return folder
    }
}

/// What a person does next, whatever has changed.
func sayHowStoresHear() {
    printError("A store that runs hears of it by SIGHUP, or by `\(executableName) keys reload`.")
}

extension KeyName: ExpressibleByArgument {
    /// The name of a key on the command line.
    public init?(argument: String) { self.init(argument) }
}

extension Role: ExpressibleByArgument {}

/// A point in time on the command line: `2027-01-01T00:00:00Z`, or a day for the beginning of it.
struct InstantArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        guard let time = instant(Substring(argument)) ?? instant(Substring(argument + "T00:00:00Z")) else { return nil }
        self.time = time
    }

    /// - Throws: `ValidationError` for one that is over: a key that ends then would be good for nothing.
    func requireAhead(_ option: String) throws {
        guard time > HostClock().now() else {
            throw ValidationError("\(option) is over: with it the key would be good for nothing")
        }
    }
}

struct KeysReloadCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "reload", abstract: "Has a running store read its keys again; SIGHUP does the same.",
            discussion: """
                Example: \(executableName) keys reload
                What the store cannot read it refuses as a whole, says so, and goes on with the keys that it has.
                """)
    }

    @OptionGroup var options: PeerOptions

    func run() async throws {
        _ = try await options.admin(for: Types.self).ask("reloadKeys")
        printError("the store has read its keys")
    }
}
