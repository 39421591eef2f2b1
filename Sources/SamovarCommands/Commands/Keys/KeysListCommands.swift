import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire

struct KeysListCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "Lists the keys that may come, and what they are for.",
            discussion: "Example: \(executableName) keys list --keys keys")
    }

    @Flag(name: .long, help: "One line of JSON.") var json = false
    @OptionGroup var options: KeysOptions

    func run() throws {
        let keys = try StoreKeys(folder: try options.folder())
        let rows = keys.table.keys.map(KeyText.value)
        if json {
            return printData(JSONTranscoder.text(of: ["servers": .array(KeyText.servers(of: keys)), "keys": .array(rows)]))
        }
        guard !rows.isEmpty else { return printError("no keys: make one with `\(executableName) keys new`") }
        printData(TextTable.lines(of: rows.map(KeyText.row), KeyText.columns).joined(separator: "\n"))
    }
}

struct KeysShowCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show", abstract: "Shows what one key is for, and its limits.",
            discussion: "Example: \(executableName) keys show shop --keys keys")
    }

    @Argument(help: "The name of a key, or a fingerprint.") var key: String
    @Flag(name: .long, help: "One line of JSON for each key that has the name.") var json = false
    @OptionGroup var options: KeysOptions

    func run() throws {
        let keys = KeysFolder.keys(key, in: try StoreKeys(folder: try options.folder()).table)
        guard !keys.isEmpty else { throw CommandFailure(.badData, "there is no key of this name or fingerprint") }
        let values = keys.map(KeyText.value)
        printData(
            values.map { json ? JSONTranscoder.text(of: $0) : ViewText.screen(of: $0) }.joined(separator: json ? "\n" : "\n\n"))
    }
}

/// A key for people and for scripts: nothing in it is secret.
private enum KeyText {
    static let columns = ["name", "fingerprint", "roles", "queues", "inputs", "notAfter", "state"]

    static func value(of key: Key) -> MessagePackValue {
        var value: MessagePackValue = [
            "name": .string("\(key.name)"), "fingerprint": .string("\(key.fingerprint)"),
            "roles": .array(Role.allCases.filter(key.roles.contains).map { .string($0.rawValue) }),
        ]
        value["queues"] = key.queues.map { names($0.map(\.name)) }
        value["inputs"] = key.inputs.map { names(Array($0)) }
        value["notAfter"] = key.notAfter.map { .string(instantText($0)) }
        if !key.isValid(now: HostClock().now()) { value["state"] = "expired" }
        value["limits"] = [
            "sessions": .int(Int64(key.limits.sessions)), "hellos": .int(Int64(key.limits.hellos)),
            "viewBytes": .int(Int64(key.limits.viewBytes)), "badFrames": .int(Int64(key.limits.badFrames)),
        ]
        return value
    }

    /// With lists as texts.
    static func row(_ value: MessagePackValue) -> MessagePackValue {
        var row = value
        for column in ["roles", "queues", "inputs"] {
            if case .array(let names)? = value[column] { row[column] = .string(names.map(\.plainText).joined(separator: ",")) }
        }
        return row
    }

    /// The public keys of the store, for the configuration of peers in other languages.
    static func servers(of keys: StoreKeys) -> [MessagePackValue] {
        keys.serverTexts.map { ["fingerprint": .string("\($0.fingerprint)"), "public": .string($0.text)] }
    }

    private static func names(_ names: [String]) -> MessagePackValue { .array(names.sorted().map { .string($0) }) }
}
