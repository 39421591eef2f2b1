import ArgumentParser
import SamovarHost

/// The key of the store itself, which is renewed in three steps.
struct KeysServerCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "server", abstract: "Renews the key of the store.",
            discussion: """
                Example: \(executableName) keys server new --keys keys
                         \(executableName) keys server update shop.key render-1.key --keys keys
                         \(executableName) keys server switch --keys keys
                         \(executableName) keys server finish --keys keys
                Peers know the store by its public key, which is in their files. So the next one is made first, and enters the files of
                peers, in which both are then; the store takes it when all peers have it.
                """,
            subcommands: [
                KeysServerNewCommand.self, KeysServerUpdateCommand.self, KeysServerSwitchCommand.self, KeysServerFinishCommand.self,
            ])
    }
}

struct KeysServerNewCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "new", abstract: "Makes the key that the store shall have next.",
            discussion: "Example: \(executableName) keys server new --keys keys")
    }

    @OptionGroup var options: KeysOptions

    func run() throws {
        var keys = try KeysFolder(try options.folder())
        let next = try keys.makeServerKey()
        printError(
            """
            The next key of the store is \(next). Files that are made from now on have both. For those that peers have:
              \(executableName) keys server update FILE…\(options.words)
            When all peers have them, and those with a credential or secret were started again:
              \(executableName) keys server switch\(options.words)
            """)
    }
}

struct KeysServerUpdateCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "update", abstract: "Writes the public keys of the store into files of its peers.",
            discussion: """
                Example: \(executableName) keys server update /etc/samovar/shop.key --keys keys
                Only the lines “server:” change. A peer reads its file whenever it connects, but one that has it as a credential of systemd or a \
                secret of a container has to be started again.
                """)
    }

    @Argument(help: "The files of peers.") var files: [String]
    @OptionGroup var options: KeysOptions

    func run() throws {
        let keys = try KeysFolder(try options.folder())
        for file in files {
            let updated = try keys.update(file)
            printError("\(file) of \(updated.name) has \(updated.servers.count == 1 ? "the key" : "both keys") of the store.")
        }
    }
}

struct KeysServerSwitchCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "switch", abstract: "Makes the next key that of the store. A second time takes it back.",
            discussion: """
                Example: \(executableName) keys server switch --keys keys
                Peers lose their connections, and come again with the key that the store has now.
                """)
    }

    @OptionGroup var options: KeysOptions

    func run() throws {
        var keys = try KeysFolder(try options.folder())
        let present = try keys.switchServerKey()
        printError(
            """
            The key of the store is \(present) now, as soon as it hears of it. When all peers have come again:
              \(executableName) keys server finish\(options.words)
            """)
        sayHowStoresHear()
    }
}

struct KeysServerFinishCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "finish",
            abstract: "Removes the other key of the store: the former one, or the next one before the switch.",
            discussion: "Example: \(executableName) keys server finish --keys keys")
    }

    @OptionGroup var options: KeysOptions

    func run() throws {
        var keys = try KeysFolder(try options.folder())
        let removed = try keys.finishServerKey()
        printError(
            """
            The key \(removed) is removed. Files of peers that have the other one, too, go on working, and `keys server update` takes this one \
            out of them; those that have this one alone work no more.
            """)
    }
}
