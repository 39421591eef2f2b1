import Foundation

/// A process that is run to its end, and what it printed.
struct ChildProcess: Sendable {
    enum End: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
        /// It took longer than it was given.
        case late
        /// It printed what was waited for.
        case stopped
    }

    /// What a run may take.
    struct Limits: Sendable {
        /// Seconds on the clock: for one that waits without end.
        var seconds: Double
        /// Seconds of a processor: for one that works without end. Other work on the machine does not shorten them.
        var processorSeconds: Int
        /// For one that fills a list without end.
        var bytes: Int
    }

    let end: End
    let output: String

    /// - Parameter stop: ends the process once it has printed a line with this text.
    static func run(
        _ program: String, _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:], limits: Limits? = nil,
        stop: String? = nil
    ) throws -> ChildProcess {
        let process = Process()
        if let limits {
            process.executableURL = URL(filePath: "/bin/sh")
            let script = "ulimit -c 0; ulimit -v \(limits.bytes / 1_024); ulimit -t \(limits.processorSeconds); exec \"$0\" \"$@\""
            process.arguments = ["-c", script, program] + arguments
        } else {
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [program] + arguments
        }
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let isLate = Latch()
        let timer = DispatchWorkItem {
            isLate.set()
            process.terminate()
        }
        if let limits { DispatchQueue.global().asyncAfter(deadline: .now() + limits.seconds, execute: timer) }
        var output = Data()
        let text = stop.map { Data($0.utf8) }
        // Where the first line begins that has not been looked at: a test with thousands of cases prints as many lines.
        var next = 0
        var isStopped = false
        while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
            output.append(data)
            guard let text, !isStopped, let end = data.lastIndex(of: 10) else { continue }
            let behind = output.count - (data.endIndex - end) + 1
            if output[next..<behind].firstRange(of: text) != nil {
                isStopped = true
                process.terminate()
            }
            next = behind
        }
        process.waitUntilExit()
        timer.cancel()
        let end: End =
            if isStopped {
                .stopped
            } else if isLate.isSet || process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL {
                // At the limit of the processor's time the system sends this one.
                .late
            } else if process.terminationReason == .uncaughtSignal {
                .signalled(process.terminationStatus)
            } else {
                .exited(process.terminationStatus)
            }
        return ChildProcess(end: end, output: String(decoding: output, as: UTF8.self))
    }
}
