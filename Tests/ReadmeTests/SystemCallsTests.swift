import Testing

/// What only another system than the one of the tests would notice.
@Suite struct SystemCallsTests {
    private static let onlyGlibc = [
        "PTHREAD_MUTEX_ADAPTIVE_NP", "__sigaction_handler", "__rlimit_resource_t", "malloc_trim", "mallopt",
    ]

    @Test func `Files are synced by one function, which knows what macOS needs`() throws {
        for path in try Checkout.files(below: "Sources", ending: ".swift") where path != "Sources/Journal/WriteThrough.swift" {
            let source = try Checkout.text(path)
            guard source.contains("sync(") || source.contains("F_FULLFSYNC") else { continue }
            let calls = source.split(separator: "\n").filter { line in
                ["fsync(", "fdatasync(", "syncfs(", "F_FULLFSYNC)"].contains { line.contains($0) } && !line.contains("//")
            }
            #expect(calls.isEmpty, "\(path) has a sync of its own: \(calls)")
        }
    }

    @Test func `Whoever imports the C library of one system imports those of the others`() throws {
        for path in try Checkout.files(below: "Sources", ending: ".swift") {
            let source = try Checkout.text(path)
            guard source.contains("import Glibc"), !source.contains("#if canImport(Glibc)\nimport Glibc\n#endif") else { continue }
            #expect(source.contains("import Musl") && source.contains("import Darwin"), "\(path)")
        }
    }

    @Test func `What only glibc has is behind a question for it`() throws {
        for path in try Checkout.files(below: "Sources", ending: ".swift") {
            let source = try Checkout.text(path)
            guard Self.onlyGlibc.contains(where: { source.contains($0) }) else { continue }
            var conditions: [Substring] = []
            for line in source.split(separator: "\n") {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("#if") { conditions.append(text) }
                if text.hasPrefix("#else") { conditions[conditions.count - 1] += " " + text }
                if text.hasPrefix("#endif") { conditions.removeLast() }
                guard Self.onlyGlibc.contains(where: { text.contains($0) }), !text.hasPrefix("//") else { continue }
                let asks = conditions.contains { $0.contains("canImport(Glibc)") || $0.contains("canImport(Musl)") }
                #expect(asks, "\(path): \(text)")
            }
        }
    }

    @Test func `No thread waits for a line with the lock of a stream, for which musl's exit waits`() throws {
        for path in try Checkout.files(below: "Sources", ending: ".swift") {
            #expect(!(try Checkout.text(path)).contains("readLine("), "\(path): `readLines` reads without the stream")
        }
    }

    @Test func `No test waits for a process without a limit`() throws {
        let unlimited = "waitUntil" + "Exit"
        for path in try Checkout.files(below: "Tests", ending: ".swift") {
            #expect(!(try Checkout.text(path)).contains(unlimited), "\(path): `Child` waits with a limit")
        }
    }
}
