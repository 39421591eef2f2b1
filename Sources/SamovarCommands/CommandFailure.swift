import ArgumentParser
import SamovarHost
import SamovarProtocol

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Why a command ends without success: a sentence for a person, and an exit code of sysexits for a script.
struct CommandFailure: Error, CustomStringConvertible {
    enum Code: Int32 {
        case usage = 64
        case badData = 65
        case unavailable = 69
        case `internal` = 70
        case inputOutput = 74
        case tryLater = 75
        case configuration = 78
    }

    let code: Code
    let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .configuration: .configuration
            case .busy: .tryLater
            case .damaged: .badData
            case .inputOutput: .inputOutput
            case .program: .internal
            case .again: .unavailable
            }
        if let divergence = error.divergence {
            self = .divergence(divergence, error.description)
        } else {
            self.init(code, error.description)
        }
    }
}

/// The name by which this executable was called, for help and for its data folder.
var executableName: String {
    let path = CommandLine.arguments.first ?? "samovar"
    return path.split(separator: "/").last.map(String.init) ?? path
}

/// Parses the arguments, runs the command, and exits. Standard output is for data; what went wrong goes to standard error.
func runAsMain<Root: AsyncParsableCommand>(_ root: Root.Type) async {
    // Only output that nobody reads any more ends a command, and not a pipe to another process: the write's error says it.
    signal(SIGPIPE, SIG_IGN)
    do {
        var command = try root.parseAsRoot()
        if var asynchronous = command as? any AsyncParsableCommand {
            try await asynchronous.run()
        } else {
            try command.run()
        }
    } catch let failure as CommandFailure {
        end(failure)
    } catch let error as StoreError {
        end(CommandFailure(error))
    } catch let error as AdminError {
        switch error {
        case .noStore: end(CommandFailure(.unavailable, "\(error); is it running? start one with `up`"))
        case .refused(let reason): end(CommandFailure(.badData, reason))
        }
    } catch let error as OutboxError {
        end(CommandFailure(.inputOutput, "\(error)"))
    } catch let error as EndpointError {
        end(CommandFailure(.configuration, "\(error)"))
    } catch let error as PeerError {
        end(CommandFailure(.configuration, "\(error)"))
    } catch let error as WorkerError {
        end(CommandFailure(.configuration, "\(error)"))
    } catch let error as SettingsError {
        end(CommandFailure(.configuration, "\(error)"))
    } catch {
        root.exit(withError: error)
    }
    exit(0)
}

private func end(_ failure: CommandFailure) -> Never {
    printError("error: \(failure)")
    exit(failure.code.rawValue)
}
