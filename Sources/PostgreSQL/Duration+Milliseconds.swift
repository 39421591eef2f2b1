extension Duration {
    /// As `poll` and the settings of a server count time.
    package var milliseconds: Int {
        let (seconds, rest) = components
        return Int(seconds) * 1_000 + Int(rest / 1_000_000_000_000_000)
    }
}
