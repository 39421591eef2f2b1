import ArgumentParser
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire

struct KeysNewCommand<Types: ProgramTypes>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "new", abstract: "Makes a key, enters it in the table, and writes its file for the peer.",
            discussion: """
                Example: \(executableName) keys new shop --role client --input place --input cancel --keys keys
                         \(executableName) keys new render-1 --role worker --queue render --not-after 2030-01-01 --out render-1.key
                The first one makes the folder, and a key for the store. The path of the file is printed. Roles:
                  viewer    hears views
                  client    sends inputs, reads outputs, and hears views
                  worker    runs effects
                  operator  asks for status, state and effects, changes them, and hears views
                """)
    }

    @Argument(help: "What the key is called: 1 to 32 letters, digits, “.”, “_” and “-”.") var name: KeyName
    @Option(name: .long, help: "What it is for. Repeatable.") var role: [Role]
    @Option(name: .long, help: "A queue that the worker may serve. Repeatable. Default: all.") var queue: [String] = []
    @Option(name: .long, help: "A case of the program's Input that the client may send. Repeatable. Default: all.")
    var input: [String] = []
    @Option(name: .customLong("not-after"), help: "When it ends, as 2030-01-01T00:00:00Z or 2030-01-01 (UTC). Default: never.")
    var notAfter: InstantArgument?
    @Option(name: .long, help: "The most sessions that the store keeps for it. Default: 100.") var sessions: Int?
    @Option(name: .long, help: "The most greetings in a second. Default: 10.") var hellos: Int?
    @Option(name: .customLong("view-bytes"), help: "The most bytes of views that it may ask for in a second. Default: 10485760.")
    var viewBytes: Int?
    @Option(name: .customLong("bad-frames"), help: "The most messages in 10 s that make no sense. Default: 10.") var badFrames: Int?
    @Option(name: .long, help: "Where the file for the peer is written. Default: NAME.key.") var out: String?
    @OptionGroup var options: KeysOptions

    private var roles: Set<Role> { Set(role) }

    func validate() throws {
        if !queue.isEmpty, !roles.contains(.worker) { throw ValidationError("--queue is for workers") }
        if !input.isEmpty, !roles.contains(.client) { throw ValidationError("--input is for clients") }
        if !input.isEmpty, let names = Types.inputNames, let unknown = input.first(where: { !names.contains($0) }) {
            throw ValidationError("--input \(unknown) is no input of the program; there are \(names.joined(separator: ", "))")
        }
        try notAfter?.requireAhead("--not-after")
    }

    func run() throws {
        let file = out ?? "\(name).key"
        var limits = Key.Limits()
        limits.sessions = sessions ?? limits.sessions
        limits.hellos = hellos ?? limits.hellos
        limits.viewBytes = viewBytes ?? limits.viewBytes
        limits.badFrames = badFrames ?? limits.badFrames
        var keys = try KeysFolder(try options.folder(), mayMake: true)
        if keys.isNew { printError("The store has got a key, in \(keys.path): start it with --keys \(shellWord(keys.path)).") }
        let key = try keys.issue(name, to: file) { fingerprint in
            Key(
                name, fingerprint, roles: roles, queues: queue.isEmpty ? nil : Set(queue.map { Queue($0) }),
                inputs: input.isEmpty ? nil : Set(input), notAfter: notAfter?.time, limits: limits)
        }
        printData(file)
        printError(
            "\(key.name) has the key \(key.fingerprint). Its file is the only copy: take it to its machine, and remove it here.")
        sayHowStoresHear()
    }
}

struct KeysRenewCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "renew", abstract: "Makes another key for a name; later takes the former one away.",
            discussion: """
                Example: \(executableName) keys renew shop --not-after 2030-01-01 --keys keys
                         \(executableName) keys renew shop --finish --keys keys
                Until --finish both are good. A peer reads its file whenever it connects, so nothing has to be started again but what has it as \
                a credential of systemd or a secret of a container.
                """)
    }

    @Argument(help: "The name of the key.") var name: KeyName
    @Flag(name: .long, help: "Take the former key away, now that the peer has the new one.") var finish = false
    @Option(name: .customLong("not-after"), help: "When the new one ends. Default: when the former one does.")
    var notAfter: InstantArgument?
    @Option(name: .long, help: "Where the file for the peer is written; that of its present key is replaced. Default: NAME.key.")
    var out: String?
    @OptionGroup var options: KeysOptions

    func validate() throws {
        if finish, notAfter != nil || out != nil { throw ValidationError("--finish makes no key") }
        try notAfter?.requireAhead("--not-after")
    }

    func run() throws {
        var keys = try KeysFolder(try options.folder())
        if finish {
            let former = try keys.finish(name)
            printError("\(former.name) has lost its former key \(former.fingerprint).")
        } else {
            let file = out ?? "\(name).key"
            let present = notAfter == nil ? KeysFolder.keys("\(name)", in: keys.table).first : nil
            if present?.isValid(now: HostClock().now()) == false {
                throw ValidationError("\(name) has expired: say when the new one ends, with --not-after")
            }
            let key = try keys.renew(name, notAfter: notAfter?.time, to: file)
            printData(file)
            printError(
                """
                \(key.name) has the key \(key.fingerprint) beside the former one. Once its file is on its machine, and what has it as a \
                credential or secret was started again:
                  \(executableName) keys renew \(key.name) --finish\(options.words)
                """)
        }
        sayHowStoresHear()
    }
}

struct KeysRevokeCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revoke", abstract: "Takes a key away: whoever has it does not get in any more.",
            discussion: """
                Example: \(executableName) keys revoke shop --keys keys
                         \(executableName) keys revoke 3f1c0d528f5e4b0e9a570c1d2e3f4a5b --keys keys
                """)
    }

    @Argument(help: "The name of a key, for all keys that have it, or a fingerprint.") var key: String
    @OptionGroup var options: KeysOptions

    func run() throws {
        var keys = try KeysFolder(try options.folder())
        for key in try keys.revoke(key) { printError("\(key.name) has lost the key \(key.fingerprint).") }
        sayHowStoresHear()
    }
}
