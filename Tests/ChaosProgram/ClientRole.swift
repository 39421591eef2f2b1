import ChaosSupport
import Foundation
import Logging
import SamovarCore
import SamovarHost
import Synchronization
import UnixSignals

/// A client with a few lanes, each of which writes its column line by line and waits for every answer. SIGTERM lets it finish
/// what is under way and end.
struct ClientRole {
    private let life: String
    private let lanes: Int
    private let lines: Int
    private let pause: Duration
    private let padding: String?
    /// Of every line; nil for jobs of every kind.
    private let job: Slate.Kind?
    private let history: HistoryFile
    private let connector: Connector<Slate>

    init(_ arguments: RoleArguments) throws {
        life = try arguments.text("life")
        lanes = try arguments.number("lanes", default: 4)
        lines = try arguments.number("lines", default: .max)
        pause = .milliseconds(try arguments.number("pause", default: 5))
        job = Slate.Kind(rawValue: try arguments.text("job", default: "mixed"))
        let bytes = try arguments.number("padding", default: 0)
        padding = bytes > 0 ? String(repeating: "x", count: bytes) : nil
        history = try HistoryFile(try arguments.text("history"))
        var logger = Logger(label: life) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .debug
        connector = try Connector(
            Slate.self, at: try arguments.access(), logger: logger)
    }

    func run() async throws {
        let end = EndSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await connector.run() }
            group.addTask { await end.watch() }
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for lane in 1...lanes {
                    writers.addTask { try await write(column: "\(life)/\(lane)", lane: lane, until: end) }
                }
                try await writers.waitForAll()
            }
            connector.close()
            // The first to end is the connector; the signal is not waited for any more.
            _ = try await group.next()
            group.cancelAll()
        }
    }

    private func write(column: String, lane: Int, until end: EndSignal) async throws {
        var number = 0
        while number < lines, !end.came {
            number += 1
            let line = Slate.Line(column: column, number: number, job: job ?? Self.job(number &+ lane), padding: padding)
            try history.append(Call(at: machineTime(), line: line.bare, step: .called))
            let receipt = await connector.send(.write(line))
            try history.append(Self.entry(line.bare, receipt))
            try await Task.sleep(for: pause)
        }
    }

    /// Jobs of every kind, most of them quick.
    private static func job(_ number: Int) -> Slate.Kind? {
        switch number % 20 {
        case 1, 3, 5, 7, 9, 11, 13: .quick
        case 4, 14: .slow
        case 8: .flaky
        case 12 where number % 3 == 0: .hopeless
        case 15 where number % 3 == 0: .doomed
        default: nil
        }
    }

    private static func entry(_ line: Slate.Line, _ receipt: Receipt<Slate>) -> Call {
        switch receipt {
        case .applied(let turn, _), .unsettled(let turn, _): Call(at: machineTime(), line: line, step: .applied, turn: turn)
        case .refused(_, let turn): Call(at: machineTime(), line: line, step: .refused, turn: turn)
        case .rejected(let reason): Call(at: machineTime(), line: line, step: .rejected, reason: reason)
        case .unknown(let reason): Call(at: machineTime(), line: line, step: .unknown, reason: reason)
        }
    }
}

/// Whether SIGTERM came.
final class EndSignal: Sendable {
    private let flag = Atomic<Bool>(false)

    var came: Bool { flag.load(ordering: .relaxed) }

    func watch() async {
        for await _ in await UnixSignalsSequence(trapping: .sigterm) { flag.store(true, ordering: .relaxed) }
    }
}
