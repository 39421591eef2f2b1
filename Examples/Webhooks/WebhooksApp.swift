import Foundation
import Samovar

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `webhooks up --workers 2` in one terminal, `webhooks monitor` in another.
@main
struct WebhooksApp: SamovarApp {
    static var worker: Worker<Webhooks> {
        .handlers(environment: { Courier() }) {
            group(Webhooks.deliveries) {
                on(\.delivery) { delivery, courier, job in
                    try await courier.deliver(delivery.event, to: delivery.url, key: job.key)
                    return .delivered(endpoint: delivery.event.endpoint)
                }
            }
            group(Webhooks.probes) {
                on(\.probe) { probe, courier, job in .probed(endpoint: probe.endpoint, isUp: await courier.isUp(probe.url)) }
            }
        }
    }

    static var slots: Int { 8 }
}

/// Talks to endpoints over HTTP.
struct Courier: Sendable {
    struct Rejected: Error, CustomStringConvertible {
        let status: Int
        var description: String { "status \(status)" }
    }

    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 5
        session = URLSession(configuration: configuration)
    }

    /// Posts an event. The receiver tells by the key what it has got already.
    ///
    /// - Throws: `Rejected`, to be tried again; `Permanent` for what no further attempt will change; what `URLSession` throws.
    func deliver(_ event: Webhooks.Event, to url: String, key: String) async throws {
        guard let address = URL(string: url) else { throw Permanent("“\(url)” is no URL") }
        var request = URLRequest(url: address)
        request.httpMethod = "POST"
        request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        request.setValue(event.id, forHTTPHeaderField: "Event-Id")
        request.httpBody = Data(event.body.utf8)
        let (_, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        switch status {
        case 200..<300: return
        // Too early, or too often.
        case 408, 425, 429, 500...: throw Rejected(status: status)
        default: throw Permanent("status \(status)")
        }
    }

    /// Whether an endpoint answers a GET well.
    func isUp(_ url: String) async -> Bool {
        guard let address = URL(string: url) else { return false }
        // Whatever the reason, it is not up.
        guard let (_, response) = try? await session.data(from: address) else { return false }
        return (200..<300).contains((response as? HTTPURLResponse)?.statusCode ?? 0)
    }
}
