import ChaosSupport
import Foundation
import SamovarCommands
import SamovarHost

/// A program that exists to be killed: all commands of Samovar for `Slate`, and the roles of those who watch and write it.
///
/// It is for tests only, which start it as many processes.
@main
enum ChaosProgram {
    static func main() async {
        do {
            try await run()
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(70)
        }
    }

    private static func run() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let role = arguments.isEmpty ? "" : arguments.removeFirst()
        switch role {
        case "client": try await ClientRole(RoleArguments(arguments)).run()
        case "subscriber": try await SubscriberRole(RoleArguments(arguments)).run()
        case "proxy": try await ProxyRole(RoleArguments(arguments)).run()
        case "splice": try await SpliceRole(RoleArguments(arguments)).run()
        case "churn": try ChurnRole(RoleArguments(arguments)).run()
        case "crowd": try CrowdRole(RoleArguments(arguments)).run()
        case "keyed-crowd": try KeyedCrowdRole(RoleArguments(arguments)).run()
        case "flood": try StrangerRole(RoleArguments(arguments)).flood()
        case "bare-listener": try StrangerRole(RoleArguments(arguments)).listen()
        case "bare-asker": try StrangerRole(RoleArguments(arguments)).ask()
        default: await SlateApp.main()
        }
    }
}

/// `--name value` pairs of a role.
struct RoleArguments {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    fileprivate var values: [String: String] = [:]

    init(_ arguments: [String]) throws {
        for index in stride(from: 0, to: arguments.count - 1, by: 2) { values[arguments[index]] = arguments[index + 1] }
    }

    func text(_ name: String, default standard: String? = nil) throws -> String {
        guard let value = values["--\(name)"] ?? standard else { throw Missing(description: "--\(name) is missing") }
        return value
    }

    func number(_ name: String, default standard: Int? = nil) throws -> Int {
        if let text = values["--\(name)"], let number = Int(text) { return number }
        guard let standard else { throw Missing(description: "--\(name) is missing or no number") }
        return standard
    }
}

extension RoleArguments {
    /// The stores that a peer goes to, with its key if it has one.
    func access() throws -> StoreAccess {
        try StoreAccess(try text("endpoint"), dataFolder: try text("data"), keyFile: values["--key"])
    }
}

/// Tells a test that waits for it: at once, whatever the process does next.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
