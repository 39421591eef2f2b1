import Foundation
import ProcessSupport
import SamovarHost
import Synchronization
import Testing

@testable import SamovarCommands

/// What becomes of lines for standard error, for which a pipe stands, when their reader is slow or stands still.
struct ErrorThreadTests {
    private let ends: (read: Int32, write: Int32)
    private let errors: ErrorThread
    private static let count = 300
    /// All of them are several times what may wait.
    private static let filler = String(repeating: "x", count: 60_000)

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        self.ends = (ends[0], ends[1])
        // A machine that gives neither thread a turn for long is no reader who stands still.
        errors = try ErrorThread(writingTo: ends[1], patience: .seconds(60))
    }

    /// The beginnings of lines that were read.
    private final class Heard: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }
        func add(_ line: [UInt8]) { lines.withLock { $0.append(String(decoding: line.prefix(100), as: UTF8.self)) } }

        /// The numbers that the lines begin with, in order, and how many were left out between them.
        func told(_ isLeftOut: (Int) -> Void = { _ in }) -> Int {
            var next = 0
            for line in all {
                if line.hasPrefix("\(next) x") {
                    next += 1
                } else if let number = line.firstMatch(of: /^warning: ([0-9]+) lines were left out here/).flatMap({ Int($0.1) }) {
                    isLeftOut(number)
                    next += number
                }
            }
            return next
        }
    }

    /// Until the pipe is closed.
    private func read(into heard: Heard) async throws {
        try await onThread("test-read") { [ends] in
            defer { close(ends.read) }
            readLines(of: ends.read) { heard.add($0) }
        }
    }

    @Test func `Lines that nobody reads are left out beyond a limit, and it is said where and how many`() async throws {
        for number in 0..<Self.count { errors.add("\(number) \(Self.filler)\n") }
        let heard = Heard()
        async let _ = read(into: heard)
        defer { close(ends.write) }
        try await eventually("each is told: \(heard.all)") { heard.told() == Self.count }
        var leftOut = 0
        _ = heard.told { leftOut += $0 }
        #expect(leftOut > 0)
        errors.add("last\n")
        try await eventually("what comes then is there: \(heard.all)") { heard.all.last == "last" }
    }

    @Test func `Lines that may wait come whole and in order to whoever reads`() async throws {
        let heard = Heard()
        async let _ = read(into: heard)
        defer { close(ends.write) }
        for number in 0..<Self.count {
            await errors.room()
            errors.add("\(number) \(Self.filler)\n")
        }
        try await eventually("all are there: \(heard.all)") { heard.all.count == Self.count }
        _ = heard.told { Issue.record("\($0) lines are missing") }
        #expect(heard.told() == Self.count)
    }
}
