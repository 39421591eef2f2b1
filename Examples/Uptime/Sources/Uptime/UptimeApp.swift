import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Samovar

@main struct UptimeApp: SamovarApp {
    /// Most of the time a probe waits, so a process runs many at once.
    static var slots: Int { 32 }

    /// The client is closed with the process, so it does not matter if that fails.
    static var worker: Worker<Uptime> {
        Worker(environment: { client() }, tearDown: { try? await $0.shutdown() }) { effect, client, job in
            switch effect {
            case .probe(let url):
                let start = ContinuousClock.now
                let code = try await ask(client, HTTPClientRequest(url: url))
                let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
                return .probed(url: url, isUp: true, answer: "\(code) in \(milliseconds) ms")
            case .alert(let text):
                guard let address = ProcessInfo.processInfo.environment["UPTIME_ALERT_URL"] else {
                    try FileHandle.standardError.write(contentsOf: Data("alert \(job.key): \(text.debugDescription)\n".utf8))
                    return nil
                }
                var request = HTTPClientRequest(url: address)
                request.method = .POST
                // The same in every attempt, so that a receiver which has the alert already knows it again.
                request.headers.add(name: "Idempotency-Key", value: job.key)
                request.body = .bytes(ByteBuffer(string: text))
                _ = try await ask(client, request)
                return nil
            }
        }
        .serving("http", "alerts")
    }

    /// It tries nothing twice: that is the store's, which counts the attempts.
    private static func client() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }

    private static func ask(_ client: HTTPClient, _ request: HTTPClientRequest) async throws -> UInt {
        let code = try await client.execute(request, timeout: .seconds(10)).status.code
        if code >= 400 { throw BadStatus(description: "answered \(code)") }
        return code
    }

    private struct BadStatus: Error, CustomStringConvertible { let description: String }
}
