/// When one client's inputs are due: a function of their number alone, so nothing that happens can move it. An input that is sent late is
/// measured from when it was due; this is what keeps the measurement free of coordinated omission.
public struct SendSchedule: Equatable, Sendable {
    /// Of this client among all.
    let client: Int
    let clients: Int
    /// Of all clients, per second.
    let rate: Double
    /// How many of this client's inputs are due in the whole test.
    public let count: Int

    /// - Parameter duration: in microseconds.
    public init(client: Int, of clients: Int, rate: Double, duration: Int64) {
        self.client = client
        self.clients = clients
        self.rate = rate
        let all = Int((rate * Double(duration) / 1_000_000).rounded(.up))
        count = all > client ? (all - client - 1) / clients + 1 : 0
    }

    /// Microseconds after the start, of this client's input `index`, from 0. Clients take turns, so that they do not send in bursts.
    public func due(_ index: Int) -> Int64 { Int64(Double(index * clients + client) * 1_000_000 / rate) }
}
