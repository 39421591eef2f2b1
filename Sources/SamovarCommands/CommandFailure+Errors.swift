import ArgumentParser
import Foundation
import MessagePack
import SamovarHost
import SamovarStore
import SamovarText
import SamovarWire

extension CommandFailure {
    /// Nil for errors that the argument parser explains, and has exit codes for.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as StoreError:
            let code: Code =
                switch error.code {
                case .configuration: .configuration
                case .busy: .tryLater
                case .damaged: .badData
                case .forbidden: .noPermission
                case .inputOutput: .inputOutput
                case .program: .internal
                case .again: .unavailable
                }
            self = error.divergence.map { .divergence($0, error.description) } ?? CommandFailure(code, error.description)
        case AdminError.noStore(let store, _, because: nil): self.init(.unavailable, "\(error); \(store.advice)")
        case AdminError.noStore, AdminError.unknown: self.init(.unavailable, "\(error)")
        case AdminError.keyRefused(let reason): self.init(.noPermission, reason)
        case AdminError.refused(let reason): self.init(.badData, reason)
        case AdminError.later(let reason): self.init(.tryLater, reason)
        case let error as KeyFileError:
            let code: Code =
                switch error.kind {
                case .configuration: .configuration
                case .request: .badData
                case .busy: .tryLater
                case .forbidden: .noPermission
                case .inputOutput: .inputOutput
                }
            self.init(code, escapeForTerminal("\(error)"))
        case let error as PeerError where error.code == .forbidden || error.code == .keyRefused:
            self.init(.noPermission, "\(error)")
        // Who starts again has another session.
        case let error as PeerError where error.code == .sessionExpired: self.init(.unavailable, "\(error)")
        case let error as WorkerError where error.isForbidden: self.init(.noPermission, "\(error)")
        case is OtherTimeline: self.init(.unavailable, "\(error)")
        case is ViewError: self.init(.badData, "the view cannot be read: \(escapeForTerminal("\(error)"))")
        case is CapsuleError, is MessagePackError: self.init(.badData, escapeForTerminal("\(error)"))
        case is OutboxError, is RawTerminal.Failure: self.init(.inputOutput, "\(error)")
        case is EndpointError, is PeerError, is WorkerError, is SettingsError: self.init(.configuration, "\(error)")
        default: return nil
        }
    }

    /// What a person is told. Its lines are the command's own; all else in them may quote strangers, and does nothing to a terminal.
    var text: String {
        description.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { escapeForTerminal(String($0)) }.joined(separator: "\n")
    }
}

/// The name by which this executable was called, for help and for its data folder.
package var executableName: String {
    let path = CommandLine.arguments.first ?? "samovar"
    return path.split(separator: "/").last.map(String.init) ?? path
}

/// Parses the arguments, runs the command, and exits. Standard output is for data; what went wrong goes to standard error.
func runAsMain<Root: AsyncParsableCommand>(_ root: Root.Type) async {
    // Only output that nobody reads any more ends a command, and not a pipe to another process: the write's error says it.
    signal(SIGPIPE, SIG_IGN)
    // What it means here is for arguments and settings to say, which take their time.
    EarlyHangup.hold()
    do {
        if Array(CommandLine.arguments.dropFirst()) == ["--generate-manual"] {
            StandardStream.output.write(try ManualPage(of: root._dumpHelp()).text)
            exit(0)
        }
        var command = try root.parseAsRoot()
        if !(command is any HearingHangup) { EarlyHangup.letGo() }
        if var asynchronous = command as? any AsyncParsableCommand {
            try await asynchronous.run()
        } else {
            try command.run()
        }
    } catch {
        guard let failure = CommandFailure(error) else {
            ErrorThread.current?.finish()
            root.exit(withError: error)
        }
        printError("error: \(failure.text)")
        endProcess(failure.code.rawValue)
    }
    endProcess(0)
}
