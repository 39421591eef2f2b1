/// Tells once a minute how far a sweep is: a hundred thousand seeds take an hour and more.
public struct SweepProgress: Sendable {
    private static let interval = Duration.seconds(60)

    private let seeds: Int
    private var ended = 0
    private var due = interval

    public init(of seeds: Int) {
        self.seeds = seeds
    }

    /// - Parameter elapsed: the time since the sweep began.
    /// - Returns: what to tell, if it is time.
    public mutating func seedHasEnded(after elapsed: Duration) -> String? {
        ended += 1
        guard elapsed >= due, ended < seeds else { return nil }
        due = elapsed + Self.interval
        let rest = elapsed / ended * (seeds - ended)
        return "\(ended) of \(seeds) seeds are done, about \(rest.components.seconds / 60 + 1) min to go"
    }
}
